/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes and prints instructions. The encoding follows RFC 9669; section numbers in comments refer to it. */
#include "insn.h"

#include <stdio.h>
#include <string.h>

#include "diag.h"

enum { CLASS_LD, CLASS_LDX, CLASS_ST, CLASS_STX, CLASS_ALU, CLASS_JMP, CLASS_JMP32, CLASS_ALU64 };
enum { MODE_IMM = 0x00, MODE_MEM = 0x60, MODE_MEMSX = 0x80, MODE_ATOMIC = 0xc0 };

/* immediates of atomic instructions of Linux 6.15, which RFC 9669 does not have */
enum { LOAD_ACQUIRE = 0x100, STORE_RELEASE = 0x110 };

#define SRC_REG 0x08
#define CALL_REGISTER 0x8d /* call through a register (BPF_CALL | BPF_X), which clang emits but no standard defines */

static const struct {
	uint16_t code;
	const char *mnemonic;
} alu_ops[] = {
#define GPUBPF_ALU(name, code, mnemonic, meaning) [GPUBPF_##name] = { code, mnemonic },
#include "opcodes.def"
}, jmp_ops[] = {
#define GPUBPF_JMP(name, code, mnemonic, predicate) [GPUBPF_##name] = { code, mnemonic },
#include "opcodes.def"
}, atomic_ops[] = {
#define GPUBPF_ATOMIC(name, imm, mnemonic, meaning) [GPUBPF_##name] = { imm, mnemonic },
#include "opcodes.def"
};

struct decoder {
	const struct gpubpf_raw_insn *raw;
	size_t n;
	struct gpubpf_insn *out;
	struct gpubpf_diag *diag;
};

static int refuse(struct decoder *d, enum gpubpf_error code, size_t pc, const char *why)
{
	return gpubpf_diag_set(d->diag, code, pc, "opcode 0x%02x: %s", d->raw[pc].code, why);
}

static int refuse_encoding(struct decoder *d, size_t pc, const char *why)
{
	return refuse(d, GPUBPF_E_BAD_INSN, pc, why);
}

static int decode_target(struct decoder *d, size_t pc, int64_t delta, uint32_t *target)
{
	int64_t to = (int64_t)pc + 1 + delta;

	if (to < 0 || to >= (int64_t)d->n)
		return gpubpf_diag_set(d->diag, GPUBPF_E_BAD_JUMP, pc,
				       "jumps to instruction %lld, but the program has %zu", (long long)to, d->n);
	*target = to;
	return 0;
}

/* Decodes RFC 9669 sections 4.1 and 4.2. */
static int decode_alu(struct decoder *d, size_t pc, struct gpubpf_insn *insn)
{
	const struct gpubpf_raw_insn *raw = &d->raw[pc];
	int cls = raw->code & 7, code = raw->code & 0xf0;
	bool wide = cls == CLASS_ALU64;

	insn->kind = GPUBPF_INSN_ALU;
	insn->width = wide ? 8 : 4;
	insn->reg = raw->code & SRC_REG;
	if (code == 0xd0) {
		if (raw->off || (wide && insn->reg) || raw->regs >> 4)
			return refuse_encoding(d, pc, "a byte swap must not have a source register or an offset");
		if (raw->imm != 16 && raw->imm != 32 && raw->imm != 64)
			return refuse_encoding(d, pc, "a byte swap must have 16, 32 or 64 bits");
		insn->op = GPUBPF_END;
		insn->width = raw->imm / 8;
		insn->ext = wide ? 's' : insn->reg ? 'b' : 'l';
		insn->reg = false;
		return 0;
	}
	if (insn->reg ? raw->imm != 0 : (raw->regs >> 4) != 0)
		return refuse_encoding(d, pc, "reserved fields must be zero");
	if (raw->off == 1 && (code == 0x30 || code == 0x90))
		code |= 0x100;
	else if (code == 0xb0 && raw->off && insn->reg && (raw->off == 8 || raw->off == 16 || (raw->off == 32 && wide)))
		code |= 0x100;
	else if (raw->off)
		return refuse_encoding(d, pc, "the offset must be zero");
	if (code == 0x80 && (insn->reg || raw->imm))
		return refuse_encoding(d, pc, "a negation must not have a source");
	for (int op = 0; op < GPUBPF_NALU; op++) {
		if (alu_ops[op].code != code)
			continue;
		insn->op = op;
		if (op == GPUBPF_MOVSX)
			insn->ext = raw->off;
		insn->off = 0;
		return 0;
	}
	return refuse_encoding(d, pc, "unknown arithmetic operation");
}

