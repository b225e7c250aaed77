/* SPDX-License-Identifier: Apache-2.0 */
#include "places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "constant.h"
#include "backends/cuda/sass/isa/effects.h"

#define OP_BAR 0x11d
#define OP_BAR_IMMEDIATE 0xb1d     /* BAR with an immediate barrier number, in bits 54..57 */
#define OP_UCGABAR 0x1c7
#define OP_SYNCS 0x1a7

/* Does the place's instruction have an access of the place's kind? second: considers the second access of an
 * instruction with two (LDGSTS). */
static bool is_access(const struct sass_code *code, struct sass_place *p, bool second)
{
	const struct gpubpf_place_kind *k = gpubpf_place_kind(p->kind);

	if (!(second ? sass_decode_second_access : sass_decode_access)(code->arch, sass_code_at(code, p->at), &p->access))
		return false;
	p->why = p->access.why;
	if (!p->why && p->access.spaces & ~k->spaces)
		p->why = "an access that may be in another space than the program's; use gpu/mem.all/";
	return k->spaces & p->access.spaces && k->accesses >> p->access.access & 1;
}

/* Is the instruction a read of a __constant__ variable, and does the place's kind include these? Reads of parameters
 * and of constants that a compiler placed are no accesses. */
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
	p->why = known ? NULL : "a read of a constant in an unknown form";
	return true;
}

enum bar_mode { BAR_SYNC, BAR_ARRIVE, BAR_REDUCE, BAR_SCAN };

/* Does the instruction wait for other threads? For waits at a cluster barrier or at a barrier object in memory,
 * place->why says that the waiting threads are unknown. */
static bool is_wait(const struct sass_code *code, struct sass_place *p)
{
	struct sass_insn insn = sass_code_at(code, p->at);

	p->why = NULL;
	p->barrier = sass_field(insn, 54, 4);
	switch (sass_opcode(insn) & 0x1ff) {
	case OP_BAR:
		if (sass_opcode(insn) != OP_BAR_IMMEDIATE)
			p->why = "a barrier whose number is in a register";
		return sass_field(insn, 77, 2) != BAR_ARRIVE;
	case OP_UCGABAR:
		p->why = "a wait at a cluster's barrier";
		return true;
	case OP_SYNCS:
		p->why = "a wait at a barrier in memory";
		return true;
	default:
		return false;
	}
}

/* -- control -- */

#define OP_BRA 0x147
#define OP_BSSY 0x145
#define OP_WARPSYNC 0x148
#define OP_WARPSYNC_LANES 0x348    /* whole opcode: WARPSYNC for the lanes of a mask in a register */
#define OP_LEPC 0x14e
#define OP_CALL_REGISTER 0x344     /* whole opcode, CALL.REL of a register */
#define OP_BPT 0x15c
#define OP_ENDCOLLECTIVE 0x11b
#define BRA_MODE_AT 91             /* BRA: .DIV, .CONV */

/* Is the instruction a conditional relative branch: by lane predicates, or by a uniform one (BRA.U)? */
static bool is_cond_branch(struct sass_insn insn)
{
	return sass_opcode(insn) == SASS_OP_BRA_U ||
	       (sass_opcode(insn) == SASS_OP_BRA && !sass_is_unconditional(insn) && !sass_field(insn, BRA_MODE_AT, 14));
}

/* Is it a call, return or jump that contains the distance to its target or to the return point? Accepts only the
 * form that all active lanes execute and that does not count the call depth. */
