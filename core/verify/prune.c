/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a path early if an earlier state at the same pc covers the current state. All paths from the earlier state must
 * be safe. The earlier state covers the current one if each live register of it, and each stack slot that was read
 * later, includes the current value. Numbers without a precision mark in the earlier state may have any current value.
 *
 * In programs with callbacks, iterators or may_goto, the state of an unfinished iteration may cover the current state
 * too. The current state must have fewer iterations left. Marks of unfinished states are not final, so all numbers and
 * all of the stack are compared. In other programs, a state whose paths have not all ended
 * never ends a path. It only detects an endless loop: an iteration that leaves all registers and the stack unchanged.
 */
#include <stdlib.h>
#include <string.h>

#include "verify.h"

/* A checkpoint is stored when MIN_INSNS instructions and MIN_JUMPS jumps were walked since the last one. */
#define MIN_INSNS 8
#define MIN_JUMPS 2
/* In a loop, a checkpoint is stored when LOOP_INSNS instructions or LOOP_JUMPS jumps were walked since the last one. */
#define LOOP_INSNS 64
#define LOOP_JUMPS 12
#define MANY_MISSES 64
#define MAX_STATE_BYTES (96u << 20)
#define MAX_IDS 256

enum mode {
	BY_MARKS,
	WITHIN,
	EXACT,
};

struct compare {
	struct verifier *v;
	enum mode mode;
	uint32_t n, old_id[MAX_IDS], new_id[MAX_IDS];
};

/*
 * Compares ids: numbers with equal ids in the old state must have equal ids in the new state. Different ids in the old
 * state may be equal in the new one, because then more is known about the new numbers.
 */
static bool ids_match(struct compare *c, uint32_t old, uint32_t now)
{
	if (!old)
		return true;
	if (!now)
		return false;
	for (uint32_t i = 0; i < c->n; i++)
		if (c->old_id[i] == old)
			return c->new_id[i] == now;
	if (c->n == MAX_IDS)
		return false;
	c->old_id[c->n] = old;
	c->new_id[c->n++] = now;
	return true;
}

/*
 * Compares the links of two numbers. If the new number has no id, no other number is linked to it. It then matches a
 * number of the old state whose id no other register has.
 */
static bool links_match(struct compare *c, const struct reg *old, const struct reg *now)
{
	if (!old->id)
		return true;
	if (now->id)
		return old->linked == now->linked && (!old->linked || old->off == now->off) &&
		       ids_match(c, old->id, now->id);
	return !old->linked && ids_match(c, old->id, UINT32_MAX - c->n);
}

static bool scalar_covers(struct compare *c, const struct reg *old, const struct reg *now)
{
	switch (c->mode) {
	case EXACT:
		return scalar_equal(&old->s, &now->s);
	case BY_MARKS:
		if (!mark_is_on(c->v, old->mark))
			return true;
		/* fallthrough */
	case WITHIN:
		return scalar_within(&now->s, &old->s) && links_match(c, old, now);
	}
	return false;
}

static bool reg_covers(struct compare *c, const struct reg *old, const struct reg *now)
{
	if (old->type == R_UNINIT && c->mode != EXACT)
		return true;
	if (old->type != now->type)
		return false;
	if (old->type == R_UNINIT)
		return true;
	if (old->type == R_SCALAR)
		return scalar_covers(c, old, now);
	if (old->or_null != now->or_null || old->frame != now->frame || old->map != now->map || old->off != now->off ||
	    old->size != now->size || (old->or_null && !ids_match(c, old->id, now->id)) || !old->ref != !now->ref ||
	    !ids_match(c, old->ref, now->ref))
		return false;
	return c->mode == EXACT ? scalar_equal(&old->s, &now->s) : scalar_within(&now->s, &old->s);
}

static bool is_number_byte(const struct stack_slot *s, unsigned int k)
{
	return s->kind[k] == B_MISC || s->kind[k] == B_ZERO || s->kind[k] == B_UPPER ||
	       (s->kind[k] == B_SPILL && s->reg.type == R_SCALAR);
}

