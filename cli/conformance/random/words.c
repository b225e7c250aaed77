/* SPDX-License-Identifier: Apache-2.0 */
/* Emits statements without calls: arithmetic and memory accesses. */
#include "state.h"

#include <stddef.h>

#include "gpubpf/ctx.h"

#define ACQUIRE 0x100 /* immediates of atomic instructions (Linux 6.15): load-acquire and store-release */
#define RELEASE 0x110

void random_alu(struct gen *g)
{
	static const uint8_t ops[] = { 0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0 };
	uint8_t op = ops[random_pick(g, sizeof(ops))], cls = random_pick(g, 2) ? 7 : 4;
	bool divides = op == 0x30 || op == 0x90, shifts = op == 0x60 || op == 0x70 || op == 0xc0;
	int dst = random_number_reg(g), off = divides && random_pick(g, 2);
	int32_t imm = random_interesting(g);

	switch (random_pick(g, 8)) {
	case 0:
		random_emit(g, 0x80 | cls, dst, 0, 0, 0); /* negation */
		return;
	case 1:
		random_emit(g,
			    random_pick(g, 2) ? 0xd7 :
			    random_pick(g, 2) ? 0xdc :
						0xd4,
			    dst, 0, 0, 16 << random_pick(g, 3));
		return;
	case 2:
		random_emit(g, 0xb8 | cls, dst, random_number_reg(g),
			    cls == 7 ? 8 << random_pick(g, 3) : 8 << random_pick(g, 2), 0);
		return;
	case 3:
	case 4:
	case 5:
		random_emit(g, op | 8 | cls, dst, random_number_reg(g), off, 0);
		return;
	}
	if (shifts)
		imm &= cls == 7 ? 63 : 31;
	if (divides && !imm)
		imm = 3;
	random_emit(g, op | cls, dst, 0, off, imm);
}

static const uint8_t size[] = { 0x10, 0x08, 0x00, 0x18 }; /* size bits of the opcode for 1, 2, 4 and 8 bytes */

static void memory(struct gen *g, int base, int off, int bytes)
{
	uint32_t log = random_pick(g, 4);
	int at = (int)(random_pick(g, (uint32_t)bytes >> log) << log);

	if (base == 10)
		random_use(g, at, 1);
	off += at;
	switch (random_pick(g, 4)) {
	case 0:
		random_emit(g, OP_ST | size[log], base, 0, off, random_interesting(g));
		break;
	case 1:
		random_emit(g, OP_STX | size[log], base, random_number_reg(g), off, 0);
		break;
	case 2:
		random_emit(g, OP_LDX | size[log], random_number_reg(g), base, off, 0);
		break;
	default:
		random_emit(g, (log < 3 ? OP_LDXSX : OP_LDX) | size[log], random_number_reg(g), base, off, 0);
	}
}

static void atomic(struct gen *g, int base, int off, int bytes)
{
	static const int32_t ops[] = { 0x00, 0x40, 0x50, 0xa0, 0x01, 0x41, 0x51, 0xa1, 0xe1, 0xf1 };
	bool wide = random_pick(g, 2);
	int at = (int)(random_pick(g, (uint32_t)bytes / (wide ? 8 : 4)) * (wide ? 8 : 4));

	if (base == 10)
		random_use(g, at, 1);
	off += at;
	random_emit(g, OP_ATOMIC | (wide ? 0x18 : 0), base, random_number_reg(g), off, RANDOM_OF(g, ops));
}

/* Emit a load-acquire or a store-release. */
static void ordered(struct gen *g, int base, int off, int bytes)
{
	uint32_t log = random_pick(g, 4);
	int at = (int)(random_pick(g, (uint32_t)bytes >> log) << log);

	if (base == 10)
		random_use(g, at, 1);
	off += at;
	if (random_pick(g, 2))
		random_emit(g, OP_ATOMIC | size[log], random_number_reg(g), base, off, ACQUIRE);
	else
		random_emit(g, OP_ATOMIC | size[log], base, random_number_reg(g), off, RELEASE);
}

/*
 * Access memory at base plus a variable offset, with the address in r5. The offset is below the largest power of 2 that
 * is at most `bytes`.
 */
static void variable(struct gen *g, int base, int off, int bytes)
{
	uint32_t log = random_pick(g, 4), below = 8;

	while (2 * below <= (uint32_t)bytes)
		below *= 2;
	if (base == 10)
		random_use(g, 0, NUMBERS);
	random_emit(g, 0xbf, 5, random_number_reg(g), 0, 0);
	random_emit(g, 0x57, 5, 0, 0, (int32_t)(below - 1) & -(1 << log));
	random_emit(g, 0x0f, 5, base, 0, 0);
	if (random_pick(g, 2))
		random_emit(g, OP_LDX | size[log], random_number_reg(g), 5, off, 0);
	else
		random_emit(g, OP_STX | size[log], 5, random_number_reg(g), off, 0);
}