/* Decodes RFC 9669 section 4.3. */
static int decode_jump(struct decoder *d, size_t pc, struct gpubpf_insn *insn)
{
	const struct gpubpf_raw_insn *raw = &d->raw[pc];
	bool narrow = (raw->code & 7) == CLASS_JMP32;
	int code = raw->code & 0xf0, src = raw->regs >> 4;

	insn->reg = raw->code & SRC_REG;
	insn->width = narrow ? 4 : 8;
	for (insn->op = 0; insn->op < GPUBPF_NJMP && jmp_ops[insn->op].code != code; insn->op++)
		;
	switch (insn->op) {
	case GPUBPF_NJMP:
		return refuse_encoding(d, pc, "unknown jump");
	case GPUBPF_MAY_GOTO: /* BPF_JCOND of uapi/linux/bpf.h */
		if (raw->regs || insn->reg || narrow || raw->imm)
			return refuse_encoding(d, pc, "unknown jump");
		break;
	case GPUBPF_JA:
		if (raw->regs || insn->reg || (narrow ? raw->off : raw->imm) != 0)
			return refuse_encoding(d, pc, "reserved fields of goto must be zero");
		insn->kind = GPUBPF_INSN_JUMP;
		return decode_target(d, pc, narrow ? raw->imm : raw->off, &insn->target);
	case GPUBPF_CALL:
		if (raw->code == CALL_REGISTER)
			return refuse(d, GPUBPF_E_CALL_REGISTER, pc, "calls a function through a register (callx)");
		if (!narrow && src == 2)
			return refuse(d, GPUBPF_E_KFUNC, pc, "calls a kernel function (kfunc) whose name is unknown");
		if (narrow || insn->reg || raw->off || (raw->regs & 0xf) || src > 1)
			return refuse_encoding(d, pc, "reserved fields of call must be zero");
		insn->kind = src == 1 ? GPUBPF_INSN_CALL_LOCAL : GPUBPF_INSN_CALL;
		return src == 1 ? decode_target(d, pc, raw->imm, &insn->target) : 0;
	case GPUBPF_EXIT:
		if (narrow || insn->reg || raw->off || raw->regs || raw->imm)
			return refuse_encoding(d, pc, "reserved fields of exit must be zero");
		insn->kind = GPUBPF_INSN_EXIT;
		return 0;
	}
	if (insn->reg ? raw->imm != 0 : src != 0)
		return refuse_encoding(d, pc, "reserved fields must be zero");
	insn->kind = GPUBPF_INSN_JCOND;
	return decode_target(d, pc, raw->off, &insn->target);
}

/*
 * Decodes atomic instructions (section 5.3), including load-acquire and store-release, which become a LOAD and a STORE.
 */
static int decode_atomic(struct decoder *d, size_t pc, struct gpubpf_insn *insn)
{
	if (insn->imm == LOAD_ACQUIRE || insn->imm == STORE_RELEASE) {
		insn->kind = insn->imm == LOAD_ACQUIRE ? GPUBPF_INSN_LOAD : GPUBPF_INSN_STORE;
		insn->reg = insn->kind == GPUBPF_INSN_STORE;
		insn->ordered = true;
		return 0;
	}
	if (insn->width != 4 && insn->width != 8)
		return refuse_encoding(d, pc, "an atomic must have 4 or 8 bytes");
	insn->kind = GPUBPF_INSN_ATOMIC;
	insn->reg = true;
	for (int op = 0; op < GPUBPF_NATOMIC; op++)
		if (atomic_ops[op].code == d->raw[pc].imm) {
			insn->op = op;
			return 0;
		}
	return refuse_encoding(d, pc, "unknown atomic operation");
}

/* Decodes RFC 9669 section 5 except section 5.4. */
static int decode_memory(struct decoder *d, size_t pc, struct gpubpf_insn *insn)
{
	static const uint8_t widths[] = { 4, 2, 1, 8 };
	const struct gpubpf_raw_insn *raw = &d->raw[pc];
	int cls = raw->code & 7, mode = raw->code & 0xe0;

	insn->width = widths[raw->code >> 3 & 3];
	if (cls == CLASS_STX && mode == MODE_ATOMIC)
		return decode_atomic(d, pc, insn);
	if (cls == CLASS_LDX && mode == MODE_MEMSX && insn->width != 8)
		insn->sext = true;
	else if (mode != MODE_MEM || cls == CLASS_LD)
		return refuse_encoding(d, pc,
				       cls == CLASS_LD ? "packet access does not exist on a GPU" : "unknown memory mode");
	insn->kind = cls == CLASS_LDX ? GPUBPF_INSN_LOAD : GPUBPF_INSN_STORE;
	insn->reg = cls == CLASS_STX;
	if (cls == CLASS_ST ? (raw->regs >> 4) != 0 : raw->imm != 0)
		return refuse_encoding(d, pc, "reserved fields must be zero");
	return 0;
}

