/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refuses loops that wait for another lane. Lanes of a warp may run in lockstep. If a lane spins until another lane
 * writes a word or releases a lock, the spinning lane can prevent the other lane from running. In the PTX ISA, only
 * newer devices guarantee "Independent forward progress"; OpenCL C 3.0, 3.2.1 does not guarantee it between work-items.
 *
 * Such a loop exits only on a value that it reads at a fixed address from memory that other lanes write. A loop does
 * not depend on other lanes if it counts or stores to successive addresses. The same is true if it retries a
 * compare-and-exchange with the value that it last read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "simt.h"

/* flags: how a register's value may change inside the loop (0: it does not change) */
enum {
	FROM_SHARED = 1, /* each iteration reads the value from shared memory at a fixed address */
	FROM_ROUND = 2,  /* the loop changes the value in each iteration */
};

struct loop {
	const struct simt *s;
	uint32_t head, tail;
	uint32_t first, last; /* first and last instruction in the loop */
	uint8_t *body;        /* [n]: true if the instruction is in the loop */
	uint8_t *regs;        /* [n][registers]: flags FROM_* of each register before instruction n */
	uint32_t *work;       /* [n]: instructions to visit */
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

static void transfer(const struct loop *l, uint32_t pc, uint8_t *regs)
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
	case GPUBPF_INSN_CALL_LOCAL: {
		const struct gpubpf_helper *helper = gpubpf_insn_helper(insn);

		/* a look-up with an unchanged key finds the same element in every iteration */
		regs[GPUBPF_R0] = helper && helper->op == GPUBPF_OP_LOOKUP ? 0 : FROM_ROUND;
		break;
	}
	default:
		break;
	}
}

/*
 * Stores the successors except the loop's head, and returns their number (1 or 2). The successor of a call is the next
 * instruction.
 */
static int list_successors(const struct loop *l, uint32_t pc, uint32_t to[2])
{
	const struct gpubpf_insn *insn = &l->s->v->insns[pc];
	int n = 0;

	if ((insn->kind == GPUBPF_INSN_JUMP || insn->kind == GPUBPF_INSN_JCOND) && insn->target != l->head)
		to[n++] = insn->target;
	if (insn->kind != GPUBPF_INSN_JUMP && insn->kind != GPUBPF_INSN_EXIT && insn_next(l->s->v, pc) != l->head)
		to[n++] = insn_next(l->s->v, pc);
	return n;
}

enum { FROM_HEAD = 1, TO_TAIL = 2 };

static void mark_reached(struct loop *l)
{
	uint32_t n = 0, to[2];

	l->body[l->head] = FROM_HEAD;
	l->work[n++] = l->head;
	while (n)
		for (uint32_t pc = l->work[--n], k = (uint32_t)list_successors(l, pc, to); k > 0; k--)
			if (!l->body[to[k - 1]]) {
				l->body[to[k - 1]] = FROM_HEAD;
				l->work[n++] = to[k - 1];
			}
}

/*
 * Finds the instructions of the loop: they are reachable from the head, and reach the back edge without passing the
 * head again. Returns false if the jump is not a back edge. A backward jump may also lead to later code that the
 * compiler placed first.
 */
static bool find_body(struct loop *l)
{
	bool changed = true;
	uint32_t to[2];

	memset(l->body, 0, l->s->v->n);
	mark_reached(l);
	if (!l->body[l->tail])
		return false;
	l->body[l->tail] |= TO_TAIL;
	while (changed) {
		changed = false;
		for (uint32_t pc = l->s->v->n; pc-- > 0;)
			for (int k = l->body[pc] == FROM_HEAD ? list_successors(l, pc, to) : 0; k > 0; k--)
				if (l->body[to[k - 1]] & TO_TAIL) {
					l->body[pc] |= TO_TAIL;
					changed = true;
				}
	}
	l->first = l->head;
	l->last = l->tail;
	for (uint32_t pc = 0; pc < l->s->v->n; pc++) {
		l->body[pc] = (l->body[pc] & TO_TAIL) && l->s->v->aux[pc].walked;
		if (l->body[pc] && pc < l->first)
			l->first = pc;
		if (l->body[pc] && pc > l->last)
			l->last = pc;
	}
	return true;
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

/* Sets the flags of the registers at the loop's head: registers that the loop writes differ in each iteration. */
static void find_head_regs(const struct loop *l, uint8_t *regs)
{
	memset(regs, 0, GPUBPF_NREGS);
	for (uint32_t pc = l->first; pc <= l->last; pc++) {
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
	find_head_regs(l, l->regs + (size_t)l->head * GPUBPF_NREGS);
	while (changed) {
		changed = false;
		for (uint32_t pc = l->first; pc <= l->last; pc++) {
			uint8_t regs[GPUBPF_NREGS];
			uint32_t to[2];

			if (!l->body[pc])
				continue;
			memcpy(regs, l->regs + (size_t)pc * GPUBPF_NREGS, GPUBPF_NREGS);
			transfer(l, pc, regs);
			for (int k = list_successors(l, pc, to); k > 0; k--)
				changed |= join(l->regs + (size_t)to[k - 1] * GPUBPF_NREGS, regs);
		}
	}
}

static bool exits_loop(const struct loop *l, uint32_t pc)
{
	const struct gpubpf_insn *insn = &l->s->v->insns[pc];

	return insn->kind == GPUBPF_INSN_JCOND && insn->op != GPUBPF_MAY_GOTO && v_took_both_edges(l->s->v, pc) &&
	       !(l->body[insn->target] && l->body[pc + 1]);
}

/*
 * Returns true if the loop stores to another address in each iteration. Such a loop makes progress, and may read its
 * own stores.
 */
static bool makes_progress(const struct loop *l)
{
	for (uint32_t pc = l->first; pc <= l->last; pc++)
		if (l->body[pc] && l->s->v->insns[pc].kind == GPUBPF_INSN_STORE &&
		    shared(l->s, &l->s->v->facts->insn[pc].mem) &&
		    (l->regs[(size_t)pc * GPUBPF_NREGS + l->s->v->insns[pc].dst] & FROM_ROUND))
			return true;
	return false;
}

static int check_loop(struct loop *l)
{
	struct verifier *v = l->s->v;

	if (!find_body(l))
		return 0;
	flow_round(l);
	if (makes_progress(l))
		return 0;
	for (uint32_t pc = l->first; pc <= l->last; pc++) {
		const uint8_t *regs = l->regs + (size_t)pc * GPUBPF_NREGS;
		const struct gpubpf_insn *insn = &v->insns[pc];

		if (!l->body[pc] || !exits_loop(l, pc))
			continue;
		if ((regs[insn->dst] | (insn->reg ? regs[insn->src] : 0)) == FROM_SHARED)
			return gpubpf_diag_set(v->diag, GPUBPF_E_SIMT_WAIT, pc,
					       "the loop at %u to %u ends only when another lane changes a value",
					       l->first, l->last);
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
	l.work = malloc(s->v->n * sizeof(*l.work));
	if (!l.body || !l.regs || !l.work)
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
	free(l.work);
	return err;
}
