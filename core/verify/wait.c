/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loops that wait for another lane. Lanes of a warp may run in lockstep: one that spins until another writes
 * a word, or gives back a lock, can keep that other from running (PTX ISA, "Independent forward progress" is
 * promised by newer devices only; OpenCL C 3.0, 3.2.1 promises none between work-items). Such a loop leaves on
 * nothing but what it reads, at an address that does not change, from memory that other lanes write. A loop
 * that counts, or retries a compare-and-exchange with what it last read, goes on by itself.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simt.h"

/* what a register is made of inside the loop; nothing: it is the same in every round */
enum {
	FROM_SHARED = 1, /* read in this round from shared memory at a fixed address */
	FROM_ROUND = 2,  /* differs from round to round by the loop's own doing */
};

struct loop {
	const struct simt *s;
	uint32_t head, tail;
	uint8_t *body;              /* [n] */
	uint8_t *regs;              /* [n][registers] */
};

static bool shared(const struct simt *s, const struct gpubpf_access *a)
{
	const struct gpubpf_map *map;

	if (!(a->spaces & GPUBPF_SPACE_MAP_VALUE))
		return false;
	map = a->map >= 0 ? &s->v->unit->maps[a->map] : NULL;
	return !map || (!map->rdonly && !(map->type->flags & GPUBPF_MAP_THREAD));
}

static uint8_t load_from(const struct loop *l, uint32_t pc, uint8_t address)
{
	const struct gpubpf_access *a = &l->s->v->facts->insn[pc].mem;

	if (a->spaces == GPUBPF_SPACE_CTX)
		return 0;
	return shared(l->s, a) && !address ? FROM_SHARED : FROM_ROUND;
}

static void step(const struct loop *l, uint32_t pc, uint8_t *regs)
{
	const struct gpubpf_insn *insn = &l->s->v->insns[pc];
	uint8_t src = insn->reg ? regs[insn->src] : 0;

	switch ((enum gpubpf_insn_kind)insn->kind) {
	case GPUBPF_INSN_ALU:
		regs[insn->dst] = insn->op == GPUBPF_MOV || insn->op == GPUBPF_MOVSX ? src : regs[insn->dst] | src;
		break;
	case GPUBPF_INSN_IMM64:
		regs[insn->dst] = 0;
		break;
	case GPUBPF_INSN_LOAD:
		regs[insn->dst] = load_from(l, pc, regs[insn->src]);
		break;
	case GPUBPF_INSN_ATOMIC: {
		bool fixed = shared(l->s, &l->s->v->facts->insn[pc].mem) && !regs[insn->dst] && !src;

		if (insn->op == GPUBPF_ATOMIC_CMPXCHG)
			regs[GPUBPF_R0] = fixed && !regs[GPUBPF_R0] ? FROM_SHARED : FROM_ROUND;
		else if (insn->op == GPUBPF_ATOMIC_XCHG)
			regs[insn->src] = fixed ? FROM_SHARED : FROM_ROUND;
		else if (insn->op >= GPUBPF_ATOMIC_FETCH_ADD)
			regs[insn->src] = FROM_ROUND;
		break;
	}
	case GPUBPF_INSN_CALL:
	case GPUBPF_INSN_CALL_LOCAL:
		/* the element that a key names is the same in every round */
		regs[GPUBPF_R0] = insn->kind == GPUBPF_INSN_CALL && insn->imm == 1 ? 0 : FROM_ROUND;
		break;
	default:
		break;
	}
}

/* The body: what reaches the back edge without passing the head. Compilers lay loops out in one piece; a body
 * that is not is taken as all between head and tail. */
static void find_body(struct loop *l)
{
	memset(l->body, 0, l->s->v->n);
	for (uint32_t pc = l->head; pc <= l->tail; pc++)
		l->body[pc] = l->s->v->aux[pc].walked && l->s->v->insns[pc].kind != GPUBPF_INSN_HI;
}

static bool join(uint8_t *to, const uint8_t *from)
{
	bool changed = false;

	for (int r = 0; r < GPUBPF_NREGS; r++) {
		changed |= (to[r] | from[r]) != to[r];
		to[r] |= from[r];
	}
	return changed;
}