/* Decodes RFC 9669 section 5.4. */
static int decode_imm64(struct decoder *d, size_t pc, struct gpubpf_insn *insn)
{
	const struct gpubpf_raw_insn *raw = &d->raw[pc], *hi = raw + 1;
	int src = raw->regs >> 4;

	if (pc + 1 >= d->n || hi->code || hi->regs || hi->off)
		return refuse_encoding(
			d, pc, "the second half of a 64-bit immediate is missing, or a field other than imm is not zero");
	if (raw->off)
		return refuse_encoding(d, pc, "reserved fields must be zero");
	insn->kind = GPUBPF_INSN_IMM64;
	insn->width = 8;
	insn->op = src;
	d->out[pc + 1] = (struct gpubpf_insn){ .kind = GPUBPF_INSN_HI, .imm = hi->imm };
	switch (src) {
	case GPUBPF_IMM_CONST:
		insn->imm64 = (uint32_t)raw->imm | (uint64_t)(uint32_t)hi->imm << 32;
		return 0;
	case GPUBPF_IMM_MAP:
		return hi->imm ? refuse_encoding(d, pc, "a load of a map pointer must not have an offset") : 0;
	case GPUBPF_IMM_MAP_VALUE:
		insn->imm64 = (uint32_t)hi->imm;
		return 0;
	case GPUBPF_IMM_FUNC:
		return hi->imm ? refuse_encoding(d, pc, "a load of a function address must not have an offset") :
				 decode_target(d, pc, raw->imm, &insn->target);
	}
	return refuse_encoding(d, pc, "unknown kind of 64-bit immediate");
}

static int decode_one(struct decoder *d, size_t pc)
{
	const struct gpubpf_raw_insn *raw = &d->raw[pc];
	struct gpubpf_insn *insn = &d->out[pc];

	*insn = (struct gpubpf_insn){
		.dst = raw->regs & 0xf,
		.src = raw->regs >> 4,
		.off = raw->off,
		.imm = raw->imm,
	};
	if (insn->dst > GPUBPF_R10 || (insn->src > GPUBPF_R10 && raw->code != 0x18))
		return refuse_encoding(d, pc, "registers are r0 to r10");
	switch (raw->code & 7) {
	case CLASS_ALU:
	case CLASS_ALU64:
		return decode_alu(d, pc, insn);
	case CLASS_JMP:
	case CLASS_JMP32:
		return decode_jump(d, pc, insn);
	case CLASS_LD:
		if (raw->code == 0x18)
			return decode_imm64(d, pc, insn);
	}
	return decode_memory(d, pc, insn);
}

int gpubpf_insn_decode(const struct gpubpf_raw_insn *raw, size_t n, struct gpubpf_insn *out, struct gpubpf_diag *diag)
{
	struct decoder d = { raw, n, out, diag };
	int err;

	if (!n || n > GPUBPF_MAX_INSNS)
		return gpubpf_diag_set(diag, GPUBPF_E_BAD_INSN, GPUBPF_NOPC,
				       "a program must have 1 to %d instructions; this program has %zu",
				       GPUBPF_MAX_INSNS, n);
	for (size_t pc = 0; pc < n; pc += out[pc].kind == GPUBPF_INSN_IMM64 ? 2 : 1) {
		err = decode_one(&d, pc);
		if (err < 0)
			return err;
	}
	for (size_t pc = 0; pc < n; pc++) {
		const struct gpubpf_insn *insn = &out[pc];
		bool jumps = insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND ||
			     insn->kind == GPUBPF_INSN_CALL_LOCAL ||
			     (insn->kind == GPUBPF_INSN_IMM64 && insn->op == GPUBPF_IMM_FUNC);

		if (jumps && out[insn->target].kind == GPUBPF_INSN_HI)
			return gpubpf_diag_set(diag, GPUBPF_E_BAD_JUMP, pc,
					       "jumps into the middle of the 64-bit load at %u", insn->target - 1);
	}
	return 0;
}

