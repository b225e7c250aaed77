/* SPDX-License-Identifier: Apache-2.0 */
#include "patch_work.h"

#include <errno.h>
#include <stdlib.h>

#include "constant_stub.h"
#include "backends/cuda/sass/analysis/boards.h"
#include "backends/cuda/sass/analysis/flight.h"
#include "backends/cuda/sass/isa/scoreboard.h"
#include "backends/cuda/sass/probe/schedule.h"

#define PAD 8                      /* the number of instructions of a section is a multiple of this */
#define MAX_EXTRA_INSNS (8 + SASS_BARRIERS) /* maximum number of instructions before and after a probe */

/* -- allocation -- */

/* Returns the larger of two values: the uint32_t at offset `member` of the entry probe and of the exit probe. */
static uint32_t compute_max_member(const struct patch_ctx *p, size_t member)
{
	uint32_t of_entry = p->entry ? *(const uint32_t *)((const char *)p->entry + member) : 0;
	uint32_t of_exit = p->exit ? *(const uint32_t *)((const char *)p->exit + member) : 0;

	return of_entry > of_exit ? of_entry : of_exit;
}

static int alloc_registers(struct patch_ctx *p, uint32_t regs)
{
	uint32_t of_exit = p->exit ? p->exit->regs + (p->exit->barriers > 0) : 0;
	uint32_t need = p->entry && p->entry->regs > of_exit ? p->entry->regs : of_exit,
		 insn_regs = sass_insn_probes_regs(&p->insn_probes, p->code);
	struct sass_reg_window room;
	int err;

	if (p->code->nconstants && insn_regs < SASS_CONSTANT_REGISTERS)
		insn_regs = SASS_CONSTANT_REGISTERS;
	err = insn_regs ? sass_alloc_regs_above(p->code, regs, need > insn_regs ? need : insn_regs, &room, p->diag) :
			  sass_alloc_reg_window(p->code, regs, need, &room, p->diag);

	if (err < 0)
		return err;
	p->regs_above_kernel = room.above;
	p->out->base = room.base;
	p->out->regs = room.regs;
	p->out->frame = compute_max_member(p, offsetof(struct sass_probe, frame));
	for (uint32_t i = 0; i < p->insn_probes.n; i++)
		if (p->insn_probes.list[i].body->frame > p->out->frame)
			p->out->frame = p->insn_probes.list[i].body->frame;
	return 0;
}

/* Assigns convergence barriers to the barriers of the probes, from B15 down: first the barriers that the kernel does
 * not use, then the kernel's. The probes can share the kernel's barriers, because no lane waits at them before the
 * kernel's first instruction and after its last one. */
static void map_barriers(struct patch_ctx *p)
{
	unsigned used = p->code->barriers_used, n = 0;

	for (int own = 0; own < 2; own++)
		for (unsigned b = SASS_BARRIERS; b--;)
			if ((used >> b & 1) == (unsigned)own)
				p->barrier[n++] = b;
}

/* Returns, as bits, the predicates that the probe names. Returns UINT32_MAX if the predicate fields of an
 * instruction are unknown. */
static unsigned find_named_predicates(const struct sass_probe *probe)
{
	unsigned used = 0;

	for (uint32_t i = 0; i < probe->n; i++) {
		int fields = sass_predicate_fields(probe->insns[i]);

		for (unsigned f = 0; f < SASS_PREDICATE_FIELDS && fields >= 0; f++)
			used |= fields >> f & 1 ? 1u << sass_predicate(probe->insns[i], f) : 0;
		if (fields < 0)
			return UINT32_MAX;
	}
	return used & ((1u << SASS_PT) - 1);
}

/* Maps the predicates of the exit probe to predicates that the kernel does not write, if enough are free. Then no
 * operation of the kernel that is in flight can write them. */
static void map_predicates(struct patch_ctx *p)
{
	unsigned used = sass_predicates_used(p->code), wanted = p->exit ? find_named_predicates(p->exit) : 0, next = 0;

	for (unsigned i = 0; i <= SASS_PT; i++)
		p->predicate[i] = i;
	if (!p->exit || wanted == UINT32_MAX || SASS_PT - __builtin_popcount(used) < __builtin_popcount(wanted))
		return;
	for (unsigned i = 0; i < SASS_PT; i++) {
		if (!(wanted >> i & 1))
			continue;
		while (used >> next & 1)
			next++;
		p->predicate[i] = next++;
	}
	p->uses_free_predicates = true;
}

bool sass_patch_may_clobber_predicates(const struct patch_ctx *p)
{
	return p->exit && (p->exit->predicates || p->exit->barriers) && !p->uses_free_predicates;
}

/* -- the code -- */

