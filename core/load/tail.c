/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: replaces tail calls (helper 12) by calls.
 * Before: the programs of an object call helper 12.
 * After: each such program is a merged program. It consists of a dispatcher, the program itself and all programs that
 * it may tail-call, each as a function. The dispatcher calls these functions one after the other.
 * Requires: all programs of the object are decoded.
 *
 * The dispatcher:
 *
 *    r6 = r1, r7 = 0, r8 = the program's own number
 * retry:
 *    *(u64 *)(r10 - 8) = r7             the number of tail calls so far
 *    if r8 == N goto call_N             for each program N
 *    goto out
 * call_N:
 *    r1 = r6, r0 = N(r1), goto next
 * next:
 *    r8 = r0 >> 32, r7 += 1, if r8 != 0 goto retry
 * out:
 *    exit
 *
 * A program returns the number of its successor in the upper half of r0. A call of helper 12 is replaced by this code,
 * which follows the function:
 *
 *    if *(u64 *)(r10 of the first frame - 8) > 32 goto none
 *    r0 = tail_slot(r1, r2, r3)
 *    if r0 == N goto gone_N             for each program N that the map may hold
 * none:
 *    call a function that does nothing  then the verifier refuses reads of r0 to r5, as in the Linux kernel
 *    goto the next instruction
 * gone_N:
 *    r0 = N << 32, exit
 *
 * So a slot holds one of these programs or nothing, and the verifier walks and counts all possible chains. A program
 * may tail-call itself. The Linux kernel limits a chain to 33 tail calls (MAX_TAIL_CALL_CNT).
 */
#include "internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"

#define TAIL_CALL 12
#define TAIL_SLOT 525
#define MAX_TAIL_CALLS 33
#define ANY_OF_ITS_MAPS (-1)

#define NUMBERS (GPUBPF_MAX_PROGS + 1)

/* One program of a merged program; it becomes a function. */
struct member {
	const struct gpubpf_prog *prog;
	uint32_t number;        /* the program's number in its object, from 1 */
	uint32_t first;         /* index of the program's first instruction in the merged program */
	uint32_t more;          /* number of instructions inserted at the end of the program's main function */
	bool *is_target;        /* [ninsns]: true if the instruction is a jump target */
	bool may_call[NUMBERS]; /* by program number: true if a map that this program refers to may hold that program */
};

struct tails {
	struct gpubpf_loading *l;
	const struct gpubpf_prog *progs; /* [n]: programs of the object, in the unit */
	uint32_t n;
	bool (*may_hold)[NUMBERS]; /* [maps of the unit], by program number: true if the map may hold that program */
	/* [nmembers], allocated for n: the calling program, then the programs that it may tail-call */
	struct member *member;
	uint32_t nmembers;
	struct gpubpf_prog *out;
	/* number of instructions written so far, and number of instructions allocated in out->insns */
	uint32_t at, room;
	uint32_t total; /* number of instructions of all merged programs so far */
};

static bool is_tail_call(const struct gpubpf_insn *insn)
{
	return insn->kind == GPUBPF_INSN_CALL && insn->imm == TAIL_CALL;
}

static bool calls(const struct gpubpf_prog *prog)
{
	bool found = false;

	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		found |= is_tail_call(&prog->insns[pc]);
	return found;
}

static bool jumps(const struct gpubpf_insn *insn)
{
	return insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND;
}

/* Returns the index of the map of programs whose pointer the instruction loads, or ANY_OF_ITS_MAPS. */
static int find_map(const struct tails *t, const struct gpubpf_insn *insn)
{
	bool is = insn->kind == GPUBPF_INSN_IMM64 && insn->op == GPUBPF_IMM_MAP &&
		  t->l->out->unit.maps[insn->imm].type->flags & GPUBPF_MAP_PROGS;

	return is ? insn->imm : ANY_OF_ITS_MAPS;
}

/*
 * Returns the index of the map that the tail call at pc uses, if the instructions before it set r2 to one map.
 * Otherwise returns ANY_OF_ITS_MAPS.
 */