static const char *get_type_name(const struct gpubpf_insn *insn)
{
	static const char *const names[2][9] = {
		{ [1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64" },
		{ [1] = "s8", [2] = "s16", [4] = "s32", [8] = "s64" },
	};

	return names[insn->sext][insn->width];
}

static void print_source(const struct gpubpf_insn *insn, char *buf, size_t size)
{
	if (insn->reg)
		snprintf(buf, size, "%c%u", insn->width == 4 && insn->kind != GPUBPF_INSN_STORE ? 'w' : 'r', insn->src);
	else
		snprintf(buf, size, "%d", insn->imm);
}

static int format_alu(const struct gpubpf_insn *insn, char *buf, size_t size)
{
	char r = insn->width == 4 ? 'w' : 'r', src[16];

	print_source(insn, src, sizeof(src));
	switch (insn->op) {
	case GPUBPF_NEG:
		return snprintf(buf, size, "%c%u = -%c%u", r, insn->dst, r, insn->dst);
	case GPUBPF_END:
		return snprintf(buf, size, "r%u = %s%u r%u", insn->dst,
				insn->ext == 's' ? "bswap" :
				insn->ext == 'b' ? "be" :
						   "le",
				insn->width * 8, insn->dst);
	case GPUBPF_MOVSX:
		return snprintf(buf, size, "%c%u = (s%u)%s", r, insn->dst, insn->ext, src);
	}
	return snprintf(buf, size, "%c%u %s %s", r, insn->dst, alu_ops[insn->op].mnemonic, src);
}

static int format_ordered(const struct gpubpf_insn *insn, char *buf, size_t size)
{
	if (insn->kind == GPUBPF_INSN_LOAD)
		return snprintf(buf, size, "r%u = load_acquire((%s *)(r%u %+d))", insn->dst, get_type_name(insn),
				insn->src, insn->off);
	return snprintf(buf, size, "store_release((%s *)(r%u %+d), r%u)", get_type_name(insn), insn->dst, insn->off,
			insn->src);
}

static int format_atomic(const struct gpubpf_insn *insn, char *buf, size_t size)
{
	const char *m = atomic_ops[insn->op].mnemonic, *t = get_type_name(insn);

	if (insn->op < GPUBPF_ATOMIC_FETCH_ADD)
		return snprintf(buf, size, "lock *(%s *)(r%u %+d) %s r%u", t, insn->dst, insn->off, m + 5, insn->src);
	if (insn->op == GPUBPF_ATOMIC_CMPXCHG)
		return snprintf(buf, size, "r0 = cmpxchg((%s *)(r%u %+d), r0, r%u)", t, insn->dst, insn->off, insn->src);
	return snprintf(buf, size, "r%u = %s((%s *)(r%u %+d), r%u)", insn->src, m, t, insn->dst, insn->off, insn->src);
}

int gpubpf_insn_format(const struct gpubpf_insn *insn, uint32_t pc, char *buf, size_t size)
{
	char src[16];

	if (insn->ordered)
		return format_ordered(insn, buf, size);
	print_source(insn, src, sizeof(src));
	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		return format_alu(insn, buf, size);
	case GPUBPF_INSN_LOAD:
		return snprintf(buf, size, "r%u = *(%s *)(r%u %+d)", insn->dst, get_type_name(insn), insn->src, insn->off);
	case GPUBPF_INSN_STORE:
		return snprintf(buf, size, "*(%s *)(r%u %+d) = %s", get_type_name(insn), insn->dst, insn->off, src);
	case GPUBPF_INSN_ATOMIC:
		return format_atomic(insn, buf, size);
	case GPUBPF_INSN_JUMP:
		return snprintf(buf, size, "goto pc%+d", (int)(insn->target - pc - 1));
	case GPUBPF_INSN_JCOND:
		if (insn->op == GPUBPF_MAY_GOTO)
			return snprintf(buf, size, "may_goto pc%+d", (int)(insn->target - pc - 1));
		return snprintf(buf, size, "if %c%u %s %s goto pc%+d", insn->width == 4 ? 'w' : 'r', insn->dst,
				jmp_ops[insn->op].mnemonic, src, (int)(insn->target - pc - 1));
	case GPUBPF_INSN_CALL:
		return snprintf(buf, size, "call #%d", insn->imm);
	case GPUBPF_INSN_CALL_LOCAL:
		return snprintf(buf, size, "call pc%+d", (int)(insn->target - pc - 1));
	case GPUBPF_INSN_EXIT:
		return snprintf(buf, size, "exit");
	case GPUBPF_INSN_IMM64:
		switch (insn->op) {
		case GPUBPF_IMM_MAP:
			return snprintf(buf, size, "r%u = map[%d]", insn->dst, insn->imm);
		case GPUBPF_IMM_MAP_VALUE:
			return snprintf(buf, size, "r%u = map[%d][0]+%lld", insn->dst, insn->imm, (long long)insn->imm64);
		case GPUBPF_IMM_FUNC:
			return snprintf(buf, size, "r%u = func[%u]", insn->dst, insn->target);
		case GPUBPF_IMM_STACK:
			return snprintf(buf, size, "r%u = stack[0]", insn->dst);
		}
		return snprintf(buf, size, "r%u = 0x%llx", insn->dst, (unsigned long long)insn->imm64);
	case GPUBPF_INSN_HI:
		break;
	}
	return snprintf(buf, size, "(second half)");
}
