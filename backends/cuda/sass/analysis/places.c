/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "backends/cuda/sass/isa/constant.h"
#include "backends/cuda/sass/isa/effects.h"

/* Returns true if the instruction of place p has a memory access that the place's kind includes. Describes the
 * access in p->access. second: considers the second access of an instruction with two accesses (LDGSTS). */
static bool is_access(const struct sass_code *code, struct sass_place *p, bool second)
{
	const struct gpubpf_place_kind *k = gpubpf_place_kind(p->kind);

	if (!(second ? sass_decode_second_access : sass_decode_access)(code->arch, sass_code_at(code, p->at), &p->access))
		return false;
	p->why = p->access.why;
	if (!p->why && p->access.spaces & ~k->spaces)
		p->why = "an access that may be in another memory space than the program's section names; use "
			 "gpu/mem.all/";
	return k->spaces & p->access.spaces && k->accesses >> p->access.access & 1;
}

/* Returns true if the instruction reads a __constant__ variable and the place's kind includes such reads. Reads of
 * kernel parameters, and of constants that the compiler has placed in a constant bank, are not places. */
static bool is_constant(const struct sass_code *code, struct sass_place *p)
{
	const struct gpubpf_place_kind *k = gpubpf_place_kind(p->kind);
	struct sass_constant constant;
	bool known;

	if (!(k->spaces & GPUBPF_IN(CONSTANT)) || !(k->accesses >> GPUBPF_LOAD & 1) ||
	    sass_constant_bank(sass_code_at(code, p->at)) != SASS_CONSTANTS_BANK)
		return false;
	known = sass_decode_constant_read(sass_code_at(code, p->at), &constant);
	p->access = (struct sass_access){ .access = GPUBPF_LOAD,
					  .spaces = GPUBPF_IN(CONSTANT),
					  .bytes = constant.bytes,
					  .near = true,
					  .address = constant.uniform_index ? SASS_RZ : constant.index,
					  .scale = 1,
					  .uniform = constant.uniform_index ? constant.index : SASS_URZ,
					  .offset = constant.off,
					  .old = SASS_RZ,
					  .second = SASS_PT };
	p->why = known ? NULL : "a read of a __constant__ variable in an unknown form";
	return true;
}

/* Returns true if the instruction waits for other threads. Sets p->why if these threads are unknown. They are
 * unknown at a barrier of a cluster, at a barrier object in memory, and at a barrier whose number is in a register. */
static bool is_wait(const struct sass_code *code, struct sass_place *p)
{
	struct sass_insn insn = sass_code_at(code, p->at);

	p->why = NULL;
	p->barrier = sass_block_barrier(insn);
	if (!sass_has(insn, SASS_SYNCHRONIZES))
		return false;
	if (!sass_is(insn, SASS_OPERATION_BAR))
		p->why = sass_is(insn, SASS_OPERATION_SYNCS) ? "a wait at a barrier in memory" :
							       "a wait at a cluster's barrier";
	else if (insn.opcode != SASS_OP_BAR)
		p->why = "a barrier whose number is in a register";
	return !sass_is_arrival(insn);
}

/* -- control -- */

/* Is the instruction a conditional relative branch? Its condition may be lane predicates or a uniform predicate
 * (BRA.U). */
static bool is_cond_branch(struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_BRA_U ||
	       (sass_opcode(insn) == SASS_OP_BRA && !sass_is_unconditional(insn) && !insn.mode);
}

/* Is the instruction a branch place? BRA.DIV and BRA.CONV are not, because they test convergence and are no branches
 * of the source. Sets p->why for an indirect branch that not all active lanes take. */
static bool is_branch(const struct sass_code *code, struct sass_place *p)
{
	struct sass_insn insn = sass_code_at(code, p->at);
	bool jumps = sass_opcode(insn) == SASS_OP_BRX || sass_opcode(insn) == SASS_OP_BRXU;

	p->why = jumps && !(sass_is_relative_transfer(insn) && insn.guard == SASS_PT) ?
			 "an indirect branch under a predicate" :
			 NULL;
	return jumps || is_cond_branch(insn);
}

/* Does the offset field of the instruction contain the distance to another instruction? */
static bool is_relative(struct sass_insn insn)
{
	return sass_has_target(insn) || sass_is_relative_transfer(insn);
}

struct sass_insn sass_relocate_own_insn(const struct sass_arch *arch, struct sass_insn own, uint32_t at, uint32_t to)
{
	int64_t offset = is_relative(own) ? sass_branch(arch, own) + ((int64_t)at - to) * SASS_INSN : 0;

	own = sass_with_reuse(own, 0);
	return is_relative(own) ? sass_with_branch(arch, own, offset) : own;
}

bool sass_is_relocatable(const struct sass_code *code, uint32_t at)
{
	struct sass_insn insn = sass_code_at(code, at);

	if (at < code->begin || code->entered[at] & SASS_RELOCATED)
		return false;
	switch (sass_op(insn)->class) {
	case SASS_FIXED:
		return !sass_has(insn, SASS_IN_PLACE);
	case SASS_SLOW:
	case SASS_LOAD:
	case SASS_STORE:
	case SASS_ASYNC:
	case SASS_EXIT:
		return true;
	case SASS_BRANCH:
	case SASS_INDIRECT:
		return is_relative(insn);
	case SASS_SYNC:
		return !sass_has(insn, SASS_IN_PLACE) &&
		       (!sass_is(insn, SASS_OPERATION_WARPSYNC) || insn.opcode == SASS_OP_WARPSYNC_ALL ||
			(insn.opcode == SASS_OP_WARPSYNC_LANES && !sass_has_target(insn)));
	case SASS_UNKNOWN:
	case SASS_CALL_ABSOLUTE:
	case SASS_MAXREG:
		return false;
	}
	return false;
}