static bool byte_covers(struct compare *c, const struct stack_slot *old, const struct stack_slot *now, unsigned int k)
{
	const struct reg *reg = old->kind[k] == B_UPPER ? &old->upper : &old->reg;
	bool loose = c->mode == BY_MARKS && reg->type == R_SCALAR && !mark_is_on(c->v, reg->mark);

	switch (old->kind[k]) {
	case B_INVALID:
		return true;
	case B_MISC:
		return is_number_byte(now, k);
	case B_ZERO:
		return now->kind[k] == B_ZERO;
	default:
		return now->kind[k] == old->kind[k] || (loose && is_number_byte(now, k));
	}
}

/*
 * Compares the register that was spilled to the slot, or with `kind` B_UPPER the register that was spilled to its upper
 * half. If the two spills differ in length, only the shorter one was truncated to its size, so their numbers cannot be
 * compared. The old state then covers the new one only if nothing relied on the old number.
 */
static bool spill_covers(struct compare *c, const struct stack_slot *old, const struct stack_slot *now, uint8_t kind)
{
	const struct reg *before = kind == B_UPPER ? &old->upper : &old->reg,
			 *reg = kind == B_UPPER ? &now->upper : &now->reg;

	for (unsigned int k = 0; k < 8; k++)
		if ((old->kind[k] == kind) != (now->kind[k] == kind))
			return c->mode == BY_MARKS && before->type == R_SCALAR && reg->type == R_SCALAR &&
			       !mark_is_on(c->v, before->mark);
	return reg_covers(c, before, reg);
}

/*
 * A state with fewer numbers left has fewer future iterations. An iterator without numbers no longer advances, so a
 * state in which it has some does not cover it.
 */
static bool iterator_covers(struct compare *c, const struct reg *old, const struct reg *now)
{
	if (c->mode == EXACT)
		return old->ref == now->ref && old->size == now->size;
	return now->size <= old->size && !now->size == !old->size && ids_match(c, old->ref, now->ref);
}

static bool dynptr_covers(struct compare *c, const struct reg *old, const struct reg *now)
{
	if (old->map != now->map || old->size != now->size || old->frame != now->frame)
		return false;
	return c->mode == EXACT ? old->ref == now->ref : ids_match(c, old->ref, now->ref);
}

static bool slot_covers(struct compare *c, const struct stack_slot *old, const struct stack_slot *now)
{
	static const struct stack_slot nothing;

	if (c->mode == BY_MARKS && !mark_is_on(c->v, old->read))
		return true;
	if (!now)
		now = &nothing;
	if (c->mode == EXACT && memcmp(old->kind, now->kind, sizeof(old->kind)))
		return false;
	for (unsigned int k = 0; k < 8; k++)
		if (!byte_covers(c, old, now, k))
			return false;
	if (old->kind[0] == B_ITER && !iterator_covers(c, &old->reg, &now->reg))
		return false;
	if (old->kind[0] == B_DYNPTR && !dynptr_covers(c, &old->reg, &now->reg))
		return false;
	if (old->kind[0] == B_SPILL && now->kind[0] == B_SPILL && !spill_covers(c, old, now, B_SPILL))
		return false;
	return !holds_upper(old) || !holds_upper(now) || spill_covers(c, old, now, B_UPPER);
}

/*
 * Returns the registers of frame i that are live. For the current frame, these are the registers live at pc, and for a
 * caller's frame the registers live after its call.
 */
static uint16_t get_live_regs(const struct verifier *v, const struct state *s, uint32_t i, uint32_t pc)
{
	uint32_t call;

	if (i + 1 == s->nframes)
		return v->aux[pc].live;
	call = s->frame[i + 1]->callsite;
	if (s->frame[i + 1]->called_back)
		return v->aux[call].live | v->aux[call + 1].live;
	return v->aux[call + 1].live & ~1u;
}

