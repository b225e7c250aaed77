/* SPDX-License-Identifier: Apache-2.0 */
#include "asm.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LDX = 0x61, ST = 0x62, STX = 0x63, ALU32 = 0x04, ALU64 = 0x07, JMP = 0x05, JMP32 = 0x06, SRC = 0x08 };

struct cursor {
	struct assembly *a;
	const char *p;
};

static bool fail(struct assembly *a, const char *what, const char *at)
{
	snprintf(a->error, sizeof(a->error), "%s: \"%.80s\"", what, at);
	return false;
}

static void blanks(struct cursor *c)
{
	while (isspace((unsigned char)*c->p))
		c->p++;
}

/*
 * If the text comes next, skip it and return true. After a text that ends with a letter or a digit, no letter, digit or
 * underscore may follow.
 */
static bool eat(struct cursor *c, const char *text)
{
	size_t n = strlen(text);

	blanks(c);
	if (strncmp(c->p, text, n) || (isalnum((unsigned char)text[n - 1]) &&
				       (isalnum((unsigned char)c->p[n]) || c->p[n] == '_')))
		return false;
	c->p += n;
	return true;
}

/* Parse a register, r0 to r10 or w0 to w10. *wide is true for r. */
static bool reg(struct cursor *c, int *r, bool *wide)
{
	char *end;
	long n;

	blanks(c);
	if ((*c->p != 'r' && *c->p != 'w') || !isdigit((unsigned char)c->p[1]))
		return false;
	n = strtol(c->p + 1, &end, 10);
	if (n > 15)
		return false;
	*wide = *c->p == 'r';
	*r = (int)n;
	c->p = end;
	return true;
}

static bool number(struct cursor *c, int64_t *value)
{
	bool minus = false;
	char *end;

	blanks(c);
	if (*c->p == '+' || *c->p == '-') {
		minus = *c->p++ == '-';
		blanks(c);
	}
	if (!isdigit((unsigned char)*c->p))
		return false;
	*value = (int64_t)strtoull(c->p, &end, 0);
	if (minus)
		*value = -*value;
	c->p = end;
	return true;
}

static bool name(struct cursor *c, char *out, size_t size)
{
	size_t n = 0;

	blanks(c);
	while ((isalnum((unsigned char)c->p[n]) || c->p[n] == '_') && n + 1 < size) {
		out[n] = c->p[n];
		n++;
	}
	out[n] = 0;
	c->p += n;
	return n > 0;
}

static bool emit(struct cursor *c, int code, int dst, int src, int64_t off, int64_t imm)
{
	struct assembly *a = c->a;

	if (a->n == ASM_MAX)
		return fail(a, "too many instructions", c->p);
	a->insns[a->n++] = (struct gpubpf_raw_insn){ (uint8_t)code, (uint8_t)(dst | src << 4), (int16_t)off, (int32_t)imm };
	return true;
}

static bool use_label(struct cursor *c)
{
	struct assembly *a = c->a;

	if (a->nuses == sizeof(a->uses) / sizeof(a->uses[0]))
		return fail(a, "too many jumps", c->p);
	a->uses[a->nuses].at = a->n;
	return name(c, a->uses[a->nuses++].name, sizeof(a->uses[0].name)) || fail(a, "no label", c->p);
}

static int size_code(const char *type)
{
	static const int codes[] = { ['8'] = 0x10, ['1'] = 0x08, ['3'] = 0x00, ['6'] = 0x18 };

	return codes[(unsigned char)type[1] & 0x3f];
}

/* Parse "(u32 *)(r1 +4)". For a load, the caller has consumed the star before it. */
static bool memory(struct cursor *c, int *code, bool *sext, int *base, int64_t *off)
{
	char type[8];
	bool wide;

	if (!eat(c, "(") || !name(c, type, sizeof(type)) || !strchr("us", type[0]) || !strchr("8136", type[1]))
		return false;
	*code = size_code(type);
	*sext = type[0] == 's';
	return eat(c, "*") && eat(c, ")") && eat(c, "(") && reg(c, base, &wide) && number(c, off) && eat(c, ")");
}

