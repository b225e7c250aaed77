/* SPDX-License-Identifier: Apache-2.0 */
#include "gen.h"

#include <string.h>

/* opcode values of RFC 9669, sections 3 and 4 */
enum { LDX = 0x61, ST = 0x62, STX = 0x63, ATOMIC = 0xc3, ALU32 = 0x04, ALU64 = 0x07, JMP = 0x05, JMP32 = 0x06 };
enum { SRC = 0x08, W = 0x00, H = 0x08, B = 0x10, DW = 0x18 };

/* Registers of a generated program: r6 is the context, r7 a map value, r8 and r9 are numbers; r10 - 8 holds the key. */
uint64_t gen_random(struct gen *g)
{
	g->rng ^= g->rng << 13;
	g->rng ^= g->rng >> 7;
	g->rng ^= g->rng << 17;
	return g->rng * 0x2545f4914f6cdd1dull;
}

static uint32_t pick(struct gen *g, uint32_t n)
{
	return (uint32_t)(gen_random(g) >> 33) % n;
}

#define ONE_OF(g, list) (list)[pick(g, sizeof(list) / sizeof((list)[0]))]

static bool chance(struct gen *g, uint32_t percent)
{
	return pick(g, 100) < percent;
}

static void emit(struct gen *g, int code, int dst, int src, int off, int32_t imm)
{
	if (g->n < GEN_MAX_INSNS - 16)
		g->insns[g->n++] = (struct gpubpf_raw_insn){ (uint8_t)code, (uint8_t)(dst | src << 4), (int16_t)off, imm };
}

static void emit_map(struct gen *g, int dst, int kind, int map, int32_t off)
{
	emit(g, 0x18, dst, kind, 0, map);
	emit(g, 0, 0, 0, 0, off);
}

static void to_end(struct gen *g, int code, int dst, int src, int32_t imm)
{
	if (g->nto_end == 64)
		return;
	g->to_end[g->nto_end++] = g->n;
	emit(g, code, dst, src, 0, imm);
}

static int32_t number(struct gen *g)
{
	static const int32_t some[] = {
		0,      1,       2,     3,          4,          7,   8,  15, 16, 31,  32,         40,
		47,     48,      63,    64,         255,        256, -1, -2, -8, -16, 0x7fffffff, (int32_t)0x80000000,
		0xffff, 0x10000, -4096, 0x1fffffff, 0x20000000,
	};

	if (chance(g, 15))
		return (int32_t)gen_random(g);
	if (chance(g, 40))
		return (int32_t)pick(g, 48);
	return some[pick(g, sizeof(some) / sizeof(some[0]))];
}

static int scalar_reg(struct gen *g)
{
	static const int regs[] = { 8, 9, 0, 2, 3, 4, 5, 8, 9 };

	return ONE_OF(g, regs);
}

static void gen_alu(struct gen *g, int dst)
{
	static const int ops[] = { 0x00, 0x10, 0x20, 0x40, 0x50, 0x60, 0x70, 0xa0,
				   0xb0, 0xc0, 0x30, 0x90, 0x50, 0x70, 0xb0 };
	int op = ONE_OF(g, ops), cls = chance(g, 50) ? ALU64 : ALU32, src = scalar_reg(g);
	bool shift = op == 0x60 || op == 0x70 || op == 0xc0;

	if (chance(g, 4)) {
		emit(g, cls | 0x80, dst, 0, 0, 0);
	} else if (chance(g, 4)) {
		emit(g, (chance(g, 50) ? ALU64 : ALU32) | 0xd0, dst, 0, 0, 16 << pick(g, 3));
	} else if (chance(g, 8)) {
		emit(g, cls | 0xb0 | SRC, dst, src, cls == ALU64 ? 8 << pick(g, 3) : 8 << pick(g, 2), 0);
	} else if (chance(g, 40)) {
		emit(g, cls | op | SRC, dst, src, (op == 0x30 || op == 0x90) && chance(g, 30), 0);
	} else {
		int32_t imm = shift ? (int32_t)pick(g, cls == ALU64 ? 64 : 32) : number(g);

		if ((op == 0x30 || op == 0x90) && !imm)
			imm = 3;
		emit(g, cls | op, dst, 0, (op == 0x30 || op == 0x90) && chance(g, 30), imm);
	}
}

static const int jumps[] = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0 };

static int jump_code(struct gen *g)
{
	return ONE_OF(g, jumps) | (chance(g, 30) ? JMP32 : JMP);
}

