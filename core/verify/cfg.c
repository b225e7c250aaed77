/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: finds functions, checks that control flow stays inside them (RFC 9669 4.3) and that calls do not recurse, and
 * computes live registers.
 * Before: the instructions are decoded.
 * After: all members of aux are set, except the members that the walk sets.
 * Requires: the walk has not started.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verify.h"

uint32_t insn_next(const struct verifier *v, uint32_t pc)
{
	return pc + (v->insns[pc].kind == GPUBPF_INSN_IMM64 ? 2 : 1);
}

static bool names_function(const struct gpubpf_insn *insn)
{
	return insn->kind == GPUBPF_INSN_CALL_LOCAL || (insn->kind == GPUBPF_INSN_IMM64 && insn->op == GPUBPF_IMM_FUNC);
}

/* Returns the index of the function that begins at pc, or -1. */
int cfg_func_at(const struct verifier *v, uint32_t pc)
{
	uint32_t f = v->aux[pc].func;

	return v->funcs[f].first == pc ? (int)f : -1;
}

static int find_functions(struct verifier *v)
{
	uint32_t count = 1;

	v->aux[0].leader = true;
	for (uint32_t pc = 0; pc < v->n; pc++)
		if (names_function(&v->insns[pc]) && !v->aux[v->insns[pc].target].leader) {
			v->aux[v->insns[pc].target].leader = true;
			count++;
		}
	if (count > UINT16_MAX)
		return gpubpf_diag_set(v->diag, GPUBPF_E_TOO_COMPLEX, GPUBPF_NOPC, "the program has %u functions", count);
	v->funcs = calloc(count, sizeof(*v->funcs));
	if (!v->funcs)
		return -ENOMEM;
	for (uint32_t pc = 0; pc < v->n; pc++) {
		if (v->aux[pc].leader) {
			if (v->nfuncs)
				v->funcs[v->nfuncs - 1].end = pc;
			v->funcs[v->nfuncs++].first = pc;
		}
		v->aux[pc].func = v->nfuncs - 1;
	}
	v->funcs[v->nfuncs - 1].end = v->n;
	for (uint32_t pc = 0; pc < v->n; pc++)
		if (v->insns[pc].kind == GPUBPF_INSN_IMM64 && v->insns[pc].op == GPUBPF_IMM_FUNC)
			v->funcs[v->aux[v->insns[pc].target].func].called_back = true;
	return 0;
}

static int check_jumps(struct verifier *v)
{
	for (uint32_t pc = 0; pc < v->n; pc++) {
		const struct gpubpf_insn *insn = &v->insns[pc];
		const struct func_info *f = &v->funcs[v->aux[pc].func];

		if (insn->kind != GPUBPF_INSN_JUMP && insn->kind != GPUBPF_INSN_JCOND)
			continue;
		if (insn->target < f->first || insn->target >= f->end)
			return gpubpf_diag_set(v->diag, GPUBPF_E_BAD_JUMP, pc,
					       "jumps to %u, out of the function at %u to %u", insn->target, f->first,
					       f->end - 1);
		v->aux[insn->target].prune = v->aux[insn->target].leader = true;
		if (insn->target <= pc && v->nloops < MAX_LOOPS)
			v->aux[pc].loop = (uint8_t)++v->nloops;
		if (pc + 1 < v->n)
			v->aux[pc + 1].leader = true;
	}
	for (uint32_t i = 0; i < v->nfuncs; i++) {
		const struct gpubpf_insn *last = &v->insns[v->funcs[i].end - 1];

		if (last->kind != GPUBPF_INSN_EXIT && last->kind != GPUBPF_INSN_JUMP)
			return gpubpf_diag_set(v->diag, GPUBPF_E_CFG, v->funcs[i].end - 1,
					       "the last instruction of a function is neither exit nor a jump");
		v->aux[v->funcs[i].first].prune = true;
	}
	return 0;
}

/*
 * Checks that all instructions are reachable. The search starts at the program's entry. It also enters each function
 * that a reached instruction calls, or whose address a reached instruction loads.
 */