static int map_of(const struct tails *t, const struct member *m, uint32_t pc)
{
	while (pc && !m->is_target[pc]) {
		const struct gpubpf_insn *insn = &m->prog->insns[--pc];

		if (insn->kind == GPUBPF_INSN_IMM64 && insn->dst == GPUBPF_R2)
			return find_map(t, insn);
		if (((insn->kind == GPUBPF_INSN_ALU || insn->kind == GPUBPF_INSN_LOAD) && insn->dst == GPUBPF_R2) ||
		    (insn->kind == GPUBPF_INSN_ATOMIC && insn->src == GPUBPF_R2) || insn->kind == GPUBPF_INSN_JUMP ||
		    insn->kind == GPUBPF_INSN_EXIT || insn->kind == GPUBPF_INSN_CALL ||
		    insn->kind == GPUBPF_INSN_CALL_LOCAL)
			break;
	}
	return ANY_OF_ITS_MAPS;
}

static const struct gpubpf_prog *find(const struct tails *t, const char *name)
{
	for (uint32_t i = 0; i < t->n; i++)
		if (!strcmp(t->progs[i].name, name))
			return &t->progs[i];
	return NULL;
}

/* The map may hold the target program. Adds this program to the members if it is for the same kind of place. */
static int add_target(struct tails *t, const struct gpubpf_prog *from, uint32_t pc, const struct gpubpf_map *map,
		      const struct gpubpf_map_target *target)
{
	const struct gpubpf_prog *prog = find(t, target->name);

	if (!prog || (prog->site != from->site && !target->named))
		return 0;
	if (prog->site != from->site) {
		gpubpf_diag_remedy(t->l->diag, "put both programs into sections of the same kind, or use one map per kind of "
					       "section");
		return gpubpf_diag_set(t->l->diag, GPUBPF_E_BAD_MAP, pc,
				       "makes tail calls through map %s, which holds program %s of section '%s', a section of "
				       "another kind",
				       map->name, prog->name, prog->section);
	}
	for (uint32_t i = 0; i < t->nmembers; i++)
		if (t->member[i].number == target->number)
			return 0;
	t->member[t->nmembers++] = (struct member){ .prog = prog, .number = target->number };
	return 0;
}

static int add_targets(struct tails *t, struct member *m, const int32_t *first_call)
{
	const struct gpubpf_unit *unit = &t->l->out->unit;
	int err = 0;

	for (uint32_t map = 0; map < unit->nmaps; map++)
		for (uint32_t i = 0; first_call[map] >= 0 && i < unit->maps[map].ntargets && !err; i++)
			err = add_target(t, m->prog, (uint32_t)first_call[map], &unit->maps[map],
					 &unit->maps[map].targets[i]);
	return err;
}

/* Refuses a tail call in a sub-program: it could not end the callers of the sub-program. */
static int check_caller(const struct tails *t, const struct gpubpf_prog *prog, uint32_t pc)
{
	if (pc < prog->funcs[0].count)
		return 0;
	gpubpf_diag_remedy(t->l->diag, "make the tail call in the program itself, or make the function "
				       "__always_inline");
	return gpubpf_diag_set(t->l->diag, GPUBPF_E_BAD_HELPER, pc, "calls helper 12 tail_call in a sub-program");
}

/*
 * Finds the maps through which a member makes tail calls. first_call[map] receives the pc of the first tail call
 * through the map, or -1.
 */
static int find_maps(struct tails *t, struct member *m, int32_t *first_call)
{
	const struct gpubpf_prog *prog = m->prog;
	int32_t any_call = -1;

	memset(first_call, -1, GPUBPF_MAX_MAPS * sizeof(*first_call));
	m->is_target = calloc(prog->ninsns, sizeof(*m->is_target));
	if (!m->is_target)
		return -ENOMEM;
	for (uint32_t pc = 0; pc < prog->ninsns; pc++)
		if (jumps(&prog->insns[pc]))
			m->is_target[prog->insns[pc].target] = true;
	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		int map = is_tail_call(&prog->insns[pc]) ? map_of(t, m, pc) : 0;

		if (!is_tail_call(&prog->insns[pc]))
			continue;
		if (check_caller(t, prog, pc) < 0)
			return -EINVAL;
		if (map == ANY_OF_ITS_MAPS)
			any_call = (int32_t)pc;
		else if (first_call[map] < 0)
			first_call[map] = (int32_t)pc;
	}
	for (uint32_t pc = 0; pc < prog->ninsns; pc++) {
		int map = find_map(t, &prog->insns[pc]);

		for (uint32_t i = 0; map >= 0 && i < NUMBERS; i++)
			m->may_call[i] |= t->may_hold[map][i];
		if (map >= 0 && first_call[map] < 0)
			first_call[map] = any_call;
	}
	return 0;
}

/*
 * Collects the members of the merged program: the program, and all programs that it may tail-call, directly or
 * indirectly.
 */