static bool frame_covers(struct compare *c, const struct frame *old, const struct frame *now, uint16_t live)
{
	/*
	 * the number of iterations is limited, so a state with more completed iterations covers fewer future iterations
	 */
	if (old->callsite != now->callsite || old->func != now->func || old->called_back != now->called_back ||
	    old->rounds > now->rounds || old->may_left < now->may_left || !old->may_left != !now->may_left)
		return false;
	if (c->mode == EXACT && (old->rounds != now->rounds || old->may_left != now->may_left))
		return false;
	for (int r = 0; r < GPUBPF_R10; r++)
		if ((live >> r & 1) && !reg_covers(c, &old->regs[r], &now->regs[r]))
			return false;
	for (uint32_t k = 0; k < old->nslots; k++)
		if (!slot_covers(c, &old->slots[k], k < now->nslots ? &now->slots[k] : NULL))
			return false;
	for (uint32_t k = old->nslots; c->mode == EXACT && k < now->nslots; k++)
		if (memcmp(now->slots[k].kind, (uint8_t[8]){ B_INVALID }, 8))
			return false;
	return true;
}

static bool state_covers(struct verifier *v, const struct state *old, const struct state *now, uint32_t pc, enum mode mode)
{
	/* not cleared: struct compare has 2 KiB of ids, and this runs for each stored state at each visit */
	struct compare c;

	c.v = v;
	c.mode = mode;
	c.n = 0;
	if (old->nframes != now->nframes || old->nrefs != now->nrefs)
		return false;
	for (uint32_t i = 0; i < old->nrefs; i++)
		if (!ids_match(&c, old->refs[i], now->refs[i]))
			return false;
	for (uint32_t i = old->nframes; i-- > 0;)
		if (!frame_covers(&c, old->frame[i], now->frame[i], get_live_regs(v, old, i, pc)))
			return false;
	return true;
}

/*
 * Marks numbers of the current state if the corresponding numbers of the earlier state are marked, because paths from
 * the earlier state relied on them.
 */
static void inherit_marks(struct verifier *v, const struct state *old, const struct state *now, uint32_t pc)
{
	for (uint32_t i = 0; i < old->nframes; i++) {
		const struct frame *o = old->frame[i], *f = now->frame[i];
		uint16_t live = get_live_regs(v, old, i, pc);

		for (int r = 0; r < GPUBPF_R10; r++)
			if ((live >> r & 1) && mark_is_on(v, o->regs[r].mark))
				mark_reg(v, &f->regs[r]);
		for (uint32_t k = 0; k < o->nslots && k < f->nslots; k++) {
			if (!mark_is_on(v, o->slots[k].read))
				continue;
			mark_precise(v, f->slots[k].read);
			if (mark_is_on(v, o->slots[k].reg.mark) && f->slots[k].kind[0] == B_SPILL)
				mark_reg(v, &f->slots[k].reg);
			if (mark_is_on(v, o->slots[k].upper.mark) && holds_upper(&f->slots[k]))
				mark_reg(v, &f->slots[k].upper);
		}
	}
}

static void set_fresh_mark(struct verifier *v, struct reg *r, void *arg)
{
	if (r->type == R_SCALAR)
		r->mark = mark_new(v, r->mark, 0);
}

static int save(struct verifier *v, uint32_t pc)
{
	struct checkpoint *c = calloc(1, sizeof(*c));

	if (!c)
		goto no_memory;
	state_each_reg(v, v->cur, set_fresh_mark, NULL);
	for (uint32_t i = 0; i < v->cur->nframes; i++)
		for (uint32_t k = 0; k < v->cur->frame[i]->nslots; k++)
			v->cur->frame[i]->slots[k].read = mark_new(v, v->cur->frame[i]->slots[k].read, 0);
	*c = (struct checkpoint){ .next = v->aux[pc].saved,
				  .all = v->checkpoints,
				  .parent = v->cur->parent,
				  .from_parent = v->cur->tally,
				  .pc = pc,
				  .branches = 1 };
	c->state = state_copy(v, v->cur);
	v->aux[pc].saved = v->checkpoints = c;
	if (!c->state)
		goto no_memory;
	v->cur->parent = c;
	v->cur->tally = (struct tally){ 0 };
	v->insns_since = v->jumps_since = 0;
	return 0;

no_memory:
	v->no_memory = true;
	return -1;
}

