/* SPDX-License-Identifier: Apache-2.0 */
/* Emulates one thread in the stub of a probe, and checks what it does. */
#ifndef GPUBPF_TESTS_CUDA_SASS_STUB_H
#define GPUBPF_TESTS_CUDA_SASS_STUB_H

#include <string.h>

#include "backends/cuda/sass/probe/place_values.h"
#include "backends/cuda/sass/rewrite/patch.h"
#include "backends/cuda/sass/isa/operands.h"
#include "tests/backends/cuda/case.h"
#include "tests/tap.h"
#include "tests/backends/cuda/sass/bodies.h"
#include "tests/backends/cuda/sass/told.h"
#include "tests/backends/cuda/sass/adversary.h"
#include "tests/backends/cuda/sass/isa/insn.h"

#define NO_BARRIER 16

struct run {
	struct thread t;
	uint64_t old;              /* value that the last atomic returned */
	uint32_t own;              /* how often the stub executed the kernel's instruction */
	uint32_t barrier;          /* the instruction at which lanes that entered together reconverge */
	uint32_t met;
	unsigned used;             /* mask of the convergence barriers that the kernel uses */
	uint32_t effects;
	struct adversary *adversary; /* NULL: no operation is in flight */
	struct heard {             /* context values that a body received */
		uint32_t place, bytes;
		uint64_t address, value;
	} heard[2];
	bool wrong;
};

static bool guard_of(struct sass_insn insn, const struct thread *t)
{
	return t->p[sass_field(insn, 12, 3)] != sass_field(insn, 15, 1);
}

static bool input(struct sass_insn insn, const struct thread *t, unsigned at)
{
	return t->p[sass_field(insn, at, 3)] != sass_field(insn, at + 3, 1);
}

#define LANE 0x20

/*
 * Returns the value of a uniform predicate that a branch reads. The emulator keeps these predicates in the lowest bits
 * of a uniform register.
 */
static bool warps(struct sass_insn insn, const struct thread *t, unsigned at)
{
	unsigned p = sass_field(insn, at, 3);

	return (p == 7 || t->u[62] >> p & 1) != sass_field(insn, at + 3, 1);
}

static void red(struct run *run, struct sass_insn insn)
{
	uint32_t value = sass_field(insn, 32, 8);
	struct heard *heard = &run->heard[run->effects / 3 % 2];

	heard->address = pair(run->t.r, sass_field(insn, 24, 8), 255);
	switch (run->effects++ % 3) {
	case 0:
		heard->value = pair(run->t.r, value, 255);
		break;
	case 1:
		heard->bytes = run->t.r[value];
		break;
	default:
		heard->place = run->t.r[value];
	}
}

static void compute(struct run *run, struct sass_insn insn)
{
	uint32_t to = sass_field(insn, 16, 8), a = sass_field(insn, 24, 8), b = sass_field(insn, 32, 8), c = sass_field(insn, 64, 8);
	struct thread *t = &run->t;
	uint64_t wide;

	switch (sass_opcode(insn)) {
	case 0x202:
		t->r[to] = t->r[b];
		break;
	case 0xc02:
		t->r[to] = t->u[b & 63];
		break;
	case 0x802:
		t->r[to] = sass_immediate(insn);
		break;
	case 0x212:
		t->r[to] = t->r[a] & t->r[b];
		break;
	case 0x806: /* VOTE: only this lane is active */
		t->r[to] = input(insn, t, 87) ? LANE : 0;
		break;
	case 0x812:
		t->r[to] = t->r[a] & sass_immediate(insn);
		break;
	case 0x824:
		t->r[to] = t->r[a] * (uint32_t)(sass_immediate(insn)) + t->r[c];
		break;
	case 0x810:
		t->r[to] = t->r[a] + (uint32_t)(sass_immediate(insn)) + t->r[c];
		break;
	case 0x825:
		wide = (int64_t)(int32_t)t->r[a] * (int32_t)(sass_immediate(insn)) + pair(t->r, c, 255);
		t->r[to] = wide;
		t->r[to + 1] = wide >> 32;
		break;
	case 0x803:
		for (unsigned p = t->r[to] = 0; p < 7; p++)
			t->r[to] |= t->p[p] << p;
		break;
	case 0x804:
		for (unsigned p = 0; p < 7; p++)
			t->p[p] = t->r[a] >> p & 1;
		break;
	case 0x81c: /* the third source may be a uniform predicate */
		t->p[sass_field(insn, 81, 3)] = input(insn, t, 87) && input(insn, t, 77) &&
						(sass_field(insn, 67, 1) ? warps(insn, t, 68) : input(insn, t, 68));
		break;
	case 0x20c:
		t->p[sass_field(insn, 81, 3)] = t->r[a] != t->r[b];
		break;
	case 0x98e:
		red(run, insn);
		break;
	case 0x945:
		run->wrong |= run->barrier != NO_BARRIER || run->used >> sass_field(insn, 16, 4) & 1;
		run->barrier = sass_field(insn, 16, 4);
		break;
	case 0x941:
		run->met++;
		run->wrong |= run->barrier != sass_field(insn, 16, 4);
		run->barrier = NO_BARRIER;
		break;
	default:
		run->wrong |= sass_opcode(insn) != SASS_OP_NOP;
	}
	t->r[255] = 0;
	t->p[7] = true;
}

