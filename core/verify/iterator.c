/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks open-coded iterators (bpf_iter_num_new() and others, which bpf_for() calls) and may_goto.
 *
 * At each bpf_iter_num_next() the walk forks: on one path the iterator has no further number, on the other it has one.
 * At each may_goto the walk forks in the same way. A path ends there if an earlier state of the same iterator, with more
 * numbers left, covers its state (prune.c). So each loop of covered states uses up numbers of one iterator, and an
 * endless loop around iterators is not accepted. Numbers that differ between iterations become unknown if no check
 * relied on them (widen_state()).
 */
#include "core/verify/verify.h"

static bool is_next(const struct gpubpf_insn *insn)
{
	return insn->kind == GPUBPF_INSN_CALL;
}

/* Returns the iterator to which r1 points, or NULL. */
static const struct stack_slot *iterator_of(const struct state *s)
{
	const struct reg *p = &s->frame[s->nframes - 1]->regs[GPUBPF_R1];
	const struct stack_slot *slot;
	int64_t lo, hi;

	if (p->type != R_STACK || ptr_offset(p, 0, &lo, &hi) < 0 || lo != hi || lo >= 0 || lo < -GPUBPF_STACK_SIZE)
		return NULL;
	slot = slot_of(s->frame[p->frame], (int)lo);
	return slot && slot->kind[0] == B_ITER ? slot : NULL;
}

struct loop_state loop_at(const struct verifier *v, const struct state *s, uint32_t pc)
{
	const struct frame *f = s->frame[s->nframes - 1];
	const struct stack_slot *slot;

	if (v->aux[pc].calls_back)
		return (struct loop_state){ f->rounds_id, UINT32_MAX - f->rounds };
	if (!is_next(&v->insns[pc]))
		return (struct loop_state){ f->id, f->may_left };
	slot = iterator_of(s);
	return slot ? (struct loop_state){ slot->reg.ref, slot->reg.size } : (struct loop_state){ 0, 0 };
}

bool has_iterator(const struct frame *f)
{
	for (uint32_t k = 0; k < f->nslots; k++)
		if (f->slots[k].kind[0] == B_ITER)
			return true;
	return false;
}

int iter_check_arg(struct verifier *v, const struct gpubpf_helper *h, int i)
{
	struct gpubpf_access a = { .align = 8, .map = GPUBPF_NO_MAP };
	const struct reg p = cur_regs(v)[GPUBPF_R1 + i];
	struct stack_slot *slot;
	int err = stack_iterator(v, &p, h->arg[i] == GPUBPF_ARG_ITER_NEW, h->name, &a, &slot);

	if (err < 0)
		return err;
	facts_arg(v, i, &a);
	return 0;
}

/* Sets the registers to their content after a helper on iterators has returned. */
static struct reg *end_call(struct state *s)
{
	struct reg *regs = s->frame[s->nframes - 1]->regs;

	for (int r = GPUBPF_R0; r <= GPUBPF_R5; r++)
		reg_uninit(&regs[r]);
	return &regs[GPUBPF_R0];
}

/* Returns the maximum number of numbers of an iterator from r2 to r3. Too many numbers are an error when it runs. */
static uint32_t count_numbers(struct verifier *v)
{
	const struct reg *start = &cur_regs(v)[GPUBPF_R2], *end = &cur_regs(v)[GPUBPF_R3];
	int64_t n = (int64_t)end->s.w32.smax - start->s.w32.smin;

	if (reg_is_ptr(start) || reg_is_ptr(end))
		return GPUBPF_LOOP_MAX;
	mark_reg(v, start);
	mark_reg(v, end);
	return n < 0 ? 0 : n > GPUBPF_LOOP_MAX ? GPUBPF_LOOP_MAX : (uint32_t)n;
}

static int iter_new(struct verifier *v, struct stack_slot *slot)
{
	uint32_t left = count_numbers(v);

	for (int k = 0; k < 8; k++)
		slot->kind[k] = B_ITER;
	reg_uninit(&slot->reg);
	slot->reg.type = R_ITER;
	slot->reg.ref = new_id(v);
	slot->reg.size = left;
	slot->read = 0;
	reg_unknown(end_call(v->cur));
	v->pc++;
	return 0;
}

/* Sets r0 to a pointer to the iterator's number. */
static void set_number(struct state *s, const struct reg *p, const struct stack_slot *slot)
{
	struct reg *r0 = end_call(s);

	reg_const(r0, 0);
	r0->type = R_INT;
	r0->frame = p->frame;
	r0->ref = slot->reg.ref;
	r0->size = (uint32_t)(p->off + (int32_t)p->s.w64.smin);
}

static int iter_next(struct verifier *v, struct stack_slot *slot)
{
	struct reg p = cur_regs(v)[GPUBPF_R1];
	struct state *done;

	if (!slot->reg.size) {
		reg_const(end_call(v->cur), 0);
		v->pc++;
		return 0;
	}
	slot->reg.size--;
	done = state_copy(v, v->cur);
	if (!done)
		return -1;
	slot_of(done->frame[p.frame], p.off + (int)p.s.w64.smin)->reg.size = 0;
	reg_const(end_call(done), 0);
	if (push_branch(v, done, v->pc + 1) < 0)
		return -1;
	set_number(v->cur, &p, slot);
	v->pc++;
	return 0;
}

/* Ends an iterator. Pointers to its number become unreadable. */
static int iter_destroy(struct verifier *v, struct stack_slot *slot)
{
	uint32_t id = slot->reg.ref;

	for (int k = 0; k < 8; k++)
		slot->kind[k] = B_INVALID;
	end_call(v->cur);
	v->pc++;
	return ref_release(v, id);
}

int iter_call(struct verifier *v, const struct gpubpf_helper *h)
{
	const struct reg *p = &cur_regs(v)[GPUBPF_R1];
	struct stack_slot *slot = slot_of(v->cur->frame[p->frame], p->off + (int)p->s.w64.smin);

	if (h->op == GPUBPF_OP_ITER_NEW)
		return iter_new(v, slot);
	return h->op == GPUBPF_OP_ITER_NEXT ? iter_next(v, slot) : iter_destroy(v, slot);
}

int do_may_goto(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct state *other;
	int err;

	v->aux[v->pc].seen |= 2;
	if (!cur_frame(v)->may_left) {
		tally_jump(v, v->cur, v->pc);
		v->pc = insn->target;
		return 0;
	}
	other = state_copy(v, v->cur);
	if (!other)
		return -1;
	v->aux[v->pc].seen |= 1;
	other->frame[other->nframes - 1]->may_left = 0;
	tally_jump(v, other, v->pc);
	err = push_branch(v, other, insn->target);
	cur_frame(v)->may_left--;
	v->pc++;
	return err;
}