static int gather(struct tails *t)
{
	int32_t first_call[GPUBPF_MAX_MAPS];
	int err = 0;

	for (uint32_t i = 0; i < t->nmembers && !err; i++) {
		const struct gpubpf_prog *prog = t->member[i].prog;

		err = find_maps(t, &t->member[i], first_call);
		if (!err)
			err = add_targets(t, &t->member[i], first_call);
		if (err == -EINVAL) {
			gpubpf_program_point_at(prog, t->l->diag);
			gpubpf_diag_where(t->l->diag, "%s: section '%s', program '%s'", t->l->path, prog->section,
					  prog->name);
		}
	}
	return err;
}

/* -- emission -- */

static uint32_t emit(struct tails *t, struct gpubpf_insn insn)
{
	if (t->at < t->room)
		t->out->insns[t->at] = insn;
	return t->at++;
}

static void emit_mov(struct tails *t, uint8_t dst, uint8_t src)
{
	emit(t, (struct gpubpf_insn){
			.kind = GPUBPF_INSN_ALU, .op = GPUBPF_MOV, .width = 8, .dst = dst, .src = src, .reg = true });
}

static void emit_alu(struct tails *t, uint8_t op, uint8_t dst, int32_t imm)
{
	emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_ALU, .op = op, .width = 8, .dst = dst, .imm = imm });
}

static void emit_imm64(struct tails *t, uint8_t op, uint8_t dst, uint64_t imm64)
{
	emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_IMM64,
				      .op = op,
				      .width = 8,
				      .dst = dst,
				      .imm64 = (int64_t)imm64,
				      .imm = (int32_t)imm64 });
	emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_HI, .imm = (int32_t)(imm64 >> 32) });
}

static uint32_t emit_jump(struct tails *t, uint32_t target)
{
	return emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_JUMP, .target = target });
}

static uint32_t emit_if(struct tails *t, uint8_t op, uint8_t reg, int32_t imm)
{
	return emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_JCOND, .op = op, .width = 8, .dst = reg, .imm = imm });
}

static void emit_call(struct tails *t, uint32_t target)
{
	emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_CALL_LOCAL, .src = 1, .target = target });
}

static void emit_exit(struct tails *t)
{
	emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_EXIT });
}

static void set_jump_target(struct tails *t, uint32_t jump)
{
	if (jump < t->room)
		t->out->insns[jump].target = t->at;
}

static void emit_line(struct tails *t, const struct gpubpf_line *line)
{
	if (!line || !t->room)
		return;
	t->out->lines[t->out->nlines] = *line;
	t->out->lines[t->out->nlines++].pc = t->at;
}

/* Emits the dispatcher, as shown at the top of the file. */
static void emit_first(struct tails *t, uint32_t *ifs)
{
	uint32_t retry, out;

	emit_mov(t, GPUBPF_R6, GPUBPF_R1);
	emit_alu(t, GPUBPF_MOV, GPUBPF_R7, 0);
	emit_alu(t, GPUBPF_MOV, GPUBPF_R8, (int32_t)t->member[0].number);
	retry = emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_STORE,
					      .width = 8,
					      .dst = GPUBPF_R10,
					      .src = GPUBPF_R7,
					      .reg = true,
					      .off = -8 });
	for (uint32_t i = 0; i < t->nmembers; i++)
		ifs[i] = emit_if(t, GPUBPF_JEQ, GPUBPF_R8, (int32_t)t->member[i].number);
	out = emit_jump(t, 0);
	for (uint32_t i = 0; i < t->nmembers; i++) {
		set_jump_target(t, ifs[i]);
		emit_mov(t, GPUBPF_R1, GPUBPF_R6);
		emit_call(t, t->member[i].first);
		ifs[i] = emit_jump(t, 0);
	}
	for (uint32_t i = 0; i < t->nmembers; i++)
		set_jump_target(t, ifs[i]);
	emit_mov(t, GPUBPF_R8, GPUBPF_R0);
	emit_alu(t, GPUBPF_RSH, GPUBPF_R8, 32);
	emit_alu(t, GPUBPF_ADD, GPUBPF_R7, 1);
	emit(t, (struct gpubpf_insn){
			.kind = GPUBPF_INSN_JCOND, .op = GPUBPF_JNE, .width = 8, .dst = GPUBPF_R8, .target = retry });
	set_jump_target(t, out);
	emit_exit(t);
}

