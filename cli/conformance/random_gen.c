/* SPDX-License-Identifier: Apache-2.0 */
#include "random_gen.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/prog.h"
#include "gpubpf/ctx.h"

/*
 * Registers: r6 holds the context, r0, r1 to r4, r7, r8, r9 numbers, r5 is free for addresses. Stack:
 * [-64, 0) numbers, of which those that are used are written at the beginning and read at the end; -72 and -80 loop
 * counters; [-96, -80) keys; at -104 a function that is called back keeps its caller's address.
 */
#define NUMBERS 64 /* bytes */
#define COUNTER(depth) (-72 - 8 * (depth))
#define KEY (-96)
#define KEPT (-104)
#define REPEATS 2 /* calls of bpf_loop(), each of which has its function in line */
#define PREFIXES 2 /* uses in a program */
#define RECORDS 3 /* put out, and prints, in a program; each in two loops at most, of five rounds */

#define KEY2 (KEY + 4) /* in a map of a map */
#define ACQUIRE 0x100 /* what atomics do, of each width */
#define RELEASE 0x110

enum { OP_LDX = 0x61, OP_ST = 0x62, OP_STX = 0x63, OP_ATOMIC = 0xc3, OP_LDXSX = 0x81 }; /* of 4 bytes */

struct gen {
	struct gen_rng *rng;
	struct gpubpf_raw_insn *out;
	enum gen_kind kind;
	uint32_t n;
	int depth;        /* of loops */
	int budget;       /* statements that may still come */
	int prefixes;     /* uses of GEN_PREFIXES that may: compilers put each in line */
	int records;      /* and prints that may: there is room for all */
	uint32_t first;   /* instruction of the part */
	bool goes_on;     /* in other parts: as often as can be, so that it puts nothing out */
	bool in_callee;
	bool r7_points;   /* r7 is no number for a while */
	uint8_t used;     /* numbers of the stack, a bit each, the lowest at -64 */
	bool has_keys;
	int lent[2];      /* of the caller's stack, what the sub-program writes and reads */
	uint32_t calls[32], ncalls; /* local calls to be pointed at the sub-program */
	uint32_t repeats[REPEATS], nrepeats; /* addresses of the function that is called back */
	bool in_callback; /* which is a sub-program, too */
};