/* What is written anywhere in the loop is another value in each round, at its head. */
static void head_regs(const struct loop *l, uint8_t *regs)
{
	memset(regs, 0, GPUBPF_NREGS);
	for (uint32_t pc = l->head; pc <= l->tail; pc++) {
		const struct gpubpf_insn *insn = &l->s->v->insns[pc];

		if (!l->body[pc])
			continue;
		if (insn->kind == GPUBPF_INSN_ALU || insn->kind == GPUBPF_INSN_LOAD || insn->kind == GPUBPF_INSN_IMM64)
			regs[insn->dst] = FROM_ROUND;
		else if (insn->kind == GPUBPF_INSN_CALL || insn->kind == GPUBPF_INSN_CALL_LOCAL)
			memset(regs, FROM_ROUND, GPUBPF_R6);
		else if (insn->kind == GPUBPF_INSN_ATOMIC)
			regs[insn->op == GPUBPF_ATOMIC_CMPXCHG ? GPUBPF_R0 : insn->src] = FROM_ROUND;
	}
}

static void flow_round(struct loop *l)
{
	bool changed = true;

	memset(l->regs, 0, (size_t)l->s->v->n * GPUBPF_NREGS);
	head_regs(l, l->regs + (size_t)l->head * GPUBPF_NREGS);
	while (changed) {
		changed = false;
		for (uint32_t pc = l->head; pc <= l->tail; pc++) {
			const struct gpubpf_insn *insn = &l->s->v->insns[pc];
			uint8_t regs[GPUBPF_NREGS];
			bool jumps = insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND;
			uint32_t next = insn_next(l->s->v, pc);

			if (!l->body[pc])
				continue;
			memcpy(regs, l->regs + (size_t)pc * GPUBPF_NREGS, GPUBPF_NREGS);
			step(l, pc, regs);
			if (jumps && insn->target != l->head && insn->target > l->head && insn->target <= l->tail)
				changed |= join(l->regs + (size_t)insn->target * GPUBPF_NREGS, regs);
			if (insn->kind != GPUBPF_INSN_JUMP && insn->kind != GPUBPF_INSN_EXIT && next <= l->tail)
				changed |= join(l->regs + (size_t)next * GPUBPF_NREGS, regs);
		}
	}
}

static bool leaves(const struct loop *l, uint32_t pc)
{
	const struct gpubpf_insn *insn = &l->s->v->insns[pc];

	return insn->kind == GPUBPF_INSN_JCOND && v_both_ways(l->s->v, pc) &&
	       (insn->target < l->head || insn->target > l->tail || pc == l->tail);
}

static int check_loop(struct loop *l)
{
	struct verifier *v = l->s->v;

	find_body(l);
	flow_round(l);
	for (uint32_t pc = l->head; pc <= l->tail; pc++) {
		const uint8_t *regs = l->regs + (size_t)pc * GPUBPF_NREGS;
		const struct gpubpf_insn *insn = &v->insns[pc];

		if (!l->body[pc] || !leaves(l, pc))
			continue;
		if ((regs[insn->dst] | (insn->reg ? regs[insn->src] : 0)) == FROM_SHARED)
			return gpubpf_diag_set(v->diag, GPUBPF_E_SIMT_WAIT, pc,
					       "the loop at %u to %u leaves when another lane changes a value", l->head,
					       l->tail);
	}
	return 0;
}

int wait_check(struct simt *s)
{
	struct loop l = { .s = s };
	int err = 0;

	if (!s->v->nloops)
		return 0;
	l.body = malloc(s->v->n);
	l.regs = malloc((size_t)s->v->n * GPUBPF_NREGS);
	if (!l.body || !l.regs)
		err = -ENOMEM;
	for (uint32_t pc = 0; !err && pc < s->v->n; pc++) {
		const struct gpubpf_insn *insn = &s->v->insns[pc];
		bool jumps = insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND;

		if (!jumps || insn->target > pc || !s->v->aux[pc].walked)
			continue;
		l.head = insn->target;
		l.tail = pc;
		err = check_loop(&l);
	}
	free(l.body);
	free(l.regs);
	return err;
}