/* Returns the number of instructions up to the last one that can execute. Does not count the padding after it, which
 * consists of NOPs and a branch to itself. */
static uint32_t find_code_end(const struct sass_code *code)
{
	uint32_t n = code->n;

	while (n && (sass_opcode(sass_code_at(code, n - 1)) == SASS_OP_NOP ||
		     (sass_opcode(sass_code_at(code, n - 1)) == SASS_OP_BRA &&
		      sass_branch(code->arch, sass_code_at(code, n - 1)) == -SASS_INSN)))
		n--;
	return n;
}

/* Is the guard a uniform predicate? Such a guard does not select lanes. */
static bool has_uniform_guard(struct sass_insn insn)
{
	return (insn.guard & SASS_PT) != SASS_PT && sass_has(insn, SASS_UNIFORM_GUARD);
}

static bool is_any(const struct sass_code *code, struct sass_place *p)
{
	p->why = has_uniform_guard(sass_code_at(code, p->at)) ? "an instruction under a uniform predicate" :
		 sass_is_relocatable(code, p->at)             ? NULL :
								"an instruction that works only at its address";
	return true;
}

static bool matches_kind(const struct sass_code *code, struct sass_place *p)
{
	if (sass_code_at(code, p->at).guard == (SASS_PT | 8)) /* never executes */
		return false;
	if (gpubpf_place_kind(p->kind)->spaces)
		return is_access(code, p, false) || is_constant(code, p);
	switch (p->kind) {
	case GPUBPF_SITE_BARRIER:
	case GPUBPF_SITE_BARRIER_EXIT:
		return is_wait(code, p);
	case GPUBPF_SITE_BRANCH:
		return is_branch(code, p);
	case GPUBPF_SITE_INSN:
		return is_any(code, p);
	default:
		return false;
	}
}

/* Sets the predicates under which a lane runs the probe. The predicates of a branch do not count, because they only
 * select the lanes that take the branch. The guard of an instruction that never executes does not count either,
 * because a source line may begin with such an instruction. */
static void set_guards(const struct sass_code *code, struct sass_place *p)
{
	struct sass_insn insn = sass_code_at(code, p->at);
	bool exits = sass_opcode(insn) == SASS_OP_EXIT, branches = sass_is(insn, SASS_OPERATION_BRA);

	p->guard = branches || insn.guard == (SASS_PT | 8) ? SASS_PT : insn.guard;
	p->second = gpubpf_place_kind(p->kind)->spaces ? p->access.second : exits ? insn.in : SASS_PT;
}

static int report_place(const struct sass_code *code, struct sass_place *place,
			int (*fn)(void *arg, const struct sass_place *place), void *arg)
{
	int err;

	set_guards(code, place);
	err = fn(arg, place);
	place->id++;
	return err;
}

/* -- lines -- */

static int visit_lines(const struct sass_code *code, const struct gpubpf_lines *lines, uint32_t text,
		       int (*fn)(void *arg, const struct sass_place *place), void *arg)
{
	struct sass_place place = { .kind = GPUBPF_SITE_LINE };
	struct gpubpf_line_start *starts;
	uint64_t from = sass_line_address(text, 0);
	size_t n;
	int err = gpubpf_lines_starts(lines, from, from + (uint64_t)code->n * SASS_INSN, &starts, &n);

	if (err < 0)
		return err;
	for (size_t i = 0; !err && i < n; i++) {
		place.at = (starts[i].address - from) / SASS_INSN;
		place.at = place.at < code->begin ? code->begin : place.at;
		place.file = starts[i].file;
		place.line = starts[i].line;
		is_any(code, &place);
		err = report_place(code, &place, fn, arg);
	}
	free(starts);
	return err;
}

void sass_place_name(const struct sass_code *code, const struct sass_place *place, char *name, size_t size)
{
	const char *whole = sass_op(sass_code_at(code, place->at))->name;

	name[0] = 0;
	if (place->kind == GPUBPF_SITE_LINE)
		gpubpf_place_line_name(place->file, place->line, name, size);
	else if (place->kind == GPUBPF_SITE_INSN)
		snprintf(name, size, "%.*s", (int)strcspn(whole, "_"), whole);
}

int sass_places_each(const struct sass_code *code, uint32_t kinds, const struct gpubpf_lines *lines, uint32_t text,
		     int (*fn)(void *arg, const struct sass_place *place), void *arg)
{
	uint32_t end = find_code_end(code);
	int err = 0;

	kinds &= gpubpf_places_of(GPUBPF_WHERE_INSN);
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
		struct sass_place place = { .kind = kind };

		if (kind == GPUBPF_SITE_LINE && kinds >> kind & 1 && !err)
			err = visit_lines(code, lines, text, fn, arg);
		for (place.at = code->begin; kinds >> kind & 1 && !err && place.at < end; place.at++) {
			if (matches_kind(code, &place))
				err = report_place(code, &place, fn, arg);
			if (!err && gpubpf_place_kind(kind)->spaces && is_access(code, &place, true))
				err = report_place(code, &place, fn, arg);
		}
	}
	return err;
}