static const struct {
	const char *text;
	int code;
} alu_ops[] = {
	{ "s>>=", 0xc0 }, { ">>=", 0x70 }, { "<<=", 0x60 }, { "s/=", 0x130 }, { "s%=", 0x190 }, { "+=", 0x00 }, { "-=", 0x10 },
	{ "*=", 0x20 }, { "/=", 0x30 }, { "|=", 0x40 }, { "&=", 0x50 }, { "%=", 0x90 }, { "^=", 0xa0 },
}, jmp_ops[] = {
	{ "s>=", 0x70 }, { "s<=", 0xd0 }, { "s>", 0x60 }, { "s<", 0xc0 }, { "==", 0x10 }, { "!=", 0x50 }, { ">=", 0x30 },
	{ "<=", 0xb0 }, { ">", 0x20 }, { "<", 0xa0 }, { "&", 0x40 },
}, atomics[] = {
	{ "atomic_fetch_add", 0x01 }, { "atomic_fetch_or", 0x41 }, { "atomic_fetch_and", 0x51 },
	{ "atomic_fetch_xor", 0xa1 }, { "xchg", 0xe1 },
};

static bool operand(struct cursor *c, int *src, int64_t *imm, bool *is_reg)
{
	bool wide;

	*src = 0;
	*imm = 0;
	*is_reg = reg(c, src, &wide);
	return *is_reg || number(c, imm) || fail(c->a, "no operand", c->p);
}

static bool alu(struct cursor *c, int dst, int cls)
{
	for (size_t i = 0; i < sizeof(alu_ops) / sizeof(alu_ops[0]); i++) {
		int src, code = alu_ops[i].code;
		int64_t imm;
		bool is_reg;

		if (!eat(c, alu_ops[i].text))
			continue;
		return operand(c, &src, &imm, &is_reg) &&
		       emit(c, cls | (code & 0xf0) | (is_reg ? SRC : 0), dst, src, code >> 8, imm);
	}
	return fail(c->a, "unknown operation", c->p);
}

static bool map_value(struct cursor *c, int dst)
{
	char which[64];
	int64_t off = 0;

	if (!name(c, which, sizeof(which)) || !eat(c, "]"))
		return fail(c->a, "no map", c->p);
	for (uint32_t i = 0; i < c->a->nmaps; i++) {
		bool value;

		if (strcmp(c->a->maps[i].name, which))
			continue;
		value = eat(c, "[0]");
		if (value)
			number(c, &off);
		return emit(c, 0x18, dst, value ? 2 : 1, 0, i) && emit(c, 0, 0, 0, 0, off);
	}
	return fail(c->a, "no such map", which);
}

static bool atomic_result(struct cursor *c, int dst)
{
	int code, base, src;
	bool sext, wide;
	int64_t off;

	if (eat(c, "load_acquire"))
		return eat(c, "(") && memory(c, &code, &sext, &base, &off) && eat(c, ")") &&
		       emit(c, 0xc3 | code, dst, base, off, 0x100);
	if (eat(c, "cmpxchg"))
		return eat(c, "(") && memory(c, &code, &sext, &base, &off) && eat(c, ",") && reg(c, &src, &wide) && eat(c, ",") &&
		       reg(c, &src, &wide) && eat(c, ")") && emit(c, 0xc3 | code, base, src, off, 0xf1);
	for (size_t i = 0; i < sizeof(atomics) / sizeof(atomics[0]); i++)
		if (eat(c, atomics[i].text))
			return eat(c, "(") && memory(c, &code, &sext, &base, &off) && eat(c, ",") && reg(c, &src, &wide) &&
			       eat(c, ")") && (src == dst || fail(c->a, "source and result differ", c->p)) &&
			       emit(c, 0xc3 | code, base, src, off, atomics[i].code);
	return fail(c->a, "unknown value", c->p);
}

