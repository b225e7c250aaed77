/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends a path early: an earlier state at the same pc covers the current one, and all paths from the earlier state were
 * found safe. A state covers another if each live register, and each stack slot that was read later, includes the
 * other's value. Numbers without a precision mark in the earlier state may differ freely.
 *
 * In programs with callbacks, states of unfinished iterations may cover too. Their marks are not final, so the
 * comparison includes all numbers and all of the stack. Without callbacks, an unfinished state only serves to detect a
 * loop that changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "verify.h"

#define MIN_INSNS 8                  /* minimum distance between checkpoints: this many instructions and this many
				      * jumps */
#define MIN_JUMPS 2
#define LOOP_INSNS 64                /* minimum distance in a loop, where states rarely match: this many
				      * instructions, or this many jumps */
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
 * Matches ids: equal ids in the old state must be equal in the new one. Different ids in the old state may be equal in
 * the new one, which only knows more.
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
 * Matches the links of two numbers. If the new number has no id, no other number is linked to it, so it may match an id
 * that is used once in the old state.
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
 * Compares the register spilled at the slot's first byte, or with `kind` B_UPPER in its upper half. A longer spill in
 * the new state was not truncated to the filled size.
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
	if (old->kind[0] == B_SPILL && now->kind[0] == B_SPILL && !spill_covers(c, old, now, B_SPILL))
		return false;
	return !holds_upper(old) || !holds_upper(now) || spill_covers(c, old, now, B_UPPER);
}

/* Returns the registers of frame i that are live at pc, or for a caller's frame after its call. */
static uint16_t live_regs(const struct verifier *v, const struct state *s, uint32_t i, uint32_t pc)
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
	/* iterations are bounded, so a state with more completed iterations leaves fewer to walk and does not cover */
	if (old->callsite != now->callsite || old->func != now->func || old->called_back != now->called_back ||
	    old->rounds > now->rounds || (c->mode == EXACT && old->rounds != now->rounds))
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
	struct compare c; /* struct compare has 2 KiB of ids; it is not cleared, because this runs for each stored
			   * state at each visit */

	c.v = v;
	c.mode = mode;
	c.n = 0;
	if (old->nframes != now->nframes || old->nrefs != now->nrefs)
		return false;
	for (uint32_t i = 0; i < old->nrefs; i++)
		if (!ids_match(&c, old->refs[i], now->refs[i]))
			return false;
	for (uint32_t i = old->nframes; i-- > 0;)
		if (!frame_covers(&c, old->frame[i], now->frame[i], live_regs(v, old, i, pc)))
			return false;
	return true;
}

/*
 * Sets the marks of the current state's numbers whose counterparts in the earlier state are marked: paths from the
 * earlier state relied on them.
 */
static void inherit_marks(struct verifier *v, const struct state *old, const struct state *now, uint32_t pc)
{
	for (uint32_t i = 0; i < old->nframes; i++) {
		const struct frame *o = old->frame[i], *f = now->frame[i];
		uint16_t live = live_regs(v, old, i, pc);

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

static void fresh_mark(struct verifier *v, struct reg *r, void *arg)
{
	if (r->type == R_SCALAR)
		r->mark = mark_new(v, r->mark, 0);
}

static int save(struct verifier *v, uint32_t pc)
{
	struct checkpoint *c = calloc(1, sizeof(*c));

	if (!c)
		goto no_memory;
	state_each_reg(v, v->cur, fresh_mark, NULL);
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

/* Was the state compared often and covered no state? Such states are discarded. */
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

int prune_at(struct verifier *v, uint32_t pc)
{
	bool calls_back = v->aux[pc].calls_back,
	     store = calls_back || (v->insns_since >= MIN_INSNS && v->jumps_since >= MIN_JUMPS);
	struct checkpoint **link = &v->aux[pc].saved, *c;

	while ((c = *link)) {
		enum mode mode = v->compare_all ? WITHIN : BY_MARKS;

		if ((!c->branches || calls_back) && state_covers(v, c->state, v->cur, pc, mode)) {
			c->hits++;
			if (!c->branches)
				inherit_marks(v, c->state, v->cur, pc);
			round_covered(v, c);
			path_done(v, &c->rest);
			return 1;
		}
		if (c->branches && !calls_back && state_covers(v, c->state, v->cur, pc, EXACT))
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
