/* SPDX-License-Identifier: Apache-2.0 */
/*
 * around [sm_FIRST] FILE...: probes at memory accesses, atomics, barriers, branches, lines or any instructions. FILEs are cubins,
 * or a .cu that nvcc compiles for each architecture from FIRST on. The probes' bodies are hand-made and need no assembler.
 *   - The lister finds as many places as the code has such instructions.
 *   - An emulator runs each stub on random registers. The stub passes the instruction's address and value, has effects for
 *     exactly the instruction's lanes, executes the instruction once and unchanged, and preserves the kernel's registers and
 *     predicates.
 *   - The same holds for a body with branches and a loop. Lanes that entered together reconverge after it once, also where two
 *     predicates exclude lanes: the test adds a second predicate, which compilers seldom emit, to every other guarded EXIT.
 *   - Results that the kernel has in flight at the start of a stub land as late as possible (adversary.h), and none is lost.
 *   - An exit probe uses registers of the kernel; after random paths of the kernel it reads the values that it wrote, however
 *     late the kernel's results land.
 *   - The checker refuses each changed stub, except one whose probe has the kernel's own NOP.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/check/check.h"
#include "backends/cuda/sass/probe/place_values.h"
#include "backends/cuda/sass/rewrite/patch.h"
#include "backends/cuda/sass/analysis/live.h"
#include "backends/cuda/sass/isa/operands.h"
#include "backends/cuda/sass/rewrite/twin.h"
#include "core/model/diag.h"
#include "tests/cuda/case.h"
#include "tests/tap.h"
#include "bodies.h"
#include "each_cubin.h"
#include "told.h"
#include "adversary.h"

/* -- a thread in a stub -- */

#define NO_BARRIER 16

