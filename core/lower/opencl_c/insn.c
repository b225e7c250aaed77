/* SPDX-License-Identifier: Apache-2.0 */
/* Emits arithmetic and conditions (RFC 9669 4.1 to 4.3). Each instruction becomes one line of OpenCL C. */
#include <stdio.h>

#include "opencl_c.h"

/* $d stands for the destination, $s for the source. Shift counts are masked, and divisions by 0 have a result. */
static const struct {
	const char *wide, *narrow;
} alu_text[] = {
	[GPUBPF_ADD] = { "$d + $s", "(u32)$d + (u32)$s" },
	[GPUBPF_SUB] = { "$d - $s", "(u32)$d - (u32)$s" },
	[GPUBPF_MUL] = { "$d * $s", "(u32)$d * (u32)$s" },
	[GPUBPF_DIV] = { "gpubpf_div64($d, $s)", "gpubpf_div32((u32)$d, (u32)$s)" },
	[GPUBPF_OR] = { "$d | $s", "(u32)$d | (u32)$s" },
	[GPUBPF_AND] = { "$d & $s", "(u32)$d & (u32)$s" },
	[GPUBPF_LSH] = { "$d << ($s & 63)", "(u32)$d << ((u32)$s & 31)" },
	[GPUBPF_RSH] = { "$d >> ($s & 63)", "(u32)$d >> ((u32)$s & 31)" },
	[GPUBPF_NEG] = { "0UL - $d", "0U - (u32)$d" },
	[GPUBPF_MOD] = { "gpubpf_mod64($d, $s)", "gpubpf_mod32((u32)$d, (u32)$s)" },
	[GPUBPF_XOR] = { "$d ^ $s", "(u32)$d ^ (u32)$s" },
	[GPUBPF_MOV] = { "$s", "(u32)$s" },
	[GPUBPF_ARSH] = { "(u64)((s64)$d >> ($s & 63))", "(u32)((s32)$d >> ((u32)$s & 31))" },
	[GPUBPF_SDIV] = { "gpubpf_sdiv64($d, $s)", "gpubpf_sdiv32((u32)$d, (u32)$s)" },
	[GPUBPF_SMOD] = { "gpubpf_smod64($d, $s)", "gpubpf_smod32((u32)$d, (u32)$s)" },
};

static const struct {
	const char *op;
	bool is_signed;
} jmp_text[] = {
	[GPUBPF_JEQ] = { "==", false }, [GPUBPF_JNE] = { "!=", false }, [GPUBPF_JGT] = { ">", false },
	[GPUBPF_JGE] = { ">=", false }, [GPUBPF_JLT] = { "<", false },  [GPUBPF_JLE] = { "<=", false },
	[GPUBPF_JSGT] = { ">", true },  [GPUBPF_JSGE] = { ">=", true }, [GPUBPF_JSLT] = { "<", true },
	[GPUBPF_JSLE] = { "<=", true },
};

const char *clc_source(const struct gpubpf_insn *insn, char buf[32])
{
	if (insn->reg)
		snprintf(buf, 32, "r%u", insn->src);
	else
		snprintf(buf, 32, "0x%llxUL", (unsigned long long)(int64_t)insn->imm);
	return buf;
}

/*
 * Emits a byte-order conversion. All devices are little-endian, so a conversion to little endian only truncates, and a
 * conversion to big endian swaps bytes as bswap does.
 */
static void end(struct clc *c, const struct gpubpf_insn *insn)
{
	static const char *const type[] = { [2] = "u16", [4] = "u32", [8] = "u64" };

	if (insn->ext == 'l')
		text_add(c->t, "(%s)r%u", type[insn->width], insn->dst);
	else
		text_add(c->t, "gpubpf_bswap%u((%s)r%u)", insn->width * 8, type[insn->width], insn->dst);
}

static void emit_movsx(struct clc *c, const struct gpubpf_insn *insn)
{
	text_add(c->t, "%s(%s)r%u", insn->width == 4 ? "(u32)(s32)" : "(u64)(s64)",
		 insn->ext == 8  ? "char" :
		 insn->ext == 16 ? "short" :
				   "int",
		 insn->src);
}

static void expand(struct clc *c, const char *text, const char *d, const char *s)
{
	for (; *text; text++)
		if (*text == '$')
			text_add(c->t, "%s", *++text == 'd' ? d : s);
		else
			text_add(c->t, "%c", *text);
}

void clc_alu(struct clc *c, const struct gpubpf_insn *insn)
{
	char d[8], s[32];

	text_add(c->t, "r%u = ", insn->dst);
	if (insn->op == GPUBPF_END) {
		end(c, insn);
	} else if (insn->op == GPUBPF_MOVSX) {
		emit_movsx(c, insn);
	} else {
		snprintf(d, sizeof(d), "r%u", insn->dst);
		clc_source(insn, s);
		expand(c, insn->width == 8 ? alu_text[insn->op].wide : alu_text[insn->op].narrow, d, s);
	}
	text_add(c->t, ";\n");
}

void clc_condition(struct clc *c, const struct gpubpf_insn *insn)
{
	static const char *const cast[2][2] = { { "(u32)", "" }, { "(s32)", "(s64)" } };
	const char *as;
	char s[32];

	if (insn->op == GPUBPF_MAY_GOTO) {
		text_add(c->t, c->job->checked ? "(!k.may_left[k.depth] || !k.may_left[k.depth]--)" :
						 "(!may_left || !may_left--)");
		return;
	}
	clc_source(insn, s);
	if (insn->op == GPUBPF_JSET) {
		text_add(c->t, "((%s(r%u & %s)) != 0)", cast[0][insn->width == 8], insn->dst, s);
		return;
	}
	as = cast[jmp_text[insn->op].is_signed][insn->width == 8];
	text_add(c->t, "(%sr%u %s %s%s)", as, insn->dst, jmp_text[insn->op].op, as, s);
}