static bool is_atomic(struct sass_insn insn)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	return operation == 0x1a8 || operation == 0x1a9 || operation == 0x1a3 || operation == 0x18e || operation == 0x1a6 ||
	       operation == 0x18c || operation == 0x18d || operation == 0x18a || operation == 0x18b || operation == 0x1a2;
}

/* Is it a bulk copy, or an operation on a barrier in memory? The context reports no value for these atomics. */
static bool is_unreported_atomic(struct sass_insn insn)
{
	static const uint16_t operations[] = { 0x1a7, 0x1b2, 0x1b0, 0x1b6, 0x1bb };

	return is_one_of(insn, operations, sizeof(operations) / sizeof(*operations));
}

/*
 * Executes the kernel's instruction. An atomic with a result returns 1000 in its first register and 2000 in its second.
 */
static void carry_out(struct run *run, struct sass_insn own)
{
	uint32_t to = sass_field(own, 16, 8), operation = sass_opcode(own) & 0x1ff;

	run->own++;
	if (!is_atomic(own) || operation == 0x18e || operation == 0x1a6 || to == 255 || !guard_of(own, &run->t))
		return;
	run->t.r[to] = 1000;
	run->t.r[to + 1] = 2000;
	run->old = 1000 | 2000ull << 32;
}

/* Is insn the kernel's instruction `own`, apart from reuse flags? A relative branch must have the same target. */
static bool is_own(const struct sass_code *code, struct sass_insn own, uint32_t at, struct sass_insn insn, uint32_t i)
{
	uint32_t opcode = sass_opcode(own);
	bool calls = opcode == 0x944 || opcode == 0x344 || opcode == 0x950;
	bool far = opcode == 0x947 || opcode == 0x547 || opcode == 0x945 || opcode == 0x949 || opcode == 0x958 || calls;

	if (far && sass_branch(code->arch, own) + (int64_t)at * 16 != sass_branch(code->arch, insn) + (int64_t)i * 16)
		return false;
	if (far) {
		own = sass_with_branch(code->arch, own, 0);
		insn = sass_with_branch(code->arch, insn, 0);
	}
	return sass_is_same(insn, sass_with_reuse(own, 0));
}

/*
 * Does instruction i branch to a stub that reads the constant, and does that stub branch back? (constants.c runs such a
 * stub.)
 */
static bool leads_there_and_back(const struct sass_code *code, const struct sass_patched_code *g, uint32_t i)
{
	uint32_t to = i + 1 + sass_branch(code->arch, g->insns[i]) / SASS_INSN;

	if (sass_opcode(g->insns[i]) != SASS_OP_BRA || !sass_is_unconditional(g->insns[i]) || to <= i)
		return false;
	while (to < g->n && sass_opcode(g->insns[to]) != SASS_OP_BRA)
		to++;
	return to < g->n && to + 1 + sass_branch(code->arch, g->insns[to]) / SASS_INSN == i + 1;
}

/* Completes results of the kernel that are in flight, as late as this instruction allows. */
static void land_late(struct run *run, struct sass_insn insn, bool own)
{
	if (!run->adversary)
		return;
	settle(run->adversary, sass_wait_mask(insn), &run->t);
	if (own)
		rely(run->adversary, insn, &run->t);
	else
		issue_probe_insn(run->adversary, insn, &run->t);
}