uint64_t gen_random(struct gen_rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t pick(struct gen *g, uint32_t n)
{
	return gen_random(g->rng) % n;
}

static void emit(struct gen *g, uint8_t code, int dst, int src, int off, int32_t imm)
{
	if (g->n < GEN_INSNS)
		g->out[g->n++] = (struct gpubpf_raw_insn){ code, (uint8_t)(dst | src << 4), (int16_t)off, imm };
}

static int32_t interesting(struct gen *g)
{
	static const int32_t values[] = { 0, 1, -1, 2, 7, 31, 32, 63, 64, 255, 256, 0x7fff, INT32_MAX, INT32_MIN };

	return pick(g, 3) ? values[pick(g, sizeof(values) / sizeof(values[0]))] : (int32_t)gen_random(g->rng);
}

static int number_reg(struct gen *g)
{
	static const int regs[] = { 0, 1, 2, 3, 4, 8, 9, 7 };

	return regs[pick(g, g->r7_points ? 7 : 8)];
}

static void load_imm64(struct gen *g, int dst, int src, int32_t low, int32_t high)
{
	emit(g, 0x18, dst, src, 0, low);
	emit(g, 0, 0, 0, 0, high);
}

/* Helpers and local calls leave r1 to r5 unreadable. */
static void refill(struct gen *g)
{
	for (int r = 1; r <= 4; r++)
		if (pick(g, 2))
			emit(g, 0xb7, r, 0, 0, interesting(g));
		else
			emit(g, 0xbf, r, pick(g, 2) ? 8 : 9, 0, 0);
}

/* What a look-up left in r0, too. */
static void refill_all(struct gen *g)
{
	emit(g, 0xb7, 0, 0, 0, interesting(g));
	refill(g);
}

static void alu(struct gen *g)
{
	static const uint8_t ops[] = { 0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0 };
	uint8_t op = ops[pick(g, sizeof(ops))], cls = pick(g, 2) ? 7 : 4;
	bool divides = op == 0x30 || op == 0x90, shifts = op == 0x60 || op == 0x70 || op == 0xc0;
	int dst = number_reg(g), off = divides && pick(g, 2);
	int32_t imm = interesting(g);

	switch (pick(g, 8)) {
	case 0:
		emit(g, 0x80 | cls, dst, 0, 0, 0); /* negation */
		return;
	case 1:
		emit(g, pick(g, 2) ? 0xd7 : pick(g, 2) ? 0xdc : 0xd4, dst, 0, 0, 16 << pick(g, 3));
		return;
	case 2:
		emit(g, 0xb8 | cls, dst, number_reg(g), cls == 7 ? 8 << pick(g, 3) : 8 << pick(g, 2), 0);
		return;
	case 3: case 4: case 5:
		emit(g, op | 8 | cls, dst, number_reg(g), off, 0);
		return;
	}
	if (shifts)
		imm &= cls == 7 ? 63 : 31;
	if (divides && !imm)
		imm = 3;
	emit(g, op | cls, dst, 0, off, imm);
}

/* These bytes of the stack, from -64 on, are read or written. */
static void use(struct gen *g, int off, int bytes)
{
	for (int i = off / 8; i < (off + bytes + 7) / 8; i++)
		g->used |= 1u << i;
}

/* dst = an address on the stack, from which on so many bytes are used */
static void stack_address(struct gen *g, int dst, int bytes)
{
	use(g, 0, bytes);
	emit(g, 0xbf, dst, 10, 0, 0);
	emit(g, 0x07, dst, 0, 0, -NUMBERS);
}

static const uint8_t size[] = { 0x10, 0x08, 0x00, 0x18 }; /* 1, 2, 4, 8 bytes, as bits of the opcode */

static void memory(struct gen *g, int base, int off)
{
	uint32_t log = pick(g, 4);
	int at = (int)(pick(g, NUMBERS >> log) << log);

	if (base == 10)
		use(g, at, 1);
	off += at;
	switch (pick(g, 4)) {
	case 0:
		emit(g, OP_ST | size[log], base, 0, off, interesting(g));
		break;
	case 1:
		emit(g, OP_STX | size[log], base, number_reg(g), off, 0);
		break;
	case 2:
		emit(g, OP_LDX | size[log], number_reg(g), base, off, 0);
		break;
	default:
		emit(g, (log < 3 ? OP_LDXSX : OP_LDX) | size[log], number_reg(g), base, off, 0);
	}
}

static void atomic(struct gen *g, int base, int off)
{
	static const int32_t ops[] = { 0x00, 0x40, 0x50, 0xa0, 0x01, 0x41, 0x51, 0xa1, 0xe1, 0xf1 };
	bool wide = pick(g, 2);
	int at = (int)(pick(g, wide ? NUMBERS / 8 : NUMBERS / 4) * (wide ? 8 : 4));

	if (base == 10)
		use(g, at, 1);
	off += at;
	emit(g, OP_ATOMIC | (wide ? 0x18 : 0), base, number_reg(g), off, ops[pick(g, 10)]);
}

/* A load that acquires or a store that releases. */
static void ordered(struct gen *g, int base, int off)
{
	uint32_t log = pick(g, 4);
	int at = (int)(pick(g, NUMBERS >> log) << log);

	if (base == 10)
		use(g, at, 1);
	off += at;
	if (pick(g, 2))
		emit(g, OP_ATOMIC | size[log], number_reg(g), base, off, ACQUIRE);
	else
		emit(g, OP_ATOMIC | size[log], base, number_reg(g), off, RELEASE);
}

/* r5 = base + a number below 64, then what is there */
static void variable(struct gen *g, int base, int off)
{
	uint32_t log = pick(g, 4);

	if (base == 10)
		use(g, 0, NUMBERS);
	emit(g, 0xbf, 5, number_reg(g), 0, 0);
	emit(g, 0x57, 5, 0, 0, (NUMBERS - 1) & -(1 << log));
	emit(g, 0x0f, 5, base, 0, 0);
	if (pick(g, 2))
		emit(g, OP_LDX | size[log], number_reg(g), 5, off, 0);
	else
		emit(g, OP_STX | size[log], 5, number_reg(g), off, 0);
}

/* *p += x, without an atomic */
static void add_to(struct gen *g, int base, int off)
{
	int wide = pick(g, 2) ? 0x18 : 0, at = (int)pick(g, NUMBERS / 8) * 8;

	if (base == 10)
		use(g, at, 1);
	off += at;
	emit(g, OP_LDX | wide, 4, base, off, 0);
	if (pick(g, 2))
		emit(g, 0x07, 4, 0, 0, interesting(g));
	else
		emit(g, 0x0f, 4, number_reg(g), 0, 0);
	emit(g, OP_STX | wide, base, 4, off, 0);
}

static void touch(struct gen *g, int base, int off)
{
	switch (pick(g, 5)) {
	case 0: atomic(g, base, off); break;
	case 1: variable(g, base, off); break;
	case 2: add_to(g, base, off); break;
	case 3: ordered(g, base, off); break;
	default: memory(g, base, off);
	}
}

static void statements(struct gen *g, int most);

/* Begin something that is jumped over; end_skip() points the jump behind it. */
static void end_skip(struct gen *g, uint32_t jump)
{
	if (jump < GEN_INSNS && g->n <= GEN_INSNS)
		g->out[jump].off = (int16_t)(g->n - jump - 1);
}

static void branch(struct gen *g)
{
	static const uint8_t ops[] = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0 };
	uint8_t code = ops[pick(g, sizeof(ops))] | (pick(g, 2) ? 5 : 6);
	uint32_t jump = g->n, over;

	if (pick(g, 2))
		emit(g, code | 8, number_reg(g), number_reg(g), 0, 0);
	else
		emit(g, code, number_reg(g), 0, 0, interesting(g));
	statements(g, 3);
	if (pick(g, 2)) {
		over = g->n;
		emit(g, 0x05, 0, 0, 0, 0);
		end_skip(g, jump);
		statements(g, 3);
		end_skip(g, over);
	} else {
		end_skip(g, jump);
	}
}