static bool swap(struct cursor *c, int dst)
{
	static const struct {
		const char *text;
		int code;
	} kinds[] = { { "bswap", ALU64 | 0xd0 }, { "be", ALU32 | 0xd8 }, { "le", ALU32 | 0xd0 } };
	int64_t bits;

	for (int i = 0; i < 3; i++)
		if (!strncmp(c->p, kinds[i].text, strlen(kinds[i].text))) {
			c->p += strlen(kinds[i].text);
			return number(c, &bits) && emit(c, kinds[i].code, dst, 0, 0, bits) && (c->p += strlen(c->p));
		}
	return false;
}

/* Parse the right side of "rN = ..." and add the instruction. */
static bool assign(struct cursor *c, int dst, int cls)
{
	int src, code, base;
	bool wide, sext;
	int64_t imm, off;

	blanks(c);
	if (eat(c, "*"))
		return memory(c, &code, &sext, &base, &off) ? emit(c, (LDX | code | (sext ? 0x80 : 0)) & ~(sext ? 0x60 : 0), dst,
								    base, off, 0) : fail(c->a, "no memory", c->p);
	if (eat(c, "map["))
		return map_value(c, dst);
	if (eat(c, "func"))
		return use_label(c) && emit(c, 0x18, dst, 4, 0, 0) && emit(c, 0, 0, 0, 0, 0);
	if (*c->p == '(' && c->p[1] == 's') {
		c->p += 2;
		return number(c, &imm) && eat(c, ")") && reg(c, &src, &wide) && emit(c, cls | 0xb0 | SRC, dst, src, imm, 0);
	}
	if (*c->p == '-' && (c->p[1] == 'r' || c->p[1] == 'w'))
		return emit(c, cls | 0x80, dst, 0, 0, 0) && (c->p += strlen(c->p));
	if (reg(c, &src, &wide))
		return emit(c, cls | 0xb0 | SRC, dst, src, 0, 0);
	if (number(c, &imm)) {
		if (eat(c, "ll"))
			return emit(c, 0x18, dst, 0, 0, imm) && emit(c, 0, 0, 0, 0, imm >> 32);
		return emit(c, cls | 0xb0, dst, 0, 0, imm);
	}
	return swap(c, dst) || atomic_result(c, dst);
}

static bool store(struct cursor *c, bool lock)
{
	static const struct {
		const char *text;
		int code;
	} ops[] = { { "+=", 0x00 }, { "|=", 0x40 }, { "&=", 0x50 }, { "^=", 0xa0 } };
	int code, base, src;
	bool sext, is_reg;
	int64_t off, imm;

	if (!memory(c, &code, &sext, &base, &off))
		return fail(c->a, "no memory", c->p);
	for (int i = 0; lock && i < 4; i++)
		if (eat(c, ops[i].text))
			return operand(c, &src, &imm, &is_reg) && emit(c, 0xc3 | code, base, src, off, ops[i].code);
	return eat(c, "=") && operand(c, &src, &imm, &is_reg) &&
	       emit(c, (is_reg ? STX : ST) | code, base, src, off, imm);
}

static bool release(struct cursor *c)
{
	int code, base, src;
	bool sext, wide;
	int64_t off;

	return eat(c, "(") && memory(c, &code, &sext, &base, &off) && eat(c, ",") && reg(c, &src, &wide) && eat(c, ")") &&
	       emit(c, 0xc3 | code, base, src, off, 0x110);
}

static bool condition(struct cursor *c)
{
	int dst, src;
	bool wide, is_reg;
	int64_t imm;

	if (!reg(c, &dst, &wide))
		return fail(c->a, "no register", c->p);
	for (size_t i = 0; i < sizeof(jmp_ops) / sizeof(jmp_ops[0]); i++) {
		if (!eat(c, jmp_ops[i].text))
			continue;
		return operand(c, &src, &imm, &is_reg) && eat(c, "goto") && use_label(c) &&
		       emit(c, (wide ? JMP : JMP32) | jmp_ops[i].code | (is_reg ? SRC : 0), dst, src, 0, imm);
	}
	return fail(c->a, "unknown comparison", c->p);
}

