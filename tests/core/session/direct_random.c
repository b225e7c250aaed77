/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test-direct-random AGENT N [SEED]: runs N random programs on a device by gpubpf_prog__test_run(), and in the interpreter. The
 * result, the data buffer and a sum over all threads must be equal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/interp/interp.h"
#include "core/model/diag.h"
#include "core/model/insn.h"
#include "core/session/session.h"
#include "core/wire/direct.h"
#include "maps/layout.h"
#include "tests/core/session/own_dir.h"
#include "tests/tap.h"

#define PROGRAMS 16 /* programs of one session */
#define MAX_RAW 128
#define THREADS 24
#define WORDS 4 /* words of data per thread; one more word is shared by all threads */
#define BYTES (THREADS * WORDS * 8 + 8)

static uint64_t state;

static uint32_t pick(uint32_t n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(state >> 33) % n;
}

struct code {
	struct gpubpf_raw_insn insns[MAX_RAW];
	uint32_t n;
};

static void add(struct code *c, uint8_t op, unsigned int dst, unsigned int src, int16_t off, int32_t imm)
{
	c->insns[c->n++] = (struct gpubpf_raw_insn){ .code = op, .regs = (uint8_t)(dst | src << 4), .off = off, .imm = imm };
}

/* RFC 9669 defines the opcodes below. */
static void add_alu(struct code *c)
{
	static const uint8_t ops[] = { 0x00, 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0x90, 0xa0, 0xb0, 0xc0 };
	uint8_t op = ops[pick(sizeof(ops))], class = pick(2) ? 0x07 : 0x04;
	bool shift = op == 0x60 || op == 0x70 || op == 0xc0, divide = op == 0x30 || op == 0x90;
	int32_t imm = shift ? (int32_t)pick(32) : (int32_t)pick(1u << 31) - (1 << 30);

	if (pick(2))
		add(c, op | class | 0x08, 1 + pick(5), 1 + pick(5), 0, 0);
	else
		add(c, op | class, 1 + pick(5), 0, 0, divide && !imm ? 3 : imm);
}

static void add_access(struct code *c)
{
	static const uint8_t sizes[] = { 0x18, 0x00, 0x08, 0x10 }; /* 8, 4, 2 and 1 bytes */
	uint32_t size = pick(4), bytes = size ? 8u >> size : 8;
	int16_t off = (int16_t)(pick(WORDS * 8 / bytes) * bytes);

	switch (pick(3)) {
	case 0:
		add(c, 0x61 | sizes[size], 1 + pick(5), 8, off, 0);
		break;
	case 1:
		add(c, 0x63 | sizes[size], 8, 1 + pick(5), off, 0);
		break;
	default:
		add(c, 0xdb, 9, 1 + pick(5), 0, 0); /* an atomic add to the shared word */
	}
}

/* A forward jump over the next few instructions, which are arithmetic. */
static void add_branch(struct code *c)
{
	static const uint8_t ops[] = { 0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xa0, 0xb0, 0xc0, 0xd0 };
	uint8_t op = ops[pick(sizeof(ops))], class = pick(2) ? 0x05 : 0x06;
	uint32_t over = 1 + pick(3);

	if (pick(2))
		add(c, op | class | 0x08, 1 + pick(5), 1 + pick(5), (int16_t)over, 0);
	else
		add(c, op | class, 1 + pick(5), 0, (int16_t)over, (int32_t)pick(64) - 32);
	while (over--)
		add_alu(c);
}

/* Sets `to` to `size` bytes of data at r1, or ends the program with result 1. */
static void add_data(struct code *c, unsigned int to, int32_t size)
{
	add(c, 0xb7, 2, 0, 0, size);
	add(c, 0x85, 0, 0, 0, 531);
	add(c, 0x55, 0, 0, 2, 0);
	add(c, 0xb7, 0, 0, 0, 1);
	add(c, 0x95, 0, 0, 0, 0);
	add(c, 0xbf, to, 0, 0, 0);
}

static void make_program(struct code *c)
{
	uint32_t steps = 4 + pick(20);

	c->n = 0;
	add(c, 0x79, 7, 1, offsetof(struct gpubpf_ctx, global_linear), 0);
	add(c, 0xbf, 1, 7, 0, 0);
	add(c, 0x27, 1, 0, 0, WORDS * 8);
	add_data(c, 8, WORDS * 8);
	add(c, 0xb7, 1, 0, 0, THREADS * WORDS * 8);
	add_data(c, 9, 8);
	for (unsigned int r = 1; r <= 4; r++)
		add(c, 0x79, r, 8, (int16_t)(8 * (r - 1)), 0);
	add(c, 0xbf, 5, 7, 0, 0);
	while (steps--) {
		uint32_t kind = pick(4);

		if (kind == 0)
			add_branch(c);
		else if (kind == 1)
			add_access(c);
		else
			add_alu(c);
	}
	add(c, 0xbf, 0, 1, 0, 0);
	for (unsigned int r = 2; r <= 5; r++)
		add(c, 0xaf, 0, r, 0, 0);
	add(c, 0x95, 0, 0, 0, 0);
}