static void loop(struct gen *g)
{
	int counter = COUNTER(g->depth);
	uint32_t top;

	if (g->depth == 2 || g->in_callee)
		return;
	g->depth++;
	if (pick(g, 4)) { /* how many rounds is not known: compilers keep the loop */
		emit(g, 0xbf, 5, number_reg(g), 0, 0);
		emit(g, 0x57, 5, 0, 0, 1);
		emit(g, OP_STX | 0x18, 10, 5, counter, 0);
	} else {
		emit(g, OP_ST | 0x18, 10, 0, counter, 0);
	}
	top = g->n;
	statements(g, 3);
	emit(g, OP_LDX | 0x18, 5, 10, counter, 0);
	emit(g, 0x07, 5, 0, 0, 1);
	emit(g, OP_STX | 0x18, 10, 5, counter, 0);
	emit(g, 0xa5, 5, 0, (int)top - (int)g->n - 1, 2 + pick(g, 4));
	g->depth--;
}

static void key_word(struct gen *g, int off, uint32_t mask)
{
	g->has_keys = true;
	emit(g, 0xbf, 5, number_reg(g), 0, 0);
	emit(g, 0x57, 5, 0, 0, (int32_t)mask);
	emit(g, OP_STX, 10, 5, KEY + off, 0);
}

/* Prefixes have 0 to 3 or all 32 bits, of which the first three vary; some are too long. */
static void map_key(struct gen *g, uint32_t map, uint32_t mask)
{
	key_word(g, 0, map == GEN_PREFIXES ? 35 : mask);
	if (map == GEN_PREFIXES)
		key_word(g, 4, 0xe0);
	load_imm64(g, 1, 1, (int32_t)map, 0);
	emit(g, 0xbf, 2, 10, 0, 0);
	emit(g, 0x07, 2, 0, 0, KEY);
}

/* One of these, or in place of prefixes that would be too many the hash. */
static uint32_t pick_map(struct gen *g, const uint32_t *maps, uint32_t n)
{
	uint32_t map = maps[pick(g, n)];

	return map != GEN_PREFIXES || g->prefixes-- > 0 ? map : GEN_HASH;
}