/* Emit a conditional jump to the end of the program, which bounds reg on the other path. */
static void gen_bound(struct gen *g, int reg)
{
	if (chance(g, 35))
		to_end(g, jump_code(g) | SRC, reg, scalar_reg(g), 0);
	else
		to_end(g, jump_code(g), reg, 0, chance(g, 70) ? (int32_t)pick(g, 50) : number(g));
}

/* Emit a conditional jump over the code that fn emits. */
static void gen_skip(struct gen *g, void (*fn)(struct gen *g))
{
	uint32_t at = g->n;

	if (chance(g, 40))
		emit(g, jump_code(g) | SRC, scalar_reg(g), scalar_reg(g), 0, 0);
	else
		emit(g, jump_code(g), scalar_reg(g), 0, 0, number(g));
	fn(g);
	if (at < g->n)
		g->insns[at].off = (int16_t)(g->n - at - 1);
}

static void gen_alus(struct gen *g)
{
	for (uint32_t i = 1 + pick(g, 4); i; i--)
		gen_alu(g, scalar_reg(g));
}

static void gen_access(struct gen *g, int base, int off)
{
	static const int sizes[] = { B, B, B, H, W, DW };
	int size = ONE_OF(g, sizes);

	switch (pick(g, 4)) {
	case 0:
		emit(g, STX | size, base, scalar_reg(g), off, 0);
		break;
	case 1:
		emit(g, ST | size, base, 0, off, number(g));
		break;
	default:
		emit(g, LDX | size | (size != DW && chance(g, 20) ? 0xe0 : 0), scalar_reg(g), base, off, 0);
		if (g->n && (g->insns[g->n - 1].code & 0xe0) == 0xe0)
			g->insns[g->n - 1].code = (uint8_t)((g->insns[g->n - 1].code & ~0xe0) | 0x80);
	}
}

/* Emit an access at a map value's address plus a number that is bounded, or almost bounded. */
static void gen_value(struct gen *g)
{
	int reg = chance(g, 50) ? 8 : 9;

	for (uint32_t i = pick(g, 3); i; i--)
		gen_alu(g, reg);
	for (uint32_t i = 1 + pick(g, 3); i; i--) {
		if (chance(g, 25))
			emit(g, (chance(g, 50) ? ALU64 : ALU32) | 0x50, reg, 0, 0, (int32_t)pick(g, 64));
		else
			gen_bound(g, reg);
	}
	for (uint32_t i = pick(g, 2); i; i--)
		gen_alu(g, reg);
	emit(g, ALU64 | 0xb0 | SRC, 1, 7, 0, 0);
	emit(g, ALU64 | (chance(g, 90) ? 0x00 : 0x10) | SRC, 1, reg, 0, 0);
	gen_access(g, 1, chance(g, 60) ? 0 : (int)pick(g, 60) - 8);
}

static void gen_plain_value(struct gen *g)
{
	gen_access(g, 7, (int)(pick(g, 8) * 8) - (chance(g, 5) ? 8 : 0));
}

static void gen_stack(struct gen *g)
{
	int off = -(int)(8 + 8 * pick(g, 8));

	switch (pick(g, 8)) {
	case 0:
		emit(g, STX | DW, 10, chance(g, 30) ? 7 : scalar_reg(g), off, 0);
		break;
	case 1:
		emit(g, ST | DW, 10, 0, off, number(g));
		break;
	case 2:
		emit(g, STX | (chance(g, 50) ? W : chance(g, 50) ? H : B), 10, scalar_reg(g), off, 0);
		break;
	case 3:
		emit(g, LDX | (chance(g, 50) ? W : chance(g, 50) ? H : B), scalar_reg(g), 10, off, 0);
		break;
	case 4:
		emit(g, STX | DW, 10, 7, off, 0);
		gen_alus(g);
		emit(g, LDX | DW, 7, 10, off, 0);
		break;
	case 5:
		emit(g, STX | (pick(g, 4) << 3), 10, scalar_reg(g), off + (int)pick(g, 8), 0);
		break;
	case 6:
		emit(g, LDX | (pick(g, 4) << 3), scalar_reg(g), 10, off + (int)pick(g, 8), 0);
		break;
	default:
		emit(g, LDX | DW, scalar_reg(g), 10, off, 0);
	}
}