static int check_reachable(struct verifier *v)
{
	uint8_t *reached = calloc(v->n, 1);
	uint32_t *work = malloc(v->n * sizeof(*work)), n = 0;
	int err = 0;

	if (!reached || !work) {
		free(reached);
		free(work);
		return -ENOMEM;
	}
#define REACH(to) do { uint32_t t_ = (to); if (!reached[t_]) { reached[t_] = 1; work[n++] = t_; } } while (0)
	REACH(0);
	while (n) {
		uint32_t pc = work[--n];
		const struct gpubpf_insn *insn = &v->insns[pc];

		if (insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND || names_function(insn))
			REACH(insn->target);
		if (insn->kind == GPUBPF_INSN_IMM64)
			reached[pc + 1] = 1;
		if (insn->kind != GPUBPF_INSN_JUMP && insn->kind != GPUBPF_INSN_EXIT)
			REACH(insn_next(v, pc));
	}
#undef REACH
	for (uint32_t pc = 0; !err && pc < v->n; pc++)
		if (!reached[pc])
			err = gpubpf_diag_set(v->diag, GPUBPF_E_UNREACHABLE, pc, "no path leads to this instruction");
	free(reached);
	free(work);
	return err;
}

/*
 * Computes the height of the call tree below function f by depth-first search. The member colour is 1 while f is on the
 * current path, and 2 when f is finished.
 */
static int call_height(struct verifier *v, uint32_t f, uint32_t depth)
{
	struct func_info *fn = &v->funcs[f];

	if (depth >= GPUBPF_MAX_FRAMES)
		return gpubpf_diag_set(v->diag, GPUBPF_E_CALL_DEPTH, fn->first, "calls nest more than %d frames deep",
				       GPUBPF_MAX_FRAMES);
	fn->colour = 1;
	fn->height = 1;
	for (uint32_t pc = fn->first; pc < fn->end; pc++) {
		const struct gpubpf_insn *insn = &v->insns[pc];
		struct func_info *to;
		int err;

		if (!names_function(insn))
			continue;
		to = &v->funcs[v->aux[insn->target].func];
		if (to->colour == 1)
			return gpubpf_diag_set(v->diag, GPUBPF_E_CALL_DEPTH, pc, "the function at %u calls itself",
					       to->first);
		if (to->colour == 0) {
			err = call_height(v, v->aux[insn->target].func, depth + 1);
			if (err < 0)
				return err;
		}
		if (to->height + 1 > fn->height)
			fn->height = to->height + 1;
	}
	fn->colour = 2;
	if (depth + fn->height > GPUBPF_MAX_FRAMES)
		return gpubpf_diag_set(v->diag, GPUBPF_E_CALL_DEPTH, fn->first, "calls nest more than %d frames deep",
				       GPUBPF_MAX_FRAMES);
	return 0;
}

/*
 * Returns the stack size in bytes of the deepest call chain from f on, with each frame rounded up to 16 as in the Linux
 * kernel. The recursion terminates because call_height() has refused recursive programs.
 */
static uint32_t compute_chain_stack(struct verifier *v, uint32_t f)
{
	struct func_info *fn = &v->funcs[f];
	uint32_t deepest = 0;

	if (fn->colour == 3)
		return fn->height_stack;
	for (uint32_t pc = fn->first; pc < fn->end; pc++)
		if (names_function(&v->insns[pc])) {
			uint32_t below = compute_chain_stack(v, v->aux[v->insns[pc].target].func);

			deepest = below > deepest ? below : deepest;
		}
	fn->colour = 3;
	fn->height_stack = deepest + ((fn->stack + 15) & ~15u);
	return fn->height_stack;
}

int cfg_stack_depth(struct verifier *v)
{
	uint32_t bytes = compute_chain_stack(v, 0);

	v->facts->stack = bytes;
	v->facts->frames = v->funcs[0].height;
	if (bytes > GPUBPF_STACK_SIZE)
		return gpubpf_diag_set(v->diag, GPUBPF_E_STACK_DEPTH, GPUBPF_NOPC,
				       "the frames of the deepest call chain take %u bytes of stack, %d are allowed",
				       bytes, GPUBPF_STACK_SIZE);
	return 0;
}

#define BIT(r) (1u << (r))
#define CALLER_SAVED 0x3f

static uint16_t get_arg_regs(const struct gpubpf_insn *insn)
{
	const struct gpubpf_helper *h = gpubpf_helper_find(insn->imm);
	uint16_t uses = 0;

	for (int i = 0; h && i < 5 && h->arg[i] != GPUBPF_ARG_NONE; i++)
		uses |= BIT(GPUBPF_R1 + i);
	return uses;
}