static bool add_program(struct gpubpf_unit *unit, const struct code *c)
{
	struct gpubpf_prog *p = &unit->progs[unit->nprogs];
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	*p = (struct gpubpf_prog){ .site = GPUBPF_SITE_ENTRY, .is_run = true, .ninsns = c->n, .nfuncs = 1 };
	snprintf(p->name, sizeof(p->name), "random%u", unit->nprogs);
	snprintf(p->section, sizeof(p->section), "gpu/run/random%u", unit->nprogs);
	snprintf(p->pattern, sizeof(p->pattern), "%s", GPUBPF_DIRECT_KERNEL);
	p->insns = calloc(c->n + 1, sizeof(*p->insns));
	p->funcs = calloc(1, sizeof(*p->funcs));
	unit->nprogs++;
	if (!p->insns || !p->funcs || gpubpf_insn_decode(c->insns, c->n, p->insns, &diag) < 0)
		return false;
	p->funcs[0].count = c->n;
	return true;
}

static struct gpubpf_session *open_session(const char *agent)
{
	struct gpubpf_session_opts o = { .sz = sizeof(o), .agent = agent, .runtime_dir = own_dir, .no_attach = true, .wait_ms = 250000 };
	struct gpubpf_session *s = gpubpf_session__new(&o);
	struct gpubpf_loaded *loaded = calloc(1, sizeof(*loaded));
	struct gpubpf_diag diag;
	struct code c;

	gpubpf_diag_init(&diag);
	loaded->objects = calloc(1, sizeof(*loaded->objects));
	loaded->nobjects = 1;
	loaded->unit.progs = calloc(PROGRAMS, sizeof(*loaded->unit.progs));
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		make_program(&c);
		if (!add_program(&loaded->unit, &c))
			return NULL;
	}
	if (!gpubpf_session_adopt_unit(s, loaded, &diag) && !gpubpf_session__start(s))
		return s;
	printf("# %s at %u\n", diag.what, diag.pc);
	return NULL;
}

/* Runs the program in the interpreter, thread by thread. Returns the first thread's result. */
static bool interpret(const struct gpubpf_unit *unit, const struct gpubpf_prog *prog, uint8_t *block, uint64_t *r0)
{
	struct gpubpf_ctx ctx = { .work_dim = 1, .grid_dim = { 1, 1, 1 }, .block_dim = { THREADS, 1, 1 },
				  .arg = { (uintptr_t)block, BYTES, GPUBPF_DIRECT_KEY } };
	struct gpubpf_interp_job job = { .unit = unit, .prog = prog, .ctx = &ctx, .mem = block,
					 .mem_size = GPUBPF_DIRECT_DATA + BYTES };
	struct gpubpf_interp_result result;
	struct gpubpf_diag diag;

	for (uint32_t t = 0; t < THREADS; t++) {
		gpubpf_diag_init(&diag);
		ctx.global_linear = ctx.thread_idx[0] = t;
		if (gpubpf_interp_run(&job, &result, &diag) < 0) {
			printf("# interpreter: %s\n", diag.what);
			return false;
		}
		*r0 = t ? *r0 : result.r0;
	}
	return true;
}

static bool agrees(struct gpubpf_session *s, const struct gpubpf_prog *prog, uint64_t seed)
{
	static uint64_t block[(GPUBPF_DIRECT_DATA + BYTES) / 8];
	uint64_t data[BYTES / 8], out[BYTES / 8], r0 = 0;
	struct gpubpf_test_run_opts o = { .sz = sizeof(o), .data_in = data, .data_out = out, .data_size_in = BYTES,
					  .data_size_out = BYTES, .block = { THREADS, 1, 1 } };
	int err;

	for (uint32_t i = 0; i < BYTES / 8; i++)
		data[i] = pick(4) ? (uint64_t)pick(1u << 31) << 33 ^ pick(1u << 31) : pick(100);
	memcpy((uint8_t *)block + GPUBPF_DIRECT_DATA, data, BYTES);
	err = gpubpf_prog__test_run(prog, &o);
	if (err < 0 || !interpret(gpubpf_session_unit(s), prog, (uint8_t *)block, &r0)) {
		printf("# seed %llu, %s: %s\n", (unsigned long long)seed, prog->name, gpubpf_session__error(s));
		return false;
	}
	if (o.retval == (uint32_t)r0 && !memcmp(out, (uint8_t *)block + GPUBPF_DIRECT_DATA, BYTES))
		return true;
	printf("# seed %llu, %s: result 0x%x, expected 0x%x\n", (unsigned long long)seed, prog->name, o.retval, (uint32_t)r0);
	return false;
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
	uint32_t n = argc > 2 ? (uint32_t)atoi(argv[2]) : PROGRAMS, ran = 0, right = 0;

	own_dir_make();
	for (; ran < n; seed++) {
		const struct gpubpf_prog *prog = NULL;
		struct gpubpf_session *s;

		state = seed;
		s = open_session(argv[1]);
		if (!s)
			return ok(false, "seed %llu: the verifier accepts all programs", (unsigned long long)seed), done();
		while (ran < n && (prog = gpubpf_session__next_program(s, prog))) {
			right += agrees(s, prog, seed);
			ran++;
			if (!right && strstr(gpubpf_session__error(s), "no backend has such a device")) {
				printf("1..0 # SKIP no device\n");
				return 0;
			}
		}
		gpubpf_session__free(s);
	}
	ok(right == ran, "%u of %u random programs agree with the interpreter", right, ran);
	return done();
}