/* What a look-up gave is worked on as r7, or nothing is; then it is a number again. */
static void work_on_value(struct gen *g)
{
	uint32_t jump = g->n;

	emit(g, 0x15, 0, 0, 0, 0);
	emit(g, 0xbf, 7, 0, 0, 0);
	emit(g, 0xb7, 0, 0, 0, interesting(g));
	g->r7_points = true;
	for (uint32_t i = 1 + pick(g, 3); i; i--)
		touch(g, 7, 0);
	g->r7_points = false;
	end_skip(g, jump);
	emit(g, 0xb7, 7, 0, 0, interesting(g));
	emit(g, 0xb7, 0, 0, 0, interesting(g));
}

/* Look a key up and work on its value, to which r7 points for a while. */
static void lookup(struct gen *g)
{
	static const uint32_t maps[] = { GEN_ARRAY, GEN_HASH, GEN_PERCPU, GEN_THREAD, GEN_PERCPU_HASH, GEN_LRU,
					 GEN_PREFIXES };
	static const uint32_t kernels[] = { GEN_ARRAY, GEN_HASH, GEN_PERCPU, GEN_PERCPU_HASH };
	uint32_t map = pick_map(g, g->kind == GEN_KERNEL ? kernels : maps, g->kind == GEN_KERNEL ? 4 : 7);

	map_key(g, map, map == GEN_ARRAY && pick(g, 2) ? GEN_ARRAY_ENTRIES - 1 : GEN_KEYS - 1);
	emit(g, 0x85, 0, 0, 0, 1);
	refill(g);
	work_on_value(g);
}

/* Look a map up in a map of maps, and there a key, whose value is worked on, written or deleted. */
static void nested(struct gen *g)
{
	bool hash = pick(g, 2);
	uint32_t what = pick(g, hash ? 4 : 3), jump;

	key_word(g, KEY2 - KEY, GEN_KEYS / 2 - 1);
	map_key(g, hash ? GEN_OUTER_ARRAY : GEN_OUTER_HASH, GEN_SLOTS - 1);
	emit(g, 0x85, 0, 0, 0, 1);
	jump = g->n;
	emit(g, 0x15, 0, 0, 0, 0);
	emit(g, 0xbf, 1, 0, 0, 0);
	emit(g, 0xbf, 2, 10, 0, 0);
	emit(g, 0x07, 2, 0, 0, KEY2);
	if (what == 2) {
		stack_address(g, 3, NUMBERS);
		emit(g, 0xb7, 4, 0, 0, (int32_t)pick(g, 4));
	}
	emit(g, 0x85, 0, 0, 0, what < 2 ? 1 : (int)what);
	refill(g);
	if (what < 2)
		work_on_value(g);
	end_skip(g, jump);
	refill_all(g);
}

/* Go on in a part, if there is one in that slot and it is not too late. */
static void go_on(struct gen *g)
{
	if (!g->goes_on)
		return;
	emit(g, 0xbf, 3, number_reg(g), 0, 0);
	emit(g, 0x57, 3, 0, 0, 2 * GEN_SLOTS - 1);
	load_imm64(g, 2, 1, GEN_PROGS, 0);
	emit(g, 0xbf, 1, 6, 0, 0);
	emit(g, 0x85, 0, 0, 0, 12);
	refill_all(g);
}

static void count(struct gen *g)
{
	uint32_t jump;

	map_key(g, GEN_COUNTER, 0);
	emit(g, 0x85, 0, 0, 0, 1);
	refill(g);
	jump = g->n;
	emit(g, 0x15, 0, 0, 0, 0);
	emit(g, OP_ATOMIC | 0x18, 0, 1 + (int)pick(g, 4), 0, 0);
	end_skip(g, jump);
	emit(g, 0xb7, 0, 0, 0, interesting(g));
}

static void update(struct gen *g)
{
	static const uint32_t maps[] = { GEN_ARRAY, GEN_HASH, GEN_PERCPU_HASH, GEN_LRU, GEN_PREFIXES };
	uint32_t map = pick_map(g, maps, g->kind == GEN_KERNEL ? 3 : 5);
	bool del = map != GEN_ARRAY && pick(g, 3) == 0;

	map_key(g, map, GEN_KEYS - 1);
	stack_address(g, 3, NUMBERS);
	emit(g, 0xb7, 4, 0, 0, (int32_t)pick(g, 4));
	emit(g, 0x85, 0, 0, 0, del ? 3 : 2);
	refill(g);
}