static void gen_stack_var(struct gen *g)
{
	int reg = chance(g, 50) ? 8 : 9;

	for (int i = 1; i <= 4; i++)
		emit(g, ST | DW, 10, 0, -8 * i, chance(g, 50) ? 0 : number(g));
	emit(g, ALU64 | 0x50, reg, 0, 0, (int32_t)pick(g, 32));
	emit(g, ALU64 | 0xb0 | SRC, 1, 10, 0, 0);
	emit(g, ALU64, 1, 0, 0, -32);
	emit(g, ALU64 | SRC, 1, reg, 0, 0);
	gen_access(g, 1, 0);
	emit(g, LDX | DW, scalar_reg(g), 10, -8 * (int)(1 + pick(g, 4)), 0);
}

static void gen_numbers(struct gen *g)
{
	emit(g, ALU64 | 0xb0, 0, 0, 0, number(g));
	emit(g, ALU64 | 0xb0, 2, 0, 0, number(g));
	emit(g, ALU64 | 0xb0 | SRC, 3, chance(g, 50) ? 8 : 9, 0, 0);
	emit(g, ALU32 | 0xb0 | SRC, 4, chance(g, 50) ? 8 : 9, 0, 0);
	emit(g, ALU64 | 0xb0, 5, 0, 0, (int32_t)pick(g, 50));
}

static void gen_helper(struct gen *g)
{
	static const int device[] = { 8, 14, 509, 510, 511, 512 };

	emit(g, 0x85, 0, 0, 0, !g->kernel && chance(g, 40) ? ONE_OF(g, device) : chance(g, 50) ? 7 : 5);
	if (chance(g, 60))
		emit(g, ALU64 | 0xb0 | SRC, chance(g, 50) ? 8 : 9, 0, 0, 0);
	gen_numbers(g);
}

static void gen_lookup(struct gen *g, int map)
{
	emit(g, ST | DW, 10, 0, -8, map == 1 && chance(g, 70) ? (int32_t)pick(g, 16) : number(g));
	emit_map(g, 1, 1, map, 0);
	emit(g, ALU64 | 0xb0 | SRC, 2, 10, 0, 0);
	emit(g, ALU64, 2, 0, 0, -8);
	emit(g, 0x85, 0, 0, 0, 1);
}

static void gen_relookup(struct gen *g)
{
	gen_lookup(g, (int)pick(g, 2));
	if (chance(g, 95))
		to_end(g, JMP | 0x10, 0, 0, 0);
	emit(g, ALU64 | 0xb0 | SRC, 7, 0, 0, 0);
	gen_numbers(g);
}

static void gen_update(struct gen *g)
{
	emit(g, ST | DW, 10, 0, -8, 1);
	emit_map(g, 1, 1, 0, 0);
	emit(g, ALU64 | 0xb0 | SRC, 2, 10, 0, 0);
	emit(g, ALU64, 2, 0, 0, -8);
	emit(g, ALU64 | 0xb0 | SRC, 3, 7, 0, 0);
	emit(g, ALU64, 3, 0, 0, chance(g, 80) ? 0 : (int32_t)pick(g, 16));
	emit(g, ALU64 | 0xb0, 4, 0, 0, 0);
	emit(g, 0x85, 0, 0, 0, 2);
	gen_numbers(g);
}

static void gen_global(struct gen *g)
{
	int reg = chance(g, 50) ? 8 : 9;

	emit_map(g, 1, 2, 2, (int32_t)pick(g, 64));
	if (chance(g, 50)) {
		emit(g, ALU64 | 0x50, reg, 0, 0, 31);
		emit(g, ALU64 | SRC, 1, reg, 0, 0);
	}
	gen_access(g, 1, (int)pick(g, 16));
}

static void gen_atomic(struct gen *g)
{
	static const int ops[] = { 0x00, 0x40, 0x50, 0xa0, 0x01, 0x41, 0x51, 0xa1, 0xe1, 0xf1 };
	int base = chance(g, 60) ? 7 : 10;

	emit(g, ATOMIC | (chance(g, 50) ? DW : W), base, scalar_reg(g), base == 7 ? (int)pick(g, 6) * 8 : -16,
	     ONE_OF(g, ops));
}

static void gen_maximum(struct gen *g)
{
	if (g->kernel) {
		gen_atomic(g);
		return;
	}
	emit(g, ALU64 | 0xb0 | SRC, 1, 7, 0, 0);
	emit(g, ALU64, 1, 0, 0, chance(g, 80) ? (int32_t)pick(g, 6) * 8 : (int32_t)pick(g, 64));
	emit(g, ALU64 | 0xb0 | SRC, 2, chance(g, 50) ? 8 : 9, 0, 0);
	emit(g, 0x85, 0, 0, 0, 533);
	emit(g, ALU64 | 0xb0, 0, 0, 0, number(g));
	gen_numbers(g);
}