/* Runs the stub of the instruction at `at`, until control returns to the kernel. */
static void walk(const struct sass_code *code, const struct sass_patched_code *g, uint32_t at, struct run *run)
{
	struct sass_insn own = sass_code_at(code, at);
	uint32_t i = at + 1 + sass_branch(code->arch, g->insns[at]) / SASS_INSN;

	for (uint32_t steps = 0; i < g->n && i != at + 1 && steps < 200; steps++) {
		struct sass_insn insn = g->insns[i];

		if (sass_opcode(insn) != SASS_OP_BRA)
			land_late(run, insn, !run->own && is_own(code, own, at, insn, i));
		if (!run->own && reads_variable(own) && leads_there_and_back(code, g, i)) {
			run->own++;
			i++;
		} else if (!run->own && is_own(code, own, at, insn, i)) {
			carry_out(run, own);
			i++;
		} else if (sass_opcode(insn) == SASS_OP_BRA) {
			i += 1 + (guard_of(insn, &run->t) && input(insn, &run->t, 87) ? sass_branch(code->arch, insn) / SASS_INSN : 0);
		} else {
			if (guard_of(insn, &run->t))
				compute(run, insn);
			i++;
		}
	}
	run->wrong |= i != at + 1;
	if (run->adversary)
		land_all(run->adversary, &run->t);
}

/*
 * Issues the kernel's instructions from the last branch target before the place. Their results are in flight when the
 * stub starts, unless the instruction at the place waits for them.
 */
static void issue_before(struct adversary *a, const struct sass_code *code, const struct sass_patched_code *g, uint32_t at)
{
	uint32_t from = at;

	while (from > code->begin && at - from < MAX_FLIGHTS && !code->entered[from] &&
	       sass_op_find(sass_opcode(sass_code_at(code, from - 1)))->class != SASS_BRANCH)
		from--;
	for (; from < at; from++) {
		struct sass_insn insn = g->insns[g->location[from]];

		settle(a, sass_wait_mask(insn), NULL);
		if (sass_field(insn, 12, 4) == SASS_PT)
			rely(a, insn, NULL);
		issue(a, insn);
	}
	settle(a, sass_wait_mask(sass_code_at(code, at)), NULL);
	rely(a, sass_code_at(code, at), NULL);
}

static void random_thread(struct thread *t)
{
	for (unsigned i = 0; i < 255; i++)
		t->r[i] = random_below(UINT32_MAX);
	for (unsigned i = 0; i < 63; i++)
		t->u[i] = random_below(UINT32_MAX);
	t->r[255] = t->u[63] = 0;
	for (unsigned i = 0; i < 7; i++)
		t->p[i] = random_below(2);
	t->p[7] = true;
}

/*
 * Must the probe at the place run in this thread? At a branch it runs in every thread, and also at an instruction that
 * never executes (guard !PT), where a line can begin. At an EXIT both predicates of the instruction must be true. Both
 * must also be true for the load of a copy (LDGSTS): without the second predicate the copy stores zeros instead of
 * loaded data. Otherwise the guard predicate must be true.
 */
static bool applies_to_thread(struct sass_insn own, const struct sass_place *place, const struct thread *t)
{
	uint32_t opcode = sass_opcode(own);
	bool copies = is_copy(own) && gpubpf_place_kind(place->kind)->spaces;

	if (opcode == 0x947 || opcode == 0x547 || sass_field(own, 12, 4) == 15)
		return true;
	if (opcode == 0x94d || (copies && place->access.access != GPUBPF_STORE))
		return guard_of(own, t) && input(own, t, 87);
	return guard_of(own, t);
}

static uint64_t named(const struct sass_arch *arch, struct sass_insn own, unsigned i, const struct thread *t)
{
	struct sass_operand o[SASS_OPERANDS];
	unsigned n = sass_operands_named(arch, own, o);
	const uint32_t *regs = i < n && o[i].uniform ? t->u : t->r;

	if (i >= n || !o[i].n)
		return 0;
	return regs[o[i].reg] | (o[i].n > 1 ? (uint64_t)regs[o[i].reg + 1] << 32 : 0);
}

/* Did the body receive the right context of a branch, a line or any instruction? */
static bool has_right_context(const struct sass_arch *arch, const struct heard *run, const struct sass_insn_probe *around, struct sass_insn own, const struct thread *before)
{
	bool taken = guard_of(own, before) && input(own, before, 87) && (sass_opcode(own) != 0x547 || warps(own, before, 24));
	uint64_t id = around->place.id;

	switch (around->place.kind) {
	case GPUBPF_SITE_BRANCH:
		return run->address == (taken ? LANE : 0) && run->value == LANE && run->place == taken && run->bytes == 1;
	case GPUBPF_SITE_LINE:
		return run->address == around->line && run->value == id && run->place == id && run->bytes == 1;
	default:
		return run->address == named(arch, own, 0, before) && run->value == named(arch, own, 1, before) &&
		       run->place == (uint32_t)named(arch, own, 2, before) && run->bytes == 1;
	}
}