/* push, pop or peek, from or to the stack; nothing is popped from a set */
static void queue(struct gen *g)
{
	static const uint32_t maps[] = { GEN_QUEUE, GEN_STACK, GEN_BLOOM };
	uint32_t map = maps[pick(g, g->kind == GEN_KERNEL ? 2 : 3)]; /* which values a set takes for others is its own business */
	int32_t call = 87 + (int32_t)pick(g, 3);

	load_imm64(g, 1, 1, (int32_t)map, 0);
	stack_address(g, 2, NUMBERS);
	emit(g, 0xb7, 3, 0, 0, (int32_t)pick(g, 4));
	emit(g, 0x85, 0, 0, 0, map == GEN_BLOOM && call == 88 ? 89 : call);
	refill(g);
}

static void global_data(struct gen *g)
{
	load_imm64(g, 7, 2, GEN_DATA, 0);
	g->r7_points = true;
	touch(g, 7, 0);
	g->r7_points = false;
	emit(g, 0xb7, 7, 0, 0, interesting(g));
}

/* registers reg and reg + 1: an address on the stack, and how many bytes from there */
static void some_bytes(struct gen *g, int reg)
{
	int32_t bytes = 1 + (int32_t)pick(g, NUMBERS);

	stack_address(g, reg, bytes);
	emit(g, 0xb7, reg + 1, 0, 0, bytes);
}

static void output(struct gen *g)
{
	if (g->records-- <= 0)
		return;
	if (pick(g, 2)) { /* ringbuf_output(ring, stack, n, 0) */
		load_imm64(g, 1, 1, GEN_RING, 0);
		some_bytes(g, 2);
		emit(g, 0xb7, 4, 0, 0, 0);
		emit(g, 0x85, 0, 0, 0, 130);
	} else { /* perf_event_output(ctx, perf, -1, stack, n) */
		emit(g, 0xbf, 1, 6, 0, 0);
		load_imm64(g, 2, 1, pick(g, 2) ? GEN_PERF : GEN_GPURING, 0);
		load_imm64(g, 3, 0, -1, 0);
		some_bytes(g, 4);
		emit(g, 0x85, 0, 0, 0, 25);
	}
	refill(g);
}

static void record(struct gen *g)
{
	uint32_t jump;

	if (g->records-- <= 0)
		return;
	load_imm64(g, 1, 1, pick(g, 2) ? GEN_RING : GEN_SMALL, 0);
	emit(g, 0xb7, 2, 0, 0, NUMBERS);
	emit(g, 0xb7, 3, 0, 0, 0);
	emit(g, 0x85, 0, 0, 0, 131);
	refill(g);
	jump = g->n;
	emit(g, 0x15, 0, 0, 0, 0);
	for (int off = 0; off < NUMBERS; off += 8)
		emit(g, OP_STX | 0x18, 0, 1 + (int)pick(g, 4), off, 0);
	emit(g, 0xbf, 1, 0, 0, 0);
	emit(g, 0xb7, 2, 0, 0, 0);
	emit(g, 0x85, 0, 0, 0, 132 + (int32_t)pick(g, 2));
	refill(g);
	end_skip(g, jump);
	emit(g, 0xb7, 0, 0, 0, interesting(g));
}

/* bpf_loop(rounds, the function that is called back, our numbers, flags) */
static void repeat(struct gen *g)
{
	if (g->nrepeats == REPEATS)
		return;
	use(g, g->lent[0], 8);
	use(g, g->lent[1], 8);
	emit(g, 0xbf, 1, number_reg(g), 0, 0);
	emit(g, 0x57, 1, 0, 0, (int32_t)pick(g, 8));
	g->repeats[g->nrepeats++] = g->n;
	load_imm64(g, 2, 4, 0, 0);
	stack_address(g, 3, 0);
	emit(g, 0xb7, 4, 0, 0, !pick(g, 16)); /* there are no flags */
	emit(g, 0x85, 0, 0, 0, 181);
	refill(g);
}