/* Emits the code that replaces the call of helper 12 at a member's instruction pc. */
static void emit_tail(struct tails *t, const struct member *m, uint32_t pc, uint32_t nothing, uint32_t *ifs)
{
	int map = map_of(t, m, pc);
	const bool *may_hold = map == ANY_OF_ITS_MAPS ? m->may_call : t->may_hold[map];
	uint32_t over_limit;

	emit_line(t, gpubpf_prog_line(m->prog, pc));
	emit_imm64(t, GPUBPF_IMM_STACK, GPUBPF_R4, GPUBPF_PTR_STACK + GPUBPF_STACK_SIZE);
	emit(t,
	     (struct gpubpf_insn){ .kind = GPUBPF_INSN_LOAD, .width = 8, .dst = GPUBPF_R4, .src = GPUBPF_R4, .off = -8 });
	over_limit = emit_if(t, GPUBPF_JGT, GPUBPF_R4, MAX_TAIL_CALLS - 1);
	emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_CALL, .imm = TAIL_SLOT });
	for (uint32_t i = 0; i < t->nmembers; i++)
		if (may_hold[t->member[i].number])
			ifs[i] = emit_if(t, GPUBPF_JEQ, GPUBPF_R0, (int32_t)t->member[i].number);
	set_jump_target(t, over_limit);
	emit_call(t, nothing);
	emit_jump(t, m->first + pc + 1);
	for (uint32_t i = 0; i < t->nmembers; i++) {
		if (!may_hold[t->member[i].number])
			continue;
		set_jump_target(t, ifs[i]);
		emit_imm64(t, GPUBPF_IMM_CONST, GPUBPF_R0, (uint64_t)t->member[i].number << 32);
		emit_exit(t);
	}
}

/*
 * Copies instructions of a member and relocates their jump and call targets. m->more instructions are inserted after
 * the member's main function.
 */
static void emit_copy(struct tails *t, const struct member *m, uint32_t from, uint32_t to)
{
	uint32_t line = 0, own = m->prog->funcs[0].count;

	for (uint32_t pc = from; pc < to; pc++) {
		struct gpubpf_insn insn = m->prog->insns[pc];
		bool has_target = jumps(&insn) || insn.kind == GPUBPF_INSN_CALL_LOCAL ||
				  (insn.kind == GPUBPF_INSN_IMM64 && insn.op == GPUBPF_IMM_FUNC);

		while (line < m->prog->nlines && m->prog->lines[line].pc < pc)
			line++;
		if (line < m->prog->nlines && m->prog->lines[line].pc == pc)
			emit_line(t, &m->prog->lines[line]);
		if (has_target)
			insn.target += m->first + (insn.target < own ? 0 : m->more);
		emit(t, insn);
	}
}

/*
 * Emits a member. Its main function comes first; calls of helper 12 and exits in it become jumps. The code at the
 * targets of these jumps follows, then the member's other functions.
 */
static void emit_member(struct tails *t, struct member *m, uint32_t nothing, uint32_t *ifs)
{
	uint32_t own = m->prog->funcs[0].count, first = m->first = t->at;

	emit_copy(t, m, 0, own);
	for (uint32_t pc = 0; pc < own && t->at <= GPUBPF_MAX_INSNS; pc++) {
		const struct gpubpf_insn *insn = &m->prog->insns[pc];

		if (!is_tail_call(insn) && insn->kind != GPUBPF_INSN_EXIT)
			continue;
		if (first + pc < t->room)
			t->out->insns[first + pc] = (struct gpubpf_insn){ .kind = GPUBPF_INSN_JUMP, .target = t->at };
		if (is_tail_call(insn)) {
			emit_tail(t, m, pc, nothing, ifs);
			continue;
		}
		emit_line(t, gpubpf_prog_line(m->prog, pc));
		emit(t, (struct gpubpf_insn){ .kind = GPUBPF_INSN_ALU, .op = GPUBPF_MOV, .width = 4, .reg = true });
		emit_exit(t);
	}
	m->more = t->at - first - own;
	emit_copy(t, m, own, m->prog->ninsns);
}

static void emit_all(struct tails *t, uint32_t *ifs)
{
	uint32_t nothing;

	t->at = 0;
	t->out->nlines = 0;
	emit_first(t, ifs);
	nothing = t->at;
	emit_exit(t);
	for (uint32_t i = 0; i < t->nmembers && t->at <= GPUBPF_MAX_INSNS; i++)
		emit_member(t, &t->member[i], nothing, ifs);
}