struct sass_insn sass_patch_relocate_insn(const struct patch_ctx *p, struct sass_insn insn,
					  const uint8_t barriers[SASS_BARRIERS])
{
	int barrier = sass_convergence_barrier(insn);

	sass_shift_registers(&insn, p->out->base);
	return barrier < 0 ? insn : sass_with_convergence_barrier(insn, barriers[barrier]);
}

/* Returns the number of cycles from the last predicate write to the end of the probe, at most SASS_PREDICATE_CYCLES.
 * Returns 0 if lanes may branch to the end. */
static unsigned count_cycles_after_predicate(const struct sass_probe *probe)
{
	unsigned time = 0;

	if (probe->diverges)
		return 0;
	for (uint32_t i = 0; i + 1 < probe->n && time < SASS_PREDICATE_CYCLES; i++)
		time = sass_predicates_written(probe->insns[i]) ? sass_stall(probe->insns[i]) :
								  time + sass_stall(probe->insns[i]);
	return time < SASS_PREDICATE_CYCLES ? time : SASS_PREDICATE_CYCLES;
}

/* Adds a scoreboard to a slow instruction of the entry probe that has no scoreboard, if later code may overwrite its
 * registers. This code is the kernel, an exit probe or a stub. Without such code, returns the instruction unchanged. */
static struct sass_insn add_needed_board(const struct patch_ctx *p, struct sass_insn insn)
{
	if ((p->regs_above_kernel && !p->exit && !p->insn_probes.n && !p->code->nconstants) || !sass_lacks_board(insn))
		return insn;
	return sass_with_board(insn, SASS_PROBE_SB);
}

/* Sets p->pending to the scoreboards that the probes may leave set. If probes share registers with the kernel, the
 * entry probe waits for its own operations, so it leaves no scoreboard set. */
static int find_pending(struct patch_ctx *p)
{
	uint32_t n = p->regs_above_kernel && p->entry ? p->entry->n : 0;
	struct sass_insn *insns = calloc(n + 1, sizeof(*insns));
	int err = insns ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < n; i++)
		insns[i] = add_needed_board(p, p->entry->insns[i]);
	if (!err)
		err = sass_boards_left(p->code->arch, insns, n, &p->pending);
	p->pending |= sass_insn_probes_pending(&p->insn_probes);
	free(insns);
	return err;
}

/* Adds a scoreboard to each operation of the kernel that has no scoreboard, if the operation accesses a register of
 * the exit probe and may be in flight at an exit. */
static int add_boards(struct patch_ctx *p)
{
	uint32_t top = lane_bit_reg(p) + (p->exit->barriers > 0);
	struct sass_flights flights;
	int err = sass_flights_find(p->code, top, &flights);

	for (uint32_t k = 0; !err && k < flights.n; k++) {
		struct sass_insn *insn = &p->out->insns[flights.at[k]];

		if (!sass_lacks_board(*insn) || !flights.at_exit[k])
			continue;
		*insn = sass_with_board(*insn, SASS_PROBE_SB);
		p->out->nadded_boards++;
	}
	sass_flights_finish(&flights);
	return err;
}

/* Adds a scoreboard to instructions of the kernel that write a predicate with variable latency and without a
 * scoreboard. This is needed because stubs save the predicates and the exit probe may write them. */
static void add_predicate_boards(struct patch_ctx *p)
{
	for (uint32_t i = 0; i < p->code->n; i++) {
		struct sass_insn *insn = &p->out->insns[i];

		if (!sass_predicate_lacks_board(p->code->arch, *insn))
			continue;
		*insn = sass_with_predicate_board(*insn);
		p->out->nadded_boards++;
	}
}

struct sass_insn sass_exit_to_branch(const struct sass_arch *arch, struct sass_insn insn, uint32_t behind)
{
	if (sass_opcode(insn) != SASS_OP_EXIT)
		return insn;
	if (!behind && sass_is_unconditional(insn))
		return sass_nop(sass_wait_mask(insn), 1);
	return sass_with_branch(arch, sass_with_opcode(insn, SASS_OP_BRA), (int64_t)behind * SASS_INSN);
}

/* Emits BREAK for each barrier of the entry probe, so that no lane waits there for lanes that have left the probe
 * early. */
static void emit_breaks(struct patch_ctx *p)
{
	for (uint32_t b = 0; b < p->entry->barriers; b++)
		emit(p, sass_break(p->barrier[b]));
}