/* Of a ring its size and how far readers are: what is in it, and where, is the device's business. 9 is nothing. */
static void query(struct gen *g)
{
	static const int32_t what[] = { 1, 2, 9 };

	load_imm64(g, 1, 1, GEN_RING, 0);
	emit(g, 0xb7, 2, 0, 0, what[pick(g, 3)]);
	emit(g, 0x85, 0, 0, 0, 134);
	refill(g);
}

static void helper(struct gen *g)
{
	static const int32_t plain[] = { 14, 512, 511, 506, 521, 522 };

	if (pick(g, 2)) {
		emit(g, 0x85, 0, 0, 0, plain[pick(g, 6)]);
	} else {
		static const int32_t coordinates[] = { 503, 504, 505, 508 };

		use(g, NUMBERS - 24, 24);
		for (int i = 1; i <= 3; i++) {
			emit(g, 0xbf, i, 10, 0, 0);
			emit(g, 0x07, i, 0, 0, -8 * i);
		}
		emit(g, 0x85, 0, 0, 0, coordinates[pick(g, 4)]);
	}
	refill(g);
}

static void context(struct gen *g)
{
	static const struct {
		uint16_t off;
		uint8_t code;
	} fields[] = {
		{ offsetof(struct gpubpf_ctx, launch), 0x79 },    { offsetof(struct gpubpf_ctx, launch), 0x69 },
		{ offsetof(struct gpubpf_ctx, kernel), 0x79 },    { offsetof(struct gpubpf_ctx, site), 0x61 },
		{ offsetof(struct gpubpf_ctx, nargs), 0x61 },     { offsetof(struct gpubpf_ctx, grid_dim), 0x79 },
		{ offsetof(struct gpubpf_ctx, block_dim), 0x79 }, { offsetof(struct gpubpf_ctx, global_linear), 0x79 },
		{ offsetof(struct gpubpf_ctx, arg), 0x79 },       { offsetof(struct gpubpf_ctx, di), 0x79 },
		{ offsetof(struct gpubpf_ctx, kernel_name), 0x79 },
	};
	uint32_t i = pick(g, sizeof(fields) / sizeof(fields[0]));

	emit(g, fields[i].code, number_reg(g), 6, fields[i].off, 0);
}

/* trace_printk(format in read-only data, its size, three numbers), or puts */
static void print(struct gen *g)
{
	if (g->records-- <= 0)
		return;
	load_imm64(g, 1, 2, GEN_TEXT, 0);
	if (pick(g, 2)) {
		emit(g, 0xb7, 2, 0, 0, 1 + (int32_t)pick(g, GEN_VALUE));
		emit(g, 0xbf, 3, 8, 0, 0);
		emit(g, 0xbf, 4, 9, 0, 0);
		emit(g, 0xb7, 5, 0, 0, interesting(g));
		emit(g, 0x85, 0, 0, 0, 6);
	} else {
		emit(g, 0x85, 0, 0, 0, 501);
	}
	refill(g);
}

/* strncmp(bytes of the stack, which may begin with the text, a size, text) */
static void compare(struct gen *g)
{
	use(g, 0, 24);
	load_imm64(g, 3, 2, GEN_TEXT, 8 * (int32_t)pick(g, 3));
	for (int i = (int)pick(g, 4); i-- > 0;) {
		emit(g, OP_LDX | 0x18, 4, 3, 8 * i, 0);
		emit(g, OP_STX | 0x18, 10, 4, 8 * i - NUMBERS, 0);
	}
	some_bytes(g, 1);
	emit(g, 0x85, 0, 0, 0, 182);
	refill(g);
}

/* call the sub-program with two numbers and a pointer into our stack */
static void call_local(struct gen *g)
{
	if (g->ncalls == 32)
		return;
	use(g, g->lent[0], 8);
	use(g, g->lent[1], 8);
	stack_address(g, 3, 0);
	g->calls[g->ncalls++] = g->n;
	emit(g, 0x85, 0, 1, 0, 0);
	refill(g);
}

