/* SPDX-License-Identifier: Apache-2.0 */
/* Runs random paths of a kernel and then the exit probe, which uses registers of the kernel. */
#ifndef GPUBPF_TESTS_CUDA_SASS_EXITS_H
#define GPUBPF_TESTS_CUDA_SASS_EXITS_H

#include "core/model/diag.h"
#include "stub.h"
#include "tests/backends/cuda/sass/isa/insn.h"

#define PROBE_REGS 64              /* too many to fit above the kernel's registers without reducing occupancy */
#define STEPS 20000
#define WALKS 16

/*
 * Makes the probe: MOV an address, a value and two numbers to random registers; ISETP.NE P0; @P0 RED.64; RED; RED;
 * EXIT.
 */
static uint32_t make_exit_probe(struct sass_insn insns[16])
{
	static const struct sass_word parts[] = {
		{ 0x000000ff0000720c, 0x000fda0003f05270 }, { 0x000000000000098e, 0x000fe8000010e500 },
		{ 0x000000000000798e, 0x000fe8000010e100 }, { 0x000000000000798e, 0x000fe2000010e100 }, { 0x000000000000794d, 0x000fea0003800000 },
	};
	unsigned address = 2 * random_below(2), value = 4 + 2 * random_below(2), one = 8 + random_below(2), two = address ^ 2;
	uint32_t n = 0;

	insns[n++] = sass_move_imm(address, 0x1000);
	insns[n++] = sass_move_imm(address + 1, 0x2000);
	insns[n++] = sass_move_imm(value, 0x3000);
	insns[n++] = sass_move_imm(value + 1, 0x4000);
	insns[n++] = sass_move_imm(one, 0x5000);
	insns[n++] = sass_move_imm(two, 0x6000);
	insns[n++] = sass_with_field(sass_decode(parts[0]), 24, 8, one);
	insns[n++] = sass_with_field(sass_with_field(sass_decode(parts[1]), 24, 8, address), 32, 8, value);
	insns[n++] = sass_with_field(sass_with_field(sass_decode(parts[2]), 24, 8, address), 32, 8, one);
	insns[n++] = sass_with_field(sass_with_field(sass_decode(parts[3]), 24, 8, address), 32, 8, two);
	insns[n++] = sass_decode(parts[4]);
	return n;
}

/*
 * Returns the index of the next instruction, or UINT32_MAX at an exit. The kernel's predicates are random. A call
 * returns to its caller; other indirect branches lead to any possible target.
 */
static uint32_t next_insn(const struct sass_code *code, const struct sass_patched_code *g, uint32_t i, uint32_t *caller)
{
	struct sass_insn insn = g->insns[i];
	enum sass_class class = sass_op(insn)->class;
	int64_t to = i + 1 + sass_branch(code->arch, insn) / SASS_INSN;
	bool goes = sass_is_unconditional(insn) || random_below(2);

	if (class == SASS_INDIRECT && goes)
		return *caller;
	if (sass_opcode(insn) == SASS_OP_CALL_REL && to >= 0 && to < g->n) {
		*caller = i + 1;
		return to;
	}
	if ((sass_opcode(insn) & 0x1ff) == (SASS_OP_BRA & 0x1ff) && goes)
		return to >= 0 && to < g->n && to != i ? to : UINT32_MAX;
	return class == SASS_EXIT && goes ? UINT32_MAX : i + 1;
}

/* Follows a random path through the kernel's code. Returns true if the path reaches the exit probe. */
static bool reaches_exit(const struct sass_code *code, const struct sass_patched_code *g, struct adversary *a)
{
	uint32_t caller = UINT32_MAX, i = 0;

	for (uint32_t steps = 0; steps < STEPS && i < g->n && i != g->exit; steps++) {
		settle(a, sass_wait_mask(g->insns[i]), NULL);
		if (sass_field(g->insns[i], 12, 4) == SASS_PT)
			rely(a, g->insns[i], NULL);
		issue(a, g->insns[i]);
		i = next_insn(code, g, i, &caller);
	}
	return i == g->exit;
}

static bool exits_right(const struct sass_patched_code *g, struct adversary *a)
{
	struct run run = { .barrier = NO_BARRIER, .adversary = a };

	random_thread(&run.t);
	for (uint32_t i = g->exit; i < g->n && sass_opcode(g->insns[i]) != SASS_OP_EXIT; i++) {
		land_late(&run, g->insns[i], false);
		if (guard_of(g->insns[i], &run.t))
			compute(&run, g->insns[i]);
	}
	return !run.wrong && !a->wrong && run.effects == 3 && run.heard[0].address == 0x200000001000 &&
	       run.heard[0].value == 0x400000003000 && run.heard[0].bytes == 0x5000 && run.heard[0].place == 0x6000;
}

static uint32_t walked, exits, came, landed, unread;

/*
 * Counts a kernel that the target cannot read, which has no twin. The only accepted reason is the call of a driver
 * function that ptxas 13 emits for bulk copies on sm_120.
 */
static void expect_driver_call(const struct sass_cubin *app, const struct sass_kernel *k, const struct gpubpf_diag *diag)
{
	unread++;
	if (!strstr(diag->what, "it calls __cuda_syscall_"))
		ok(false, "%s is read: %s", app->symbols[k->symbol].name, diag->what);
}

static void try_exits(const struct sass_cubin *app, const struct sass_kernel *k)
{
	const struct sass_insn_probes none = { 0 };
	struct sass_patched_code g = { 0 };
	struct sass_insn insns[16];
	struct sass_probe probe = { .insns = insns, .regs = PROBE_REGS, .predicates = true };
	struct sass_code code;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (sass_code_read(app, k, &code, &diag) < 0) {
		expect_driver_call(app, k, &diag);
		return;
	}
	walked += WALKS;
	probe.n = make_exit_probe(insns);
	if (code.nexits && !sass_patch_kernel(&code, k->regs, NULL, &probe, &none, &g, &diag) && !g.base)
		for (int walks = 0; walks < WALKS; walks++) {
			struct adversary a = { .arch = code.arch };
			bool good = !reaches_exit(&code, &g, &a) || (came++, exits_right(&g, &a));

			exits += good;
			landed += a.landed;
			if (!good)
				note("%s: results of the kernel land in an exit's probe", app->symbols[k->symbol].name);
		}
	else
		exits += WALKS;
	sass_patched_code_finish(&g);
	sass_code_finish(&code);
}

#endif