/* Returns the registers that are live before an instruction. `after` is the set of registers that are live after it. */
static uint16_t compute_live_before(const struct gpubpf_insn *insn, uint16_t after)
{
	uint16_t dst = BIT(insn->dst), src = insn->reg ? BIT(insn->src) : 0;

	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		if (insn->op == GPUBPF_MOV || insn->op == GPUBPF_MOVSX)
			return (after & ~dst) | src;
		return after | dst | src;
	case GPUBPF_INSN_LOAD:
		return (after & ~dst) | BIT(insn->src);
	case GPUBPF_INSN_JCOND:
		return insn->op == GPUBPF_MAY_GOTO ? after : after | dst | src;
	case GPUBPF_INSN_STORE:
		return after | dst | src;
	case GPUBPF_INSN_ATOMIC:
		if (insn->op == GPUBPF_ATOMIC_CMPXCHG)
			return after | dst | src | BIT(GPUBPF_R0);
		return after | dst | src;
	case GPUBPF_INSN_CALL:
		return (after & ~CALLER_SAVED) | get_arg_regs(insn);
	case GPUBPF_INSN_CALL_LOCAL:
		return (after & ~CALLER_SAVED) | 0x3e;
	case GPUBPF_INSN_EXIT:
		return BIT(GPUBPF_R0);
	case GPUBPF_INSN_IMM64:
		return after & ~dst;
	default:
		return after;
	}
}

/* Computes aux[pc].live, the registers that are live before pc, by backward iteration to the fixed point. */
void cfg_liveness(struct verifier *v)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t pc = v->n; pc-- > 0;) {
			const struct gpubpf_insn *insn = &v->insns[pc];
			uint16_t after = 0, before;

			if (insn->kind == GPUBPF_INSN_HI)
				continue;
			if (insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND)
				after |= v->aux[insn->target].live;
			if (insn->kind != GPUBPF_INSN_JUMP && insn->kind != GPUBPF_INSN_EXIT)
				after |= v->aux[insn_next(v, pc)].live;
			before = compute_live_before(insn, after);
			if (before != v->aux[pc].live) {
				v->aux[pc].live = before;
				changed = true;
			}
		}
	}
}

/*
 * Checks that every map to which an instruction refers exists. If an instruction loads the address of a map value, the
 * map must be an array of one value. The address must lie in this value.
 */
static int check_maps(struct verifier *v)
{
	for (uint32_t pc = 0; pc < v->n; pc++) {
		const struct gpubpf_insn *insn = &v->insns[pc];
		const struct gpubpf_map *map;

		if (insn->kind != GPUBPF_INSN_IMM64 || (insn->op != GPUBPF_IMM_MAP && insn->op != GPUBPF_IMM_MAP_VALUE))
			continue;
		if (insn->imm < 0 || (uint32_t)insn->imm >= v->unit->nmaps || insn->imm > INT16_MAX)
			return gpubpf_diag_set(v->diag, GPUBPF_E_BAD_MAP, pc, "names map %d; the program has %u",
					       insn->imm, v->unit->nmaps);
		map = &v->unit->maps[insn->imm];
		if (insn->op == GPUBPF_IMM_MAP)
			continue;
		if (map->max_entries != 1 || !(map->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_ADDRESS)))
			return gpubpf_diag_set(
				v->diag, GPUBPF_E_BAD_MAP, pc,
				"takes the address of a value of map %s, which is possible only in an array of one element",
				map->name);
		if (insn->imm64 < 0 || insn->imm64 >= (int64_t)map->value_size || insn->imm64 >= MAX_OFFSET)
			return gpubpf_diag_set(v->diag, GPUBPF_E_MAP_BOUNDS, pc,
					       "takes the address of byte %lld of a value of %u bytes",
					       (long long)insn->imm64, map->value_size);
	}
	return 0;
}

/*
 * Marks calls of helpers with callbacks, and instructions that advance a loop. Paths merge at such an instruction, once
 * per iteration.
 */
static void find_iterations(struct verifier *v)
{
	for (uint32_t pc = 0; pc < v->n; pc++) {
		const struct gpubpf_helper *h = gpubpf_insn_helper(&v->insns[pc]);
		struct insn_aux *aux = &v->aux[pc];

		aux->calls_back = h && h->arg[1] == GPUBPF_ARG_CALLBACK;
		aux->advances = (h && h->op == GPUBPF_OP_ITER_NEXT) ||
				(v->insns[pc].kind == GPUBPF_INSN_JCOND && v->insns[pc].op == GPUBPF_MAY_GOTO);
		if (!aux->calls_back && !aux->advances)
			continue;
		v->compare_all = aux->prune = true;
		if (v->ncalling < MAX_CALLING) {
			v->calling[v->ncalling].pc = pc;
			aux->calling = (uint8_t)(v->ncalling + 1);
		}
		v->ncalling++;
	}
}

int cfg_check(struct verifier *v)
{
	int err = find_functions(v);

	if (err < 0)
		return err;
	err = check_jumps(v);
	if (err < 0)
		return err;
	err = check_reachable(v);
	if (err < 0)
		return err;
	err = check_maps(v);
	if (err < 0)
		return err;
	find_iterations(v);
	return call_height(v, 0, 0);
}