static void on_stack(struct gen *g)
{
	static void (*const all[])(struct gen *g, int base, int off) = { memory, atomic, variable, add_to, ordered };
	uint32_t which = pick(g, 5);

	/* in a sub-program Linux 6.18's verifier takes a number plus r10 for a pointer into the caller's frame */
	if (g->kind == GEN_KERNEL && g->in_callee && all[which] == variable)
		which = 0;
	all[which](g, 10, -NUMBERS);
}

static void loop_or_context(struct gen *g)
{
	pick(g, 2) ? context(g) : loop(g);
}

static void text(struct gen *g)
{
	pick(g, 3) ? print(g) : compare(g);
}

/* In sub-programs the first only, in plain programs those that call no helper. */
static void (*const all_statements[])(struct gen *g) = {
	alu, alu, alu, on_stack, on_stack, branch,
	global_data, loop_or_context, call_local,
	lookup, lookup, lookup, count, update, update, output, record, helper, text, queue, queue, repeat, query,
	nested, nested, go_on,
};
enum { IN_CALLEE = 6, PLAIN = 9 };

/* what the kernel has, beside plain ones */
static void (*const kernel_statements[])(struct gen *g) = { lookup, lookup, lookup, count, update, update, queue, queue, nested,
								go_on };
#define KERNEL_STATEMENTS (sizeof(kernel_statements) / sizeof(kernel_statements[0]))

static void statement(struct gen *g)
{
	uint32_t all = sizeof(all_statements) / sizeof(all_statements[0]), which;

	if (g->kind == GEN_KERNEL && !g->in_callee) {
		which = pick(g, PLAIN + KERNEL_STATEMENTS);
		(which < PLAIN ? all_statements[which] : kernel_statements[which - PLAIN])(g);
		return;
	}
	all_statements[pick(g, g->in_callee ? IN_CALLEE : g->kind == GEN_PLAIN ? PLAIN : all)](g);
}

static void statements(struct gen *g, int most)
{
	for (int i = 1 + (int)pick(g, most); i > 0 && g->budget > 0; i--) {
		g->budget--;
		statement(g);
	}
	emit(g, 0x07, number_reg(g), 0, 0, 1); /* never empty */
}

/* r8 and r9 are what nothing knows before: the launch's number or an argument, and now and then a word of global data. */
static void unknown_numbers(struct gen *g)
{
	if (g->in_callee) {
		emit(g, 0xbf, 8, 1, 0, 0);
		return;
	}
	emit(g, 0x79, 8, 6, offsetof(struct gpubpf_ctx, launch), 0);
	if (pick(g, 2)) {
		load_imm64(g, 5, 2, GEN_DATA, 0);
		emit(g, OP_LDX | 0x18, 9, 5, 8 * (int)pick(g, GEN_VALUE / 8), 0);
	}
}

static void numbers(struct gen *g)
{
	emit(g, 0xb7, 0, 0, 0, interesting(g));
	for (int r = 1; !g->in_callee && r <= 4; r++)
		emit(g, 0xb7, r, 0, 0, interesting(g));
	load_imm64(g, 7, 0, interesting(g), interesting(g));
	load_imm64(g, 9, 0, interesting(g), interesting(g));
	unknown_numbers(g);
	for (int i = 0; i < NUMBERS / 8; i++)
		if (g->used >> i & 1)
			emit(g, OP_STX | 0x18, 10, 7 + (int)pick(g, 3), 8 * i - NUMBERS, 0);
	if (g->has_keys)
		emit(g, OP_ST | 0x18, 10, 0, KEY, 0);
}

/* r0 = a mix of all numbers */
static void end(struct gen *g)
{
	for (int i = 7; i <= 9; i++) {
		emit(g, 0x27, 0, 0, 0, 31);
		emit(g, 0xaf, 0, i, 0, 0);
	}
	for (int i = 0; i < NUMBERS / 8; i++)
		if (g->used >> i & 1) {
			emit(g, OP_LDX | 0x18, 5, 10, 8 * i - NUMBERS, 0);
			emit(g, 0x27, 0, 0, 0, 31);
			emit(g, 0x0f, 0, 5, 0, 0);
		}
	if (g->in_callback) {
		emit(g, OP_LDX | 0x18, 5, 10, KEPT, 0);
		emit(g, OP_STX | 0x18, 5, 0, g->lent[0], 0);
		emit(g, 0x57, 0, 0, 0, 1); /* whether it was the last round */
	}
	emit(g, 0x95, 0, 0, 0, 0);
}