/* Emit *p += x as a separate load, addition and store. */
static void add_to(struct gen *g, int base, int off, int bytes)
{
	int wide = random_pick(g, 2) ? 0x18 : 0, at = (int)random_pick(g, (uint32_t)bytes / 8) * 8;

	if (base == 10)
		random_use(g, at, 1);
	off += at;
	random_emit(g, OP_LDX | wide, 4, base, off, 0);
	if (random_pick(g, 2))
		random_emit(g, 0x07, 4, 0, 0, random_interesting(g));
	else
		random_emit(g, 0x0f, 4, random_number_reg(g), 0, 0);
	random_emit(g, OP_STX | wide, base, 4, off, 0);
}

/* atomic_max(address of a word, number) */
static void maximum(struct gen *g, int base, int off, int bytes)
{
	random_emit(g, 0xbf, 1, base, 0, 0);
	random_emit(g, 0x07, 1, 0, 0, off + 8 * (int)random_pick(g, (uint32_t)bytes / 8));
	random_emit(g, 0xbf, 2, random_pick(g, 2) ? 8 : 9, 0, 0);
	random_call(g, 533);
	random_set_all_registers(g);
}

void random_touch(struct gen *g, int base, int off, int bytes)
{
	switch (random_pick(g, g->kind == GEN_KERNEL || g->kind == GEN_DIRECT || bytes < 8 ? 5 : 6)) {
	case 0:
		atomic(g, base, off, bytes);
		break;
	case 1:
		variable(g, base, off, bytes);
		break;
	case 2:
		add_to(g, base, off, bytes);
		break;
	case 3:
		ordered(g, base, off, bytes);
		break;
	case 5:
		maximum(g, base, off, bytes);
		break;
	default:
		memory(g, base, off, bytes);
	}
}

void random_on_stack(struct gen *g)
{
	static void (*const all[])(struct gen *g, int base, int off, int bytes) = { memory, atomic, variable, add_to,
										    ordered };
	uint32_t which = random_pick(g, 5);

	/* Linux 6.18's verifier mistakes a number plus r10 in a sub-program for a pointer into the caller's frame. */
	if (g->kind == GEN_KERNEL && g->in_callee && all[which] == variable)
		which = 0;
	all[which](g, 10, -NUMBERS, NUMBERS);
}

/*
 * Access the thread's part of the data of a direct run. The call needs r1 to r5. If it returns NULL, the access is
 * skipped.
 */
static void access_run_data(struct gen *g)
{
	uint32_t jump;

	random_emit(g, 0x79, 1, 6, offsetof(struct gpubpf_ctx, global_linear), 0);
	random_emit(g, 0x27, 1, 0, 0, GEN_DATA_BYTES);
	random_emit(g, 0xb7, 2, 0, 0, GEN_DATA_BYTES);
	random_call(g, 531);
	random_emit(g, 0xbf, 7, 0, 0, 0);
	random_set_all_registers(g);
	jump = g->n;
	random_emit(g, 0x15, 7, 0, 0, 0);
	g->r7_bytes = GEN_DATA_BYTES;
	random_touch(g, 7, 0, GEN_DATA_BYTES);
	g->r7_bytes = 0;
	random_end_skip(g, jump);
	random_emit(g, 0xb7, 7, 0, 0, random_interesting(g));
}

void random_context(struct gen *g)
{
	static const struct {
		uint16_t off;
		uint8_t code;
	} fields[] = {
		{ offsetof(struct gpubpf_ctx, launch), 0x79 },
		{ offsetof(struct gpubpf_ctx, launch), 0x69 },
		{ offsetof(struct gpubpf_ctx, kernel), 0x79 },
		{ offsetof(struct gpubpf_ctx, site), 0x61 },
		{ offsetof(struct gpubpf_ctx, nargs), 0x61 },
		{ offsetof(struct gpubpf_ctx, grid_dim), 0x79 },
		{ offsetof(struct gpubpf_ctx, block_dim), 0x79 },
		{ offsetof(struct gpubpf_ctx, global_linear), 0x79 },
		{ offsetof(struct gpubpf_ctx, arg), 0x79 },
		{ offsetof(struct gpubpf_ctx, di), 0x79 },
		{ offsetof(struct gpubpf_ctx, kernel_name), 0x79 },
	};
	uint32_t i = random_pick(g, sizeof(fields) / sizeof(fields[0]));

	if (g->kind == GEN_DIRECT) {
		access_run_data(g);
		return;
	}
	random_emit(g, fields[i].code, random_number_reg(g), 6, fields[i].off, 0);
}

void random_global_data(struct gen *g)
{
	if (g->kind == GEN_DIRECT) {
		access_run_data(g);
		return;
	}
	random_imm64(g, 7, MAP_VALUE, GEN_DATA, 0);
	g->r7_bytes = GEN_DATA_VALUE;
	random_touch(g, 7, 0, GEN_DATA_VALUE);
	g->r7_bytes = 0;
	random_emit(g, 0xb7, 7, 0, 0, random_interesting(g));
}