static bool call(struct cursor *c)
{
	char which[64];
	int64_t id;

	if (eat(c, "#"))
		return number(c, &id) && emit(c, 0x85, 0, 0, 0, id);
	if (eat(c, "local"))
		return use_label(c) && emit(c, 0x85, 0, 1, 0, 0);
	if (!name(c, which, sizeof(which)))
		return fail(c->a, "no helper", c->p);
	for (size_t i = 0; gpubpf_helper_at(i); i++)
		if (!strcmp(gpubpf_helper_at(i)->name, which))
			return emit(c, 0x85, 0, 0, 0, gpubpf_helper_at(i)->id);
	return fail(c->a, "no such helper", which);
}

static bool raw_bytes(struct cursor *c)
{
	struct gpubpf_raw_insn insn;

	for (int i = 0; i < 8; i++) {
		unsigned int byte;

		blanks(c);
		if (sscanf(c->p, "%2x", &byte) != 1)
			return fail(c->a, "not 8 bytes of hex", c->p);
		((uint8_t *)&insn)[i] = (uint8_t)byte;
		c->p += 2;
	}
	return emit(c, insn.code, insn.regs & 15, insn.regs >> 4, insn.off, insn.imm);
}

static bool label(struct cursor *c)
{
	struct assembly *a = c->a;
	const char *colon = strchr(c->p, ':');

	if (!colon || colon[1 + strspn(colon + 1, " \t\n")])
		return false;
	if (a->nlabels == sizeof(a->labels) / sizeof(a->labels[0]))
		return false;
	a->labels[a->nlabels].at = a->n;
	name(c, a->labels[a->nlabels++].name, sizeof(a->labels[0].name));
	c->p = colon + 1;
	return true;
}

static bool instruction(struct cursor *c)
{
	bool wide;
	int dst;

	if (eat(c, "exit"))
		return emit(c, 0x95, 0, 0, 0, 0);
	if (eat(c, "goto"))
		return use_label(c) && emit(c, JMP, 0, 0, 0, 0);
	if (eat(c, "may_goto"))
		return use_label(c) && emit(c, JMP | 0xe0, 0, 0, 0, 0);
	if (eat(c, "if"))
		return condition(c);
	if (eat(c, "call"))
		return call(c);
	if (eat(c, "hex"))
		return raw_bytes(c);
	if (eat(c, "store_release"))
		return release(c);
	if (eat(c, "lock"))
		return eat(c, "*") && store(c, true);
	if (eat(c, "*"))
		return store(c, false);
	if (!reg(c, &dst, &wide))
		return fail(c->a, "not an instruction", c->p);
	if (eat(c, "="))
		return assign(c, dst, wide ? ALU64 : ALU32);
	return alu(c, dst, wide ? ALU64 : ALU32);
}

bool asm_line(struct assembly *a, const char *line)
{
	struct cursor c = { a, line };

	blanks(&c);
	if (!*c.p || *c.p == ';' || *c.p == '#')
		return true;
	if (label(&c))
		return true;
	if (!instruction(&c))
		return a->error[0] ? false : fail(a, "cannot be assembled", line);
	blanks(&c);
	return !*c.p || *c.p == ';' || fail(a, "text after the instruction", c.p);
}

bool asm_finish(struct assembly *a)
{
	for (uint32_t i = 0; i < a->nuses; i++) {
		struct gpubpf_raw_insn *insn = &a->insns[a->uses[i].at];
		uint32_t k = 0;
		int delta;

		while (k < a->nlabels && strcmp(a->labels[k].name, a->uses[i].name))
			k++;
		if (k == a->nlabels)
			return fail(a, "no such label", a->uses[i].name);
		delta = (int)a->labels[k].at - (int)a->uses[i].at - 1;
		if (insn->code == 0x85 || insn->code == 0x18)
			insn->imm = delta;
		else
			insn->off = (int16_t)delta;
	}
	return true;
}