/* What came last, from `from` on, goes before what begins at `at`; jumps within either stay right. */
static void put_in_front(struct gen *g, uint32_t at, uint32_t from)
{
	struct gpubpf_raw_insn front[GEN_INSNS];
	uint32_t n = g->n - from;

	memcpy(front, g->out + from, n * sizeof(front[0]));
	memmove(g->out + at + n, g->out + at, (from - at) * sizeof(front[0]));
	memcpy(g->out + at, front, n * sizeof(front[0]));
	for (uint32_t i = 0; at == g->first && i < g->ncalls; i++)
		g->calls[i] += n;
	for (uint32_t i = 0; at == g->first && i < g->nrepeats; i++)
		g->repeats[i] += n;
}

/* The round's number, and the caller's numbers. */
static void callback_arguments(struct gen *g)
{
	emit(g, OP_STX | 0x18, 10, 2, KEPT, 0);
	emit(g, OP_LDX | 0x18, 3, 2, g->lent[1], 0);
	emit(g, 0xbf, 4, 1, 0, 0);
	emit(g, 0xb7, 2, 0, 0, interesting(g));
}

static void callee_arguments(struct gen *g)
{
	emit(g, 0xbf, 5, 3, 0, 0);
	if (pick(g, 2))
		emit(g, OP_STX | 0x18, 5, 1, g->lent[0], 0);
	emit(g, OP_LDX | 0x18, 3, 5, g->lent[1], 0);
	emit(g, 0xbf, 4, 2, 0, 0);
}

/* A function of about so many statements; only then it is known what must be there before them. */
static void function(struct gen *g, int budget, int most)
{
	uint32_t at = g->n, from;

	g->used = 0;
	g->has_keys = false;
	for (g->budget = budget; g->budget > 0;)
		statements(g, most);
	from = g->n;
	if (g->in_callback)
		callback_arguments(g);
	else if (g->in_callee)
		callee_arguments(g);
	else
		emit(g, 0xbf, 6, 1, 0, 0);
	numbers(g);
	put_in_front(g, at, from);
	end(g);
}

/* The function that is called from these instructions. */
static void callee(struct gen *g, const uint32_t *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (from[i] < GEN_INSNS)
			g->out[from[i]].imm = (int32_t)(g->n - from[i] - 1);
	g->in_callee = true;
	function(g, 1 + (int)pick(g, 8), 6);
}

static void part(struct gen *g)
{
	/* most are short, for which compilers take less time: many more of them in the same; the kernel takes none */
	uint32_t length = g->kind == GEN_KERNEL ? 31 : pick(g, 32);

	g->first = g->n;
	g->ncalls = g->nrepeats = 0;
	g->in_callee = g->in_callback = false;
	function(g, length < 24 ? 1 + (int)pick(g, 2) : length < 31 ? 1 + (int)pick(g, 8) : 6 + (int)pick(g, 20), 6);
	if (g->ncalls)
		callee(g, g->calls, g->ncalls);
	g->in_callback = true;
	if (g->nrepeats)
		callee(g, g->repeats, g->nrepeats);
}

uint32_t gen_program(struct gen_rng *rng, enum gen_kind kind, struct gpubpf_raw_insn out[GEN_INSNS], uint32_t begin[GEN_PARTS])
{
	struct gen g = { .rng = rng, .kind = kind, .out = out, .prefixes = PREFIXES, .records = RECORDS };
	uint32_t parts = 1;

	for (uint32_t i = 0; i < 2; i++)
		g.lent[i] = 8 * (int)pick(&g, NUMBERS / 8);
	if (kind != GEN_PLAIN && !pick(&g, 3)) {
		parts += pick(&g, GEN_PARTS);
		g.goes_on = true;
		g.records = 0;
	}
	for (uint32_t i = 0; i < GEN_PARTS; i++) {
		begin[i] = i < parts ? g.n : 0;
		if (i < parts)
			part(&g);
	}
	return g.n;
}