static void gen_loop(struct gen *g)
{
	int reg = chance(g, 50) ? 8 : 9;
	int32_t trips = 1 + (int32_t)pick(g, 20);
	bool up = chance(g, 60);
	uint32_t head;

	emit(g, ALU64 | 0xb0, reg, 0, 0, up ? 0 : trips);
	head = g->n;
	switch (pick(g, 3)) {
	case 0:
		for (uint32_t i = 1 + pick(g, 3); i; i--)
			gen_alu(g, (int)(2 + pick(g, 4)));
		break;
	case 1:
		emit(g, ALU64 | 0xb0 | SRC, 1, 7, 0, 0);
		emit(g, ALU64 | SRC, 1, reg, 0, 0);
		emit(g, LDX | B, 2, 1, (int)pick(g, 32), 0);
		break;
	default:
		emit(g, jump_code(g), (int)(2 + pick(g, 4)), 0, 1, number(g));
		gen_alu(g, (int)(2 + pick(g, 4)));
	}
	emit(g, ALU64, reg, 0, 0, up ? 1 : -1);
	emit(g, JMP | (up ? (chance(g, 50) ? 0xa0 : 0x50) : 0x50), reg, 0, (int)head - (int)g->n - 1, up ? trips : 0);
}

static void gen_ring(struct gen *g)
{
	emit_map(g, 1, 1, 3, 0);
	emit(g, ALU64 | 0xb0, 2, 0, 0, 16);
	emit(g, ALU64 | 0xb0, 3, 0, 0, 0);
	emit(g, 0x85, 0, 0, 0, 131);
	emit(g, JMP | 0x10, 0, 0, 4, 0);
	emit(g, ST | DW, 0, 0, (int)pick(g, 3) * 4, 1);
	emit(g, ALU64 | 0xb0 | SRC, 1, 0, 0, 0);
	emit(g, ALU64 | 0xb0, 2, 0, 0, 0);
	emit(g, 0x85, 0, 0, 0, chance(g, 95) ? 132 : 7);
	gen_numbers(g);
}

static void gen_call(struct gen *g)
{
	if (g->ncalls == 8)
		return;
	emit(g, ALU64 | 0xb0 | SRC, 1, chance(g, 50) ? 7 : scalar_reg(g), 0, 0);
	emit(g, ALU64 | 0xb0 | SRC, 2, scalar_reg(g), 0, 0);
	g->calls[g->ncalls++] = g->n;
	emit(g, 0x85, 0, 1, 0, 0);
	gen_numbers(g);
}

static void gen_link(struct gen *g)
{
	int a = 2 + (int)pick(g, 3), b = chance(g, 50) ? 8 : 9;

	emit(g, (chance(g, 70) ? ALU64 : ALU32) | 0xb0 | SRC, a, b, 0, 0);
	if (chance(g, 50))
		emit(g, ALU64, a, 0, 0, (int32_t)pick(g, 8));
	gen_bound(g, chance(g, 50) ? a : b);
}

/* Emit bit masks and selections of constants; the verifier walks each choice separately. */
static void gen_masks(struct gen *g)
{
	int reg = chance(g, 50) ? 8 : 9, mask = (int)(2 + pick(g, 4));

	for (uint32_t i = 1 + pick(g, 4); i; i--) {
		int cls = chance(g, 50) ? ALU64 : ALU32;

		emit(g, cls | 0xb0 | SRC, mask, reg, 0, 0);
		if (chance(g, 50)) {
			emit(g, cls | 0xc0, mask, 0, 0, cls == ALU64 ? 63 : 31);
		} else {
			emit(g, cls | 0x50, mask, 0, 0, 1);
			emit(g, cls | 0x80, mask, 0, 0, 0);
		}
		emit(g, cls | (chance(g, 80) ? 0x50 : 0x40), mask, 0, 0, chance(g, 60) ? (int32_t)pick(g, 50) : number(g));
		if (chance(g, 30))
			gen_bound(g, mask);
		emit(g, cls | 0x70, reg, 0, 0, 1);
		emit(g, cls | (chance(g, 50) ? 0xa0 : 0x00) | SRC, reg, mask, 0, 0);
	}
	if (chance(g, 50))
		return;
	emit(g, ALU64 | 0xb0 | SRC, 1, 7, 0, 0);
	emit(g, ALU64 | SRC, 1, mask, 0, 0);
	gen_access(g, 1, 0);
}