/* Returns true if the state was often compared but rarely covered another state. Such states are discarded. */
static bool is_useless(const struct checkpoint *c)
{
	return c->misses > 3 * c->hits + MANY_MISSES;
}

static void discard_state(struct verifier *v, struct checkpoint **link)
{
	struct checkpoint *c = *link;

	*link = c->next;
	c->next = NULL;
	if (v->compare_all)
		return;
	state_free(v, c->state);
	c->state = NULL;
}

/*
 * Returns true if the unfinished state of c may cover the current state at an instruction that begins iterations. The
 * current state must belong to the same loop and have fewer iterations left. Otherwise an endless loop around the loop
 * would be accepted.
 */
static bool has_progressed(struct verifier *v, const struct checkpoint *c, uint32_t pc)
{
	struct loop_state old = loop_at(v, c->state, pc), now = loop_at(v, v->cur, pc);

	return old.id == now.id && now.left < old.left;
}

static bool has_loop(const struct state *s, uint32_t id)
{
	for (uint32_t i = 0; i < s->nframes; i++) {
		const struct frame *f = s->frame[i];

		if (f->id == id || f->rounds_id == id)
			return true;
		for (uint32_t k = 0; k < f->nslots; k++)
			if (f->slots[k].kind[0] == B_ITER && f->slots[k].reg.ref == id)
				return true;
	}
	return false;
}

/*
 * Returns true if a loop in which the current path is belongs to the old state, but has ended in the current state. The
 * old state may lead to a further iteration of that loop. The current state would begin the loop anew each time, so an
 * endless loop around the loop would be accepted.
 */
static bool restarts_loop(const struct verifier *v, const struct state *old)
{
	if (!v->ncalling)
		return false; /* the program has no iterator, callback or may_goto */
	for (const struct checkpoint *c = v->cur->parent; c; c = c->parent) {
		uint32_t id = v->aux[c->pc].calls_back || v->aux[c->pc].advances ? loop_at(v, c->state, c->pc).id : 0;

		if (id && has_loop(old, id) && !has_loop(v->cur, id))
			return true;
	}
	return false;
}

int prune_at(struct verifier *v, uint32_t pc)
{
	bool calls_back = v->aux[pc].calls_back || v->aux[pc].advances,
	     store = calls_back || (v->insns_since >= MIN_INSNS && v->jumps_since >= MIN_JUMPS);
	struct checkpoint **link = &v->aux[pc].saved, *c;

	if (v->aux[pc].advances)
		rounds_arrive(v, pc);
	while ((c = *link)) {
		enum mode mode = v->compare_all ? WITHIN : BY_MARKS;

		if ((!c->branches || (calls_back && has_progressed(v, c, pc))) &&
		    state_covers(v, c->state, v->cur, pc, mode) && !restarts_loop(v, c->state)) {
			c->hits++;
			if (!c->branches)
				inherit_marks(v, c->state, v->cur, pc);
			round_covered(v, c);
			path_done(v, &c->rest);
			return 1;
		}
		if (c->branches && !v->aux[pc].calls_back && state_covers(v, c->state, v->cur, pc, EXACT))
			return refuse(v, GPUBPF_E_LOOP,
				      "a loop returns to this instruction with an unchanged state: it never ends");
		if (c->branches && !calls_back && v->insns_since < LOOP_INSNS && v->jumps_since < LOOP_JUMPS)
			store = false;
		if (store)
			c->misses++;
		if (is_useless(c))
			discard_state(v, link);
		else
			link = &c->next;
	}
	if (!store)
		return 0;
	return v->state_bytes > MAX_STATE_BYTES && !calls_back ? 0 : save(v, pc);
}