struct run {
	struct thread t;
	uint64_t old;              /* result of the last atomic */
	uint32_t own;              /* how often the stub executed the kernel's instruction */
	uint32_t barrier;          /* where lanes that entered together will reconverge; number of reconvergences */
	uint32_t met;
	unsigned used;             /* barriers that the kernel uses */
	uint32_t effects;
	struct adversary *adversary; /* NULL: nothing is in flight */
	struct heard {             /* values that a body received */
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

/* Uniform predicates that a branch reads: the lowest bits of a uniform register stand for them. */
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
		t->r[to] = insn.lo >> 32;
		break;
	case 0x212:
		t->r[to] = t->r[a] & t->r[b];
		break;
	case 0x806: /* in this lane only */
		t->r[to] = input(insn, t, 87) ? LANE : 0;
		break;
	case 0x812:
		t->r[to] = t->r[a] & insn.lo >> 32;
		break;
	case 0x824:
		t->r[to] = t->r[a] * (uint32_t)(insn.lo >> 32) + t->r[c];
		break;
	case 0x810:
		t->r[to] = t->r[a] + (uint32_t)(insn.lo >> 32) + t->r[c];
		break;
	case 0x825:
		wide = (int64_t)(int32_t)t->r[a] * (int32_t)(insn.lo >> 32) + pair(t->r, c, 255);
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
	case 0x81c: /* its third source may be uniform */
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

/* Barriers in memory and bulk copies: each is an atomic whose value no context reports. */
static bool is_unreported_atomic(struct sass_insn insn)
{
	static const uint16_t operations[] = { 0x1a7, 0x1b2, 0x1b0, 0x1b6, 0x1bb };

	return is_one_of(insn, operations, sizeof(operations) / sizeof(*operations));
}

/* Executes the kernel's instruction: an atomic with a result returns 1000 and 2000. */
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

/* Is it the kernel's instruction, except for reuse flags? A relative branch must have the same target. */
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
	return insn.lo == own.lo && insn.hi == (own.hi & ~(0xfull << 58));
}

/* Branches to the stub that reads the constant and back (tests/cuda/sass/constants.c runs that stub). */
static bool leads_there_and_back(const struct sass_code *code, const struct sass_patched_code *g, uint32_t i)
{
	uint32_t to = i + 1 + sass_branch(code->arch, g->insns[i]) / SASS_INSN;

	if (sass_opcode(g->insns[i]) != SASS_OP_BRA || !sass_is_unconditional(g->insns[i]) || to <= i)
		return false;
	while (to < g->n && sass_opcode(g->insns[to]) != SASS_OP_BRA)
		to++;
	return to < g->n && to + 1 + sass_branch(code->arch, g->insns[to]) / SASS_INSN == i + 1;
}

/* Results of the kernel land as late as the instruction allows. */
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

/* Runs the stub, from the branch at the instruction until control returns to the kernel. */
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

/* Issues the kernel's instructions between the last branch target and the place; their results are in
 * flight when the stub starts, as is everything not complete when the instruction itself issues. */
static void issue_before(struct adversary *a, const struct sass_code *code, const struct sass_patched_code *g, uint32_t at)
{
	uint32_t from = at;

	while (from > code->begin && at - from < MAX_FLIGHTS && !code->entered[from] &&
	       sass_op_find(sass_opcode(sass_code_at(code, from - 1)))->class != SASS_BRANCH)
		from--;
	for (; from < at; from++) {
		struct sass_insn insn = g->insns[g->stands[from]];

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

/* Does the place apply to the thread? Every thread executes a branch, and a line that starts with a never-executed
 * instruction. An exit needs both predicates, as does a copying load: without the second, the copy stores zeros. */
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

/* Checks the context of branches, lines and any instructions. */
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

/* The instruction's space; GENERIC if it differs between lanes. */
static uint32_t space_of(const struct sass_access *a)
{
	bool one = a->spaces && !(a->spaces & (a->spaces - 1));

	return one ? __builtin_ctz(a->spaces) : GPUBPF_GENERIC;
}

/* How many earlier bodies at the same instruction apply to the thread? */
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
	run.adversary = code->nconstants ? NULL : &adversary; /* constants.c runs the stubs of variables */
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
	    run.met != bodies_at(all, i) * around->body->wanders)
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

/* -- a kernel -- */

struct kernel_probes {
	const struct sass_code *code;
	struct sass_insn_probes around;
	struct sass_body bodies[2];
	enum gpubpf_site kind;
	bool has_unplaced;
	uint32_t met;
};

/* Samples the places of lines and of any instructions, because there are many. */
static bool is_skipped(const struct kernel_probes *m, const struct sass_place *place)
{
	struct sass_insn insn = sass_code_at(m->code, place->at);
	bool many = m->kind == GPUBPF_SITE_INSN || m->kind == GPUBPF_SITE_LINE;
	bool rare = place->second != SASS_PT && place->guard != SASS_PT;

	return many && !rare && (place->why || !sass_operands_known(m->code->arch, insn) || sass_opcode(insn) == 0x918 || random_below(16));
}

static int collect_place(void *arg, const struct sass_place *place)
{
	struct kernel_probes *m = arg;

	m->met++;
	if (is_skipped(m, place))
		return 0;
	m->has_unplaced |= place->why != NULL || (gpubpf_place_kind(m->kind)->spaces && place->access.near && reads_address(m->kind)) ||
		     (!reads_address(m->kind) && is_generic(sass_code_at(m->code, place->at)));
	m->around.list = realloc(m->around.list, (m->around.n + 1) * sizeof(*m->around.list));
	if (!m->around.list)
		abort();
	m->around.list[m->around.n++] = (struct sass_insn_probe){
		*place, place->line, &m->bodies[sass_insn_probe_is_guarded(place)] };
	return 0;
}

static uint32_t listed, stubs, twice, elsewhere, right, refused, changed, seen;

static bool passes(const struct sass_cubin *app, const struct sass_kernel *k, const struct kernel_probes *m, const struct sass_twin *twin)
{
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	return !sass_check(app, k, m->code, twin, &(struct sass_twin_contents){ 0 }, &m->around, &diag);
}

static uint32_t next_bssy(const uint8_t *text, uint32_t i, uint32_t n)
{
	while (i < n && sass_opcode(sass_read(text + i * SASS_INSN)) != SASS_OP_BSSY)
		i++;
	return i;
}

/* Lanes of one stub's probe must not reconverge in another's stub: no branch of one stub leads into
 * another. */
static void reconverge_elsewhere(const struct sass_cubin *app, const struct sass_kernel *k, const struct kernel_probes *m, struct sass_twin *twin,
				 uint8_t *text, uint32_t first, uint32_t n)
{
	struct sass_insn none = sass_nop(0, SASS_STALL_MAX), parts, meets;
	uint32_t from = next_bssy(text, first, n), other = next_bssy(text, from + 1, n), meeting, distance;

	while (other < n && sass_opcode(sass_read(text + (from + 1) * SASS_INSN)) == SASS_OP_BRA) {
		from = other;
		other = next_bssy(text, from + 1, n);
	}
	if (other >= n)
		return;
	parts = sass_read(text + from * SASS_INSN);
	meeting = from + sass_branch(m->code->arch, parts) / SASS_INSN;
	meets = sass_read(text + meeting * SASS_INSN);
	distance = other - from + sass_branch(m->code->arch, sass_read(text + other * SASS_INSN)) / SASS_INSN;
	memcpy(text + meeting * SASS_INSN, &none, SASS_INSN);
	none = sass_with_branch(m->code->arch, parts, (int64_t)distance * SASS_INSN);
	memcpy(text + from * SASS_INSN, &none, SASS_INSN);
	elsewhere++;
	changed++;
	seen += !passes(app, k, m, twin);
	memcpy(text + from * SASS_INSN, &parts, SASS_INSN);
	memcpy(text + meeting * SASS_INSN, &meets, SASS_INSN);
}

/* Replaces each instruction of the stubs, except pure waits, by a forbidden one. */
static void change(const struct sass_cubin *app, const struct sass_kernel *k, const struct kernel_probes *m, struct sass_twin *twin)
{
	static const struct sass_insn bad[] = {
		{ 0x0000000000007802, 0x000fe20000000f00 }, /* MOV R0, 0 */
		{ 0x0000000000047882, 0x000fe20000000000 }, /* UMOV UR4, 0 */
		{ 0x0000000000007348, 0x000fe20003800000 }, /* WARPSYNC R0 */
		{ 0x0000000000007947, 0x000fea0003800000 }, /* BRA to the next instruction */
	};
	struct sass_cubin made;
	struct gpubpf_diag diag;
	uint32_t first = UINT32_MAX, n;
	uint8_t *text;

	gpubpf_diag_init(&diag);
	if (sass_cubin_open(twin->cubin.data, twin->cubin.size, &made, &diag) < 0)
		abort();
	text = (uint8_t *)made.sections[made.kernels[0].text].data;
	n = made.sections[made.kernels[0].text].size / SASS_INSN;
	for (uint32_t i = 0; i < m->around.n; i++) {
		uint32_t at = m->around.list[i].place.at;
		uint32_t to = at + 1 + sass_branch(m->code->arch, sass_read(text + at * SASS_INSN)) / SASS_INSN;

		first = to < first ? to : first;
	}
	for (uint32_t i = first; i + 1 < n; i++) {
		struct sass_insn was = sass_read(text + i * SASS_INSN);

		if (sass_opcode(was) == SASS_OP_NOP)
			continue;
		if (sass_opcode(was) == SASS_OP_BRA && sass_branch(m->code->arch, was) == -SASS_INSN) /* end of section */
			break;
		for (size_t b = random_below(2); b < sizeof(bad) / sizeof(*bad); b += 2) {
			if (m->bodies[0].wanders && sass_opcode(bad[b]) == SASS_OP_BRA) /* allowed here: this branch has no effect */
				continue;
			memcpy(text + i * SASS_INSN, &bad[b], SASS_INSN);
			changed++;
			seen += !passes(app, k, m, twin);
		}
		if (sass_opcode(was) == 0x803 || sass_opcode(was) == 0x804 || sass_opcode(was) == 0x945 || sass_opcode(was) == 0x941) {
			/* predicates are not saved or not restored; convergence is set up without need, or missing */
			struct sass_insn none = sass_nop(0, SASS_STALL_MAX);

			memcpy(text + i * SASS_INSN, &none, SASS_INSN);
			changed++;
			seen += !passes(app, k, m, twin);
		}
		memcpy(text + i * SASS_INSN, &was, SASS_INSN);
	}
	reconverge_elsewhere(app, k, m, twin, text, first, n);
	sass_cubin_finish(&made);
}

static void graft(const struct sass_cubin *app, const struct sass_kernel *k, struct kernel_probes *m)
{
	static struct sass_section nothing;
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	struct sass_patched_code grafted = { 0 };
	struct sass_twin twin = { 0 };
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	err = sass_patch_kernel(m->code, k->regs, NULL, NULL, &m->around, &grafted, &diag);
	if (m->has_unplaced || m->code->calls || m->code->maxreg) {
		refused++;
		if (!err || !diag.what[0])
			ok(false, "%s is refused, and says why", app->symbols[k->symbol].name);
	} else if (err < 0) {
		ok(false, "%s: %s", app->symbols[k->symbol].name, diag.what);
	} else {
		for (uint32_t i = 0; i < m->around.n; i++, stubs++) {
			const struct sass_place *place = &m->around.list[i].place;

			twice += m->bodies[0].wanders && place->guard != SASS_PT && place->second != SASS_PT;
			for (int again = 0; again < 4; again++)
				right += runs_right(m->code, &grafted, &m->around, i, k->regs);
		}
		err = sass_twin_write(app, k, m->code, &probes, &grafted, &twin, &diag);
		if (err < 0 || !passes(app, k, m, &twin))
			ok(false, "%s has a twin that passes: %s", app->symbols[k->symbol].name, diag.what);
		else if (m->around.n && (!changed || random_below(4) == 0))
			change(app, k, m, &twin);
	}
	sass_twin_finish(&twin);
	sass_patched_code_finish(&grafted);
}

/* -- an exit's probe among the kernel's registers -- */

#define PROBE_REGS 64              /* too many to fit above the kernel's registers without cost */
#define STEPS 20000
#define WALKS 16

/* MOV of an address, a value and two numbers to random registers; ISETP.NE P0; @P0 RED.64, RED, RED; EXIT. */
static uint32_t make_exit_probe(struct sass_insn insns[16])
{
	static const struct sass_insn parts[] = {
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
	insns[n++] = sass_with_field(parts[0], 24, 8, one);
	insns[n++] = sass_with_field(sass_with_field(parts[1], 24, 8, address), 32, 8, value);
	insns[n++] = sass_with_field(sass_with_field(parts[2], 24, 8, address), 32, 8, one);
	insns[n++] = sass_with_field(sass_with_field(parts[3], 24, 8, address), 32, 8, two);
	insns[n++] = parts[4];
	return n;
}

/* Returns the next instruction; the kernel's predicates decide at random. A call returns to its
 * caller, other indirect jumps lead to any possible target. UINT32_MAX: none. */
static uint32_t next_insn(const struct sass_code *code, const struct sass_patched_code *g, uint32_t i, uint32_t *caller)
{
	struct sass_insn insn = g->insns[i];
	enum sass_class class = sass_op_find(sass_opcode(insn))->class;
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

/* Follows a random path through the kernel's code; true: it reached the exit's probe. */
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

/* A kernel with unreadable code has no twin and so no exit probe. The only accepted reason is a
 * call of a driver function, which ptxas 13 emits for bulk copies on sm_120. */
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

/* Does the opcode imply a place of this kind? */
static bool is_expected(struct sass_insn insn, enum gpubpf_site kind)
{
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	if (sass_field(insn, 12, 4) == 15)
		return false;
	if (kind == GPUBPF_SITE_ATOMIC)
		return is_atomic(insn) || is_unreported_atomic(insn);
	if (kind == GPUBPF_SITE_BRANCH)
		return (sass_opcode(insn) == 0x947 && !sass_is_unconditional(insn) && !sass_field(insn, 91, 14)) || sass_opcode(insn) == 0x547 ||
		       sass_opcode(insn) == 0x949 || sass_opcode(insn) == 0x958;
	if (kind == GPUBPF_SITE_INSN)
		return true;
	if (kind == GPUBPF_SITE_MEM || kind == GPUBPF_SITE_MEM_BEFORE || kind == GPUBPF_SITE_MEM_CAPTURE)
		return is_global(insn) || is_unplaced_access(insn);
	if (kind == GPUBPF_SITE_MEM_SHARED)
		return is_shared(insn) || is_generic(insn) || is_copy(insn);
	if (kind == GPUBPF_SITE_MEM_LOCAL)
		return is_local(insn) || is_generic(insn);
	if (kind == GPUBPF_SITE_MEM_CONST)
		return reads_variable(insn);
	if (gpubpf_place_kind(kind)->spaces)
		return is_global(insn) || is_unplaced_access(insn) || is_near(insn) || is_texture(insn) || reads_variable(insn);
	return (operation == 0x11d && sass_field(insn, 77, 2) != 1) || operation == 0x1a7;
}

/* Does it imply two? */
static bool has_two_places(struct sass_insn insn, enum gpubpf_site kind)
{
	return is_copy(insn) && (kind == GPUBPF_SITE_MEM_ALL || kind == GPUBPF_SITE_MEM_BEFORE_ALL);
}

/* Number of instructions before the padding. */
static uint32_t end_of(const struct sass_code *code)
{
	uint32_t n = code->n;

	while (n && (sass_opcode(sass_code_at(code, n - 1)) == 0x918 ||
		     (sass_opcode(sass_code_at(code, n - 1)) == 0x947 && sass_branch(code->arch, sass_code_at(code, n - 1)) == -16)))
		n--;
	return n;
}

static struct gpubpf_lines lines;          /* line table of the current file */

static void try_kernel(const struct sass_cubin *app, const struct sass_kernel *k, enum gpubpf_site kind, bool wanders)
{
	uint32_t expected = 0;
	struct sass_probe probe;
	struct sass_code code;
	struct kernel_probes m = { .code = &code, .kind = kind };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (sass_code_read(app, k, &code, &diag) < 0)
		return;
	for (uint32_t i = code.begin, end = end_of(&code); i < end; i++)
		expected += is_expected(sass_code_at(&code, i), kind) * (has_two_places(sass_code_at(&code, i), kind) ? 2 : 1);
	make_probe(&probe, code.arch, kind, wanders);
	for (int guarded = 0; guarded < 2; guarded++)
		if (sass_body_make(code.arch, &probe, guarded, &m.bodies[guarded], &diag) < 0)
			ok(false, "%s", diag.what);
	sass_places_each(&code, 1u << m.kind, &lines, k->text, collect_place, &m);
	if (m.around.n)
		ran("sass", gpubpf_place_kind(kind)->name);
	for (uint32_t i = m.around.n; i-- > 0;)
		sass_code_reserve(&code, m.around.list[i].place.at);
	listed += m.met;
	if (m.met != expected && kind != GPUBPF_SITE_LINE)
		ok(false, "%s has %u places, not %u", app->symbols[k->symbol].name, expected, m.met);
	graft(app, k, &m);
	for (int guarded = 0; guarded < 2; guarded++)
		sass_body_finish(&m.bodies[guarded]);
	free(m.around.list);
	sass_code_finish(&code);
}

/* The table must have each operation that accesses memory or runs asynchronously. */
static void check_table(void)
{
	const struct sass_arch *arch = sass_arch_find(90);
	uint32_t operations = 0, accesses = 0;

	for (uint32_t operation = 0; operation < 512; operation++) {
		enum sass_class class = sass_op_find(operation)->class;
		struct sass_access access;

		if (class != SASS_LOAD && class != SASS_STORE && class != SASS_ASYNC)
			continue;
		operations++;
		accesses += sass_decode_access(arch, (struct sass_insn){ .lo = operation | SASS_PT << 12 }, &access);
		if (!sass_access_known(operation))
			ok(false, "0x%03x (%s) is in the table of accesses", operation, sass_op_find(operation)->name);
	}
	ok(operations > 40 && accesses > 25, "%u operations on memory, %u of them accesses", operations, accesses);
}

/* Changes copies: some add a uniform register to the destination instead of the descriptor's, some use neither. */
static void change_copies(const struct sass_section *section, uint32_t sm)
{
	unsigned none = sm >= 100 ? 0xff : 0x3f;

	for (size_t at = 0; at + SASS_INSN <= section->size; at += SASS_INSN) {
		uint8_t *text = (uint8_t *)section->data + at;
		struct sass_insn insn = sass_read(text);

		if (sass_opcode(insn) != 0xfae || random_below(2))
			continue;
		insn = sass_with_field(sass_with_field(insn, 76, 1, 0), 64, sm >= 100 ? 8 : 6, none);
		if (random_below(2))
			insn = sass_with_field(sass_with_field(insn, 0, 12, 0xdae), 64, sm >= 100 ? 8 : 6, random_below(63));
		memcpy(text, &insn, SASS_INSN);
	}
}

/* Adds a second predicate to every other guarded EXIT: P2, or !P3. */
static void add_seconds(const struct sass_section *section)
{
	bool other = false;

	for (size_t at = 0; at + SASS_INSN <= section->size; at += SASS_INSN) {
		uint8_t *text = (uint8_t *)section->data + at;
		struct sass_insn insn = sass_read(text);

		if (sass_opcode(insn) != SASS_OP_EXIT || (sass_field(insn, 12, 4) & 7) == SASS_PT || sass_field(insn, 87, 4) != SASS_PT)
			continue;
		insn = sass_with_field(insn, 87, 4, random_below(2) ? 2 : 3 | 8);
		if ((other = !other))
			memcpy(text, &insn, SASS_INSN);
	}
}

/* Checks the replacements of BSSY and BSYNC in a probe. */
static void try_filler(const struct sass_cubin *app, const struct sass_kernel *k)
{
	static struct sass_section nothing;
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	struct sass_insn filler = sass_nop(0, 5), was;
	struct sass_body body;
	struct sass_insn_probe stands = { .place = { .kind = GPUBPF_SITE_LINE, .guard = SASS_PT, .second = SASS_PT }, .body = &body };
	struct sass_code code;
	struct kernel_probes m = { .code = &code, .around = { &stands, 1 } };
	struct sass_patched_code grafted = { 0 };
	struct sass_twin twin = { 0 };
	struct sass_probe probe;
	struct gpubpf_diag diag;
	uint8_t *at;
	int err;

	gpubpf_diag_init(&diag);
	if (sass_code_read(app, k, &code, &diag) < 0)
		abort();
	make_probe(&probe, code.arch, GPUBPF_SITE_LINE, true);
	stands.place.at = code.entry_limit + 1;
	at = (uint8_t *)code.bytes + (size_t)stands.place.at * SASS_INSN;
	was = sass_read(at);
	memcpy(at, &filler, sizeof(filler));
	err = sass_body_make(code.arch, &probe, false, &body, &diag);
	if (!err)
		err = sass_patch_kernel(&code, k->regs, NULL, NULL, &m.around, &grafted, &diag);
	if (!err)
		err = sass_twin_write(app, k, &code, &probes, &grafted, &twin, &diag);
	ok(!err && passes(app, k, &m, &twin), "a NOP like those of its probe is the kernel's own all the same");
	memcpy(at, &was, sizeof(was));
	sass_twin_finish(&twin);
	sass_patched_code_finish(&grafted);
	sass_body_finish(&body);
	sass_code_finish(&code);
}

static void try_file(const char *name, const char *data, size_t size)
{
	static const enum gpubpf_site kinds[] = { GPUBPF_SITE_MEM, GPUBPF_SITE_MEM_BEFORE, GPUBPF_SITE_MEM_CAPTURE, GPUBPF_SITE_ATOMIC, GPUBPF_SITE_BARRIER,
						  GPUBPF_SITE_BARRIER_EXIT, GPUBPF_SITE_MEM_SHARED, GPUBPF_SITE_MEM_LOCAL,
						  GPUBPF_SITE_MEM_CONST, GPUBPF_SITE_MEM_ALL, GPUBPF_SITE_MEM_BEFORE_ALL, GPUBPF_SITE_BRANCH,
						  GPUBPF_SITE_INSN, GPUBPF_SITE_LINE };
	struct gpubpf_diag diag;
	struct sass_cubin app;

	gpubpf_diag_init(&diag);
	listed = stubs = twice = elsewhere = right = refused = changed = seen = walked = exits = came = landed = unread = 0;
	if (!ok(!sass_cubin_open(data, size, &app, &diag), "%s is read", name))
		return;
	sass_lines_read_starts(&app, &lines);
	for (uint32_t k = 0; k < app.nkernels; k++) {
		add_seconds(&app.sections[app.kernels[k].text]);
		change_copies(&app.sections[app.kernels[k].text], app.sm);
	}
	for (uint32_t k = 0; k < app.nkernels; k++)
		for (size_t i = 0; i < 2 * sizeof(kinds) / sizeof(*kinds); i++)
			try_kernel(&app, &app.kernels[k], kinds[i / 2], i % 2);
	for (uint32_t k = 0; k < app.nkernels; k++)
		try_exits(&app, &app.kernels[k]);
	ok(walked && exits == walked, "%u of %u walks are right, %u came to an exit's probe; %u kernels call the driver's functions", exits,
	   walked, came, unread);
	ok(!landed, "%u results landed in such probes", landed);
	ok(stubs && right == 4 * stubs, "%u places in %u kernels, %u with a probe, which did right %u of %u times", listed,
	   app.nkernels, stubs, right, 4 * stubs);
	ok(changed && seen == changed, "%u of %u changes are seen; %u kernels are refused", seen, changed, refused);
	if (sass_kernel_find(&app, "plain"))
		try_filler(&app, sass_kernel_find(&app, "plain"));
	note("%u with a probe with branches under two predicates, %u that meet in another's stub", twice, elsewhere);
	gpubpf_lines_finish(&lines);
	sass_cubin_finish(&app);
}

/* Compiles for architectures from FIRST on, for features that need it. */
static void try_source(const char *path, const char *first)
{
	static const char *const arches[] = { "sm_75", "sm_80", "sm_90", "sm_100", "sm_120", NULL };
	const char *const *from = arches;

	while (*from && first && strcmp(*from, first))
		from++;
	if (!compiled_each(path, from, "-O3 -lineinfo", try_file))
		ran("sass", "?");
}

int main(int argc, char **argv)
{
	const char *first = NULL;

	check_table();
	for (int i = 1; i < argc; i++) {
		size_t size;
		char *file;

		if (!strncmp(argv[i], "sm_", 3)) {
			first = argv[i];
			continue;
		}
		if (strstr(argv[i], ".cu") && !strstr(argv[i], ".cubin")) {
			try_source(argv[i], first);
			continue;
		}
		file = read_file(argv[i], &size);
		try_file(base_name(argv[i]), file, size);
		free(file);
	}
	return done();
}