static void (*const chunks[])(struct gen *g) = {
	gen_alus,   gen_value,  gen_plain_value, gen_stack,   gen_stack_var, gen_helper, gen_relookup,
	gen_update, gen_global, gen_atomic,      gen_maximum, gen_loop,      gen_ring,   gen_call,
	gen_link,   gen_value,  gen_link,        gen_stack,   gen_masks,
};

static void gen_subprogram(struct gen *g)
{
	emit(g, ALU64 | 0xb0 | SRC, 0, 2, 0, 0);
	emit(g, STX | DW, 10, 2, -8, 0);
	for (uint32_t i = pick(g, 4); i; i--)
		gen_alu(g, 0);
	if (chance(g, 30))
		emit(g, LDX | DW, 0, 10, -8, 0);
	if (chance(g, 30))
		emit(g, LDX | B, 0, 1, (int)pick(g, 50), 0);
	emit(g, 0x95, 0, 0, 0, 0);
}

void gen_program(struct gen *g, uint64_t seed)
{
	bool kernel = g->kernel;
	uint32_t end;

	memset(g, 0, sizeof(*g));
	g->kernel = kernel;
	g->rng = seed * 0x9e3779b97f4a7c15ull + 0x1234567;
	emit(g, ALU64 | 0xb0 | SRC, 6, 1, 0, 0);
	gen_lookup(g, (int)pick(g, 2));
	to_end(g, JMP | 0x10, 0, 0, 0);
	emit(g, ALU64 | 0xb0 | SRC, 7, 0, 0, 0);
	emit(g, LDX | (chance(g, 50) ? DW : W), 8, 7, 0, 0);
	emit(g, 0x85, 0, 0, 0, 7);
	emit(g, ALU64 | 0xb0 | SRC, 9, 0, 0, 0);
	if (chance(g, 30))
		emit(g, LDX | DW, 9, chance(g, 50) ? 6 : 7, 8 * (int)pick(g, 6), 0);
	gen_numbers(g);
	for (uint32_t i = 1 + pick(g, 6); i; i--) {
		void (*chunk)(struct gen *g) = chunks[pick(g, sizeof(chunks) / sizeof(chunks[0]))];

		if (chance(g, 20))
			gen_skip(g, chunk);
		else
			chunk(g);
	}
	end = g->n;
	emit(g, ALU64 | 0xb0, 0, 0, 0, 0);
	emit(g, 0x95, 0, 0, 0, 0);
	for (uint32_t i = 0; i < g->nto_end; i++)
		g->insns[g->to_end[i]].off = (int16_t)(end - g->to_end[i] - 1);
	for (uint32_t i = 0; i < g->ncalls; i++)
		g->insns[g->calls[i]].imm = (int32_t)(g->n - g->calls[i] - 1);
	if (g->ncalls)
		gen_subprogram(g);
}

void gen_mutate(struct gen *g)
{
	for (uint32_t i = 1 + pick(g, 3); i; i--) {
		struct gpubpf_raw_insn *insn = &g->insns[pick(g, g->n)];

		switch (pick(g, 6)) {
		case 0:
			insn->imm = number(g);
			break;
		case 1:
			insn->off = (int16_t)(insn->off + (int)pick(g, 17) - 8);
			break;
		case 2:
			insn->regs = (uint8_t)((insn->regs & 0xf0) | pick(g, 11));
			break;
		case 3:
			insn->regs = (uint8_t)((insn->regs & 0x0f) | pick(g, 11) << 4);
			break;
		case 4:
			insn->code ^= (uint8_t)(1u << pick(g, 8));
			break;
		default:
			*insn = g->insns[pick(g, g->n)];
		}
	}
}

void gen_maps(struct gpubpf_map maps[GEN_NMAPS])
{
	static const struct gpubpf_map all[GEN_NMAPS] = {
		{ .name = "hash", .key_size = 8, .value_size = 48, .max_entries = 8 },
		{ .name = "array", .key_size = 4, .value_size = 48, .max_entries = 16 },
		{ .name = "global", .key_size = 4, .value_size = 64, .max_entries = 1 },
		{ .name = "ring", .max_entries = 4096 },
	};
	static const uint32_t types[GEN_NMAPS] = { 1, 2, 2, 27 };

	memcpy(maps, all, sizeof(all));
	for (int i = 0; i < GEN_NMAPS; i++)
		maps[i].type = gpubpf_map_type_find(types[i]);
}