static int emit_entry(struct patch_ctx *p)
{
	uint32_t at = p->regs_above_kernel ? p->code->entry_limit : p->code->begin;
	unsigned time;

	if (!p->code->entry_is_relocatable)
		return refuse(p->diag, "its first instruction cannot execute at another address, as a probe at the "
				       "entry requires");
	p->out->entry = p->out->n;
	for (uint32_t i = 0; i < p->entry->n; i++)
		emit(p,
		     sass_exit_to_branch(p->code->arch,
					 add_needed_board(p, sass_patch_relocate_insn(p, p->entry->insns[i], p->barrier)),
					 p->entry->n - i - 1));
	sass_insert_added_waits(p->entry->insns, p->out->insns + p->out->entry, p->entry->n);
	time = count_cycles_after_predicate(p->entry);
	if (!p->regs_above_kernel || time < SASS_PREDICATE_CYCLES)
		emit(p, sass_nop(p->regs_above_kernel ? 0 : SASS_ALL_BOARDS,
				 SASS_PREDICATE_CYCLES - (p->regs_above_kernel ? time : 0)));
	emit_breaks(p);
	if (p->entry->diverges)
		emit(p, sass_warpsync_all());
	p->out->location[at] = p->out->n;
	emit(p, p->out->insns[at]); /* the copy includes a scoreboard that add_boards() has added */
	emit(p, sass_bra(p->code->arch, ((int64_t)at - p->out->n) * SASS_INSN));
	p->out->insns[at] = sass_bra(p->code->arch, ((int64_t)p->out->entry - at - 1) * SASS_INSN);
	return 0;
}

/* Extends stalls where an inserted instruction would wait for a scoreboard before the wait can see that the
 * scoreboard was set. */
static void enforce_scoreboard_latency(struct patch_ctx *p)
{
	for (uint32_t i = p->exit ? p->out->exit : p->entry ? p->out->entry : p->code->n; i + 1 < p->out->n; i++) {
		struct sass_insn *insn = &p->out->insns[i];

		if (sass_stall(*insn) < SASS_SCOREBOARD_CYCLES &&
		    sass_boards_set(*insn) & sass_wait_mask(p->out->insns[i + 1]))
			*insn = sass_with_stall(*insn, SASS_SCOREBOARD_CYCLES);
	}
}

static void pad(struct patch_ctx *p)
{
	while (p->out->n % PAD)
		emit(p, sass_nop(0, 0));
}

static int emit_all(struct patch_ctx *p)
{
	int err = 0;

	for (uint32_t i = 0; i < p->code->n; i++)
		emit(p, sass_code_at(p->code, i));
	pad(p);
	if (p->insn_probes.n || sass_patch_may_clobber_predicates(p))
		add_predicate_boards(p);
	if (p->exit)
		err = sass_patch_emit_exit(p);
	if (!err && p->exit && !p->regs_above_kernel)
		err = add_boards(p);
	if (!err && p->entry)
		err = emit_entry(p);
	if (!err)
		err = sass_emit_insn_probes(&p->insn_probes, p->code, p->pending, p->out, p->diag);
	if (!err)
		err = sass_emit_constant_stubs(p->code, p->pending, p->out);
	emit(p, sass_bra(p->code->arch, -SASS_INSN)); /* compilers end a section with this too */
	pad(p);
	if (!err)
		enforce_scoreboard_latency(p);
	return err;
}

int sass_patch_kernel(const struct sass_code *code, uint32_t regs, const struct sass_probe *entry,
		      const struct sass_probe *exit, const struct sass_insn_probes *insn_probes,
		      struct sass_patched_code *patched, struct gpubpf_diag *diag)
{
	size_t n = code->n + (entry ? entry->n : 0) + 2 * (exit ? exit->n : 0) + 2 * MAX_EXTRA_INSNS + 3 * PAD +
		   sass_insn_probes_max_insns(insn_probes) + sass_constants_max_insns(code);
	struct patch_ctx p = {
		.code = code, .entry = entry, .exit = exit, .insn_probes = *insn_probes, .out = patched, .diag = diag
	};
	int err;

	*patched = (struct sass_patched_code){ .entry = SASS_NONE, .exit = SASS_NONE };
	if (exit && !code->nexits)
		return refuse(diag, "it has no EXIT");
	err = alloc_registers(&p, regs);
	if (err < 0)
		return err;
	map_barriers(&p);
	map_predicates(&p);
	err = find_pending(&p);
	if (err < 0)
		return err;
	patched->insns = calloc(n, sizeof(*patched->insns));
	patched->location = calloc(code->n + 1, sizeof(*patched->location));
	if (!patched->insns || !patched->location)
		return -ENOMEM;
	for (uint32_t i = 0; i < code->n; i++)
		patched->location[i] = i;
	err = emit_all(&p);
	if (err < 0)
		sass_patched_code_finish(patched);
	return err;
}

void sass_patched_code_finish(struct sass_patched_code *patched)
{
	free(patched->insns);
	free(patched->location);
	free(patched->addresses);
	*patched = (struct sass_patched_code){ 0 };
}