static bool is_relative_transfer(struct sass_insn insn)
{
	static const struct {
		uint16_t opcode, rest;
	} known[] = {
		{ SASS_OP_CALL_REL, 0x78 }, { OP_CALL_REGISTER, 0x78 }, { SASS_OP_RET, 0x78 },
		{ SASS_OP_BRX, 0x70 },      { SASS_OP_BRXU, 0x170 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (sass_opcode(insn) == known[i].opcode)
			return sass_field(insn, 83, 22) == known[i].rest;
	return false;
}

/* Is the instruction a branch place? BRA.DIV and BRA.CONV are not, because they test convergence and are no branches
 * of the source. An indirect branch must be taken by all active lanes. */
static bool is_branch(const struct sass_code *code, struct sass_place *p)
{
	struct sass_insn insn = sass_code_at(code, p->at);
	bool jumps = sass_opcode(insn) == SASS_OP_BRX || sass_opcode(insn) == SASS_OP_BRXU;

	p->why = jumps && !(is_relative_transfer(insn) && sass_field(insn, 12, 4) == SASS_PT) ?
			 "an indirect branch under a predicate" :
			 NULL;
	return jumps || is_cond_branch(insn);
}

/* Does the instruction contain the distance to another instruction, in the offset field of branches? */
static bool is_relative(struct sass_insn insn)
{
	return sass_has_target(insn) || is_relative_transfer(insn);
}

struct sass_insn sass_relocate_own_insn(const struct sass_arch *arch, struct sass_insn own, uint32_t at, uint32_t to)
{
	int64_t offset = is_relative(own) ? sass_branch(arch, own) + ((int64_t)at - to) * SASS_INSN : 0;

	own = sass_with_field(own, SASS_REUSE_AT, 4, 0);
	return is_relative(own) ? sass_with_branch(arch, own, offset) : own;
}

bool sass_is_relocatable(const struct sass_code *code, uint32_t at)
{
	struct sass_insn insn = sass_code_at(code, at);
	uint32_t operation = sass_opcode(insn) & 0x1ff;

	if (at < code->begin || code->entered[at] & SASS_RELOCATED)
		return false;
	switch (sass_op_find(sass_opcode(insn))->class) {
	case SASS_FIXED:
		return operation != OP_LEPC;
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
		return operation != OP_BPT && operation != OP_ENDCOLLECTIVE &&
		       (operation != OP_WARPSYNC || sass_opcode(insn) == SASS_OP_WARPSYNC_ALL ||
			(sass_opcode(insn) == OP_WARPSYNC_LANES && !sass_has_target(insn)));
	case SASS_UNKNOWN:
	case SASS_CALL_ABSOLUTE:
	case SASS_MAXREG:
		return false;
	}
	return false;
}

/* Returns the number of instructions without the branch to itself and the padding after the last reachable one. */
static uint32_t code_end(const struct sass_code *code)
{
	uint32_t n = code->n;

	while (n && (sass_opcode(sass_code_at(code, n - 1)) == SASS_OP_NOP ||
		     (sass_opcode(sass_code_at(code, n - 1)) == SASS_OP_BRA &&
		      sass_branch(code->arch, sass_code_at(code, n - 1)) == -SASS_INSN)))
		n--;
	return n;
}

/* Is the guard a uniform predicate, which does not select lanes? */
static bool has_uniform_guard(struct sass_insn insn)
{
	if (sass_field(insn, 12, 3) == SASS_PT)
		return false;
	switch (sass_opcode(insn) & 0x1ff) {
	case 0x04a:
	case 0x051 ... 0x05e:
	case 0x082 ... 0x085:
	case 0x087:
	case 0x08c ... 0x0bf:
	case 0x0cb: /* U..., CS2UR */
	case 0x1ac:
	case 0x1b2:
	case 0x1b4 ... 0x1b7:
	case 0x1b9 ... 0x1bc:
	case 0x1c3:
	case 0x1c7 ... 0x1ca: /* LDCU, SYNCS, UTMA..., S2UR */
	case 0x1e3:
	case 0x1e9:
	case 0x1ea: /* UTC... */
		return true;
	default:
		return false;
	}
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
	if (sass_field(sass_code_at(code, p->at), 12, 4) == (SASS_PT | 8)) /* never executes */
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

/* Sets the predicates of the place. The predicates of a branch select the lanes that take it, so they are no
 * condition of its place. Neither is the guard of a never-executed instruction that begins a line. */
static void set_guards(const struct sass_code *code, struct sass_place *p)
{
	struct sass_insn insn = sass_code_at(code, p->at);
	bool exits = sass_opcode(insn) == SASS_OP_EXIT, branches = (sass_opcode(insn) & 0x1ff) == OP_BRA;

	p->guard = branches || sass_field(insn, 12, 4) == (SASS_PT | 8) ? SASS_PT : sass_field(insn, 12, 4);
	p->second = gpubpf_place_kind(p->kind)->spaces ? p->access.second : exits ? sass_field(insn, 87, 4) : SASS_PT;
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

static int each_line(const struct sass_code *code, const struct gpubpf_lines *lines, uint32_t text,
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
	const char *whole = sass_op_find(sass_opcode(sass_code_at(code, place->at)))->name;

	name[0] = 0;
	if (place->kind == GPUBPF_SITE_LINE)
		gpubpf_place_line_name(place->file, place->line, name, size);
	else if (place->kind == GPUBPF_SITE_INSN)
		snprintf(name, size, "%.*s", (int)strcspn(whole, "_"), whole);
}

int sass_places_each(const struct sass_code *code, uint32_t kinds, const struct gpubpf_lines *lines, uint32_t text,
		     int (*fn)(void *arg, const struct sass_place *place), void *arg)
{
	uint32_t end = code_end(code);
	int err = 0;

	kinds &= gpubpf_places_of(GPUBPF_WHERE_INSN);
	for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
		struct sass_place place = { .kind = kind };

		if (kind == GPUBPF_SITE_LINE && kinds >> kind & 1 && !err)
			err = each_line(code, lines, text, fn, arg);
		for (place.at = code->begin; kinds >> kind & 1 && !err && place.at < end; place.at++) {
			if (matches_kind(code, &place))
				err = report_place(code, &place, fn, arg);
			if (!err && gpubpf_place_kind(kind)->spaces && is_access(code, &place, true))
				err = report_place(code, &place, fn, arg);
		}
	}
	return err;
}