/* Returns the address space of the access, or GENERIC if it may differ between lanes. */
static uint32_t space_of(const struct sass_access *a)
{
	bool one = a->spaces && !(a->spaces & (a->spaces - 1));

	return one ? __builtin_ctz(a->spaces) : GPUBPF_GENERIC;
}

/* Returns how many earlier bodies at the same instruction run in the thread. */
static uint32_t heard_before(const struct sass_insn_probes *all, uint32_t i, struct sass_insn own, const struct thread *t)
{
	uint32_t n = 0;

	for (uint32_t k = i; k-- > 0 && all->list[k].place.at == all->list[i].place.at;)
		n += applies_to_thread(own, &all->list[k].place, t);
	return n;
}

static uint32_t last_at(const struct sass_insn_probes *all, uint32_t i)
{
	while (i + 1 < all->n && all->list[i + 1].place.at == all->list[i].place.at)
		i++;
	return i;
}

static uint32_t bodies_at(const struct sass_insn_probes *all, uint32_t i)
{
	uint32_t last = last_at(all, i), n = 1;

	while (last >= n && all->list[last - n].place.at == all->list[i].place.at)
		n++;
	return n;
}

static uint64_t expected_address(const struct sass_code *code, const struct sass_insn_probe *around, struct sass_insn own, const struct thread *t)
{
	return is_copy(own) && around->place.access.access == GPUBPF_STORE ? copied_to(own, t) : address_of(code, own, t);
}

static bool runs_right(const struct sass_code *code, const struct sass_patched_code *g, const struct sass_insn_probes *all, uint32_t i, uint32_t regs)
{
	const struct sass_insn_probe *around = &all->list[i];
	struct sass_insn own = sass_code_at(code, around->place.at);
	struct thread before, after;
	struct run run = { .used = code->barriers_used, .barrier = NO_BARRIER };
	struct adversary adversary = { .arch = code->arch };
	uint32_t last = last_at(all, i);
	struct heard *heard;
	bool meant;

	random_thread(&before);
	after = run.t = before;
	/* no adversary for kernels that read __constant__ variables; constants.c runs the stubs of these kernels */
	run.adversary = code->nconstants ? NULL : &adversary;
	if (run.adversary)
		issue_before(&adversary, code, g, around->place.at);
	adversary.kernel = &after;
	walk(code, g, around->place.at, &run);
	meant = applies_to_thread(own, &around->place, &before);
	if (run.old) {
		after.r[sass_field(own, 16, 8)] = 1000;
		after.r[sass_field(own, 16, 8) + 1] = 2000;
	}
	if (run.wrong || adversary.wrong || run.own != 1 || memcmp(after.r, run.t.r, regs * sizeof(*after.r)) || memcmp(after.p, run.t.p, 8) ||
	    run.effects != 3 * (heard_before(all, last, own, &before) + applies_to_thread(own, &all->list[last].place, &before)) ||
	    run.met != bodies_at(all, i) * around->body->has_branches)
		return false;
	heard = &run.heard[heard_before(all, i, own, &before) % 2];
	if (around->place.kind == GPUBPF_SITE_ATOMIC && meant)
		return heard->address == address_of(code, own, &before) && heard->bytes == around->place.access.op &&
		       heard->value == (around->place.access.bytes == 4 ? run.old & UINT32_MAX : run.old) &&
		       heard->place == before.r[sass_field(own, 32, 8)];
	if (around->place.kind == GPUBPF_SITE_BRANCH || around->place.kind == GPUBPF_SITE_INSN || around->place.kind == GPUBPF_SITE_LINE)
		return !meant || has_right_context(code->arch, heard, around, own, &before);
	if (!gpubpf_place_kind(around->place.kind)->spaces && meant)
		return heard->value == sass_field(own, 54, 4) && heard->bytes == GPUBPF_BARRIER_BLOCK && heard->place == around->place.id;
	return !meant || (heard->address == expected_address(code, around, own, &before) && heard->value == value_of(own, &before, heard->bytes) &&
			  heard->place == (reads_address(around->place.kind) ? around->place.id : space_of(&around->place.access)) &&
			  heard->bytes == around->place.access.bytes);
}

#endif