static void name_functions(const struct tails *t)
{
	for (uint32_t f = 1; f < t->out->nfuncs; f++) {
		struct gpubpf_func *func = &t->out->funcs[f];

		for (uint32_t i = 0; i < t->nmembers; i++) {
			const struct member *m = &t->member[i];

			for (uint32_t k = 0; k < m->prog->nfuncs; k++)
				if (func->first == m->first + m->prog->funcs[k].first + (k ? m->more : 0))
					snprintf(func->name, sizeof(func->name), "%s", m->prog->funcs[k].name);
		}
		if (f == 1)
			snprintf(func->name, sizeof(func->name), "no_tail_call");
	}
}

/* Emits the merged program twice: first without memory, to compute sizes and offsets, then with all targets known. */
static int write_out(struct tails *t, uint32_t *ifs)
{
	uint32_t lines = 0;

	emit_all(t, ifs);
	t->total += t->at;
	if (t->total > GPUBPF_MAX_INSNS) {
		gpubpf_diag_where(t->l->diag, "%s: section '%s', program '%s'", t->l->path, t->out->section, t->out->name);
		return gpubpf_diag_set(t->l->diag, GPUBPF_E_BAD_INSN, GPUBPF_NOPC,
				       "with the programs that they may tail-call, the object's programs "
				       "have %u instructions or more; the limit is %d",
				       t->total, GPUBPF_MAX_INSNS);
	}
	for (uint32_t i = 0; i < t->nmembers; i++)
		lines += t->member[i].prog->nlines + t->member[i].prog->ninsns;
	t->out->insns = calloc(t->at + 1, sizeof(*t->out->insns));
	t->out->lines = calloc(lines + 1, sizeof(*t->out->lines));
	if (!t->out->insns || !t->out->lines)
		return -ENOMEM;
	t->room = t->out->ninsns = t->at;
	emit_all(t, ifs);
	t->out->nfuncs = 0;
	if (gpubpf_program_funcs(t->out, t->l->diag) < 0)
		return -ENOMEM;
	name_functions(t);
	return 0;
}

/* Merges a program of the unit with the programs that it may tail-call. */
static int link_program(struct tails *t, const struct gpubpf_prog *prog, uint32_t number, struct gpubpf_prog *out)
{
	uint32_t *ifs = calloc(t->n + 1, sizeof(*ifs));
	int err = -ENOMEM;

	*out = *prog;
	out->insns = NULL;
	out->lines = NULL;
	out->funcs = NULL;
	t->out = out;
	t->room = t->nmembers = 0;
	t->member = calloc(t->n + 1, sizeof(*t->member));
	if (ifs && t->member) {
		t->member[0] = (struct member){ .prog = prog, .number = number };
		t->nmembers = 1;
		err = gather(t);
		if (!err)
			err = write_out(t, ifs);
	}
	for (uint32_t i = 0; t->member && i < t->nmembers; i++)
		free(t->member[i].is_target);
	free(t->member);
	free(ifs);
	return err;
}

static int link_all(struct tails *t, const uint32_t *numbers, struct gpubpf_prog *out)
{
	int err = 0;

	for (uint32_t i = 0; i < t->n && !err; i++)
		if (calls(&t->progs[i]))
			err = link_program(t, &t->progs[i], numbers[i], &out[i]);
	return err;
}

int gpubpf_tails_link(struct gpubpf_loading *l, uint32_t first, const uint32_t *numbers)
{
	struct gpubpf_prog *progs = &l->out->unit.progs[first], *out;
	struct tails t = { .l = l, .progs = progs, .n = l->out->unit.nprogs - first };
	int err;

	out = calloc(t.n + 1, sizeof(*out));
	t.may_hold = calloc(GPUBPF_MAX_MAPS, sizeof(*t.may_hold));
	for (uint32_t m = 0; t.may_hold && m < l->out->unit.nmaps; m++)
		for (uint32_t i = 0; i < l->out->unit.maps[m].ntargets; i++)
			t.may_hold[m][l->out->unit.maps[m].targets[i].number] = true;
	err = out && t.may_hold ? link_all(&t, numbers, out) : -ENOMEM;
	for (uint32_t i = 0; out && i < t.n; i++) {
		struct gpubpf_prog old = out[i];

		if (!err && out[i].insns) {
			old = progs[i];
			progs[i] = out[i];
		}
		gpubpf_program_finish(&old);
	}
	free(out);
	free(t.may_hold);
	if (err == -ENOMEM)
		gpubpf_diag_set(l->diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for programs with tail calls");
	return err;
}
