/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers, frames and precision marks. A mark belongs to one number (in a register or slot) on one path. When the
 * verifier relies on a number, it sets the marks of this number and of its inputs, back across checkpoints. So a stored
 * state knows on which of its numbers later code relied.
 */
#include "verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STATE_BYTES (128u << 20)

int refuse(struct verifier *v, enum gpubpf_error code, const char *what, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, what);
	vsnprintf(text, sizeof(text), what, ap);
	va_end(ap);
	return gpubpf_diag_set(v->diag, code, v->pc, "%s", text);
}

struct state *state_new(struct verifier *v)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s)
		v->no_memory = true;
	return s;
}

static struct frame *frame_copy(struct verifier *v, const struct frame *from)
{
	struct frame *f = malloc(sizeof(*f));

	if (!f)
		return NULL;
	*f = *from;
	f->slots = NULL;
	if (from->nslots) {
		f->slots = malloc(from->nslots * sizeof(*f->slots));
		if (!f->slots) {
			free(f);
			return NULL;
		}
		memcpy(f->slots, from->slots, from->nslots * sizeof(*f->slots));
	}
	v->state_bytes += sizeof(*f) + from->nslots * sizeof(*f->slots);
	return f;
}

static void frame_free(struct verifier *v, struct frame *f)
{
	if (!f)
		return;
	v->state_bytes -= sizeof(*f) + f->nslots * sizeof(*f->slots);
	free(f->slots);
	free(f);
}

void state_free(struct verifier *v, struct state *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->nframes; i++)
		frame_free(v, s->frame[i]);
	free(s);
}

struct state *state_copy(struct verifier *v, const struct state *from)
{
	struct state *s = state_new(v);

	if (!s)
		return NULL;
	*s = *from;
	for (uint32_t i = 0; i < from->nframes; i++) {
		s->frame[i] = frame_copy(v, from->frame[i]);
		if (!s->frame[i]) {
			s->nframes = i;
			state_free(v, s);
			v->no_memory = true;
			return NULL;
		}
	}
	return s;
}

struct frame *frame_push(struct verifier *v, struct state *s, uint16_t func, uint32_t callsite)
{
	struct frame *f = calloc(1, sizeof(*f));
	struct reg *fp;

	if (!f) {
		v->no_memory = true;
		return NULL;
	}
	for (int r = 0; r < GPUBPF_NREGS; r++)
		reg_uninit(&f->regs[r]);
	f->func = func;
	f->callsite = callsite;
	f->id = new_id(v);
	f->rounds_id = new_id(v);
	f->may_left = GPUBPF_MAY_GOTO_MAX;
	fp = &f->regs[GPUBPF_R10];
	reg_const(fp, 0);
	fp->type = R_STACK;
	fp->frame = s->nframes;
	v->state_bytes += sizeof(*f);
	s->frame[s->nframes++] = f;
	return f;
}

void frame_pop(struct verifier *v, struct state *s)
{
	frame_free(v, s->frame[--s->nframes]);
}

int frame_reserve(struct verifier *v, struct frame *f, uint32_t nslots)
{
	struct stack_slot *slots;

	if (nslots <= f->nslots)
		return 0;
	slots = realloc(f->slots, nslots * sizeof(*slots));
	if (!slots) {
		v->no_memory = true;
		return -ENOMEM;
	}
	memset(slots + f->nslots, 0, (nslots - f->nslots) * sizeof(*slots));
	v->state_bytes += (nslots - f->nslots) * sizeof(*slots);
	f->slots = slots;
	f->nslots = nslots;
	return 0;
}

/*
 * Creates a mark with two inputs and returns its index. If memory runs out, returns 0, the mark that is never set, and
 * the walk stops.
 */
uint32_t mark_new(struct verifier *v, uint32_t a, uint32_t b)
{
	if (v->nmarks == v->cap_marks) {
		uint32_t cap = v->cap_marks ? v->cap_marks * 2 : 256;
		struct mark *marks = realloc(v->marks, cap * sizeof(*marks));

		if (!marks) {
			v->no_memory = true;
			return 0;
		}
		v->marks = marks;
		v->cap_marks = cap;
		if (!v->nmarks)
			v->marks[v->nmarks++] = (struct mark){ .on = false };
	}
	v->marks[v->nmarks] = (struct mark){ .from = { a, b } };
	return v->nmarks++;
}

bool mark_is_on(const struct verifier *v, uint32_t mark)
{
	return mark && v->marks[mark].on;
}

/*
 * Sets a mark and the marks of all its inputs, recursively. Each mark is set once, so the total work is linear in the
 * number of marks.
 */
void mark_precise(struct verifier *v, uint32_t mark)
{
	uint32_t n = 0;

	if (!mark || v->marks[mark].on)
		return;
	v->marks[mark].on = true;
	for (;;) {
		const struct mark *m = &v->marks[mark];

		for (int i = 0; i < 2; i++) {
			uint32_t from = m->from[i];

			if (!from || v->marks[from].on)
				continue;
			v->marks[from].on = true;
			if (n == v->cap_work) {
				uint32_t cap = v->cap_work ? v->cap_work * 2 : 256;
				uint32_t *work = realloc(v->mark_work, cap * sizeof(*work));

				if (!work) {
					v->no_memory = true;
					return;
				}
				v->mark_work = work;
				v->cap_work = cap;
			}
			v->mark_work[n++] = from;
		}
		if (!n)
			return;
		mark = v->mark_work[--n];
	}
}

void mark_reg(struct verifier *v, const struct reg *r)
{
	mark_precise(v, r->mark);
}

uint32_t new_id(struct verifier *v)
{
	return ++v->next_id;
}

void reg_uninit(struct reg *r)
{
	memset(r, 0, sizeof(*r));
	r->map = GPUBPF_NO_MAP;
	scalar_unknown(&r->s);
}

void reg_unknown(struct reg *r)
{
	reg_uninit(r);
	r->type = R_SCALAR;
}

void reg_const(struct reg *r, uint64_t value)
{
	reg_uninit(r);
	r->type = R_SCALAR;
	scalar_const(&r->s, value);
}

bool reg_is_ptr(const struct reg *r)
{
	return r->type != R_UNINIT && r->type != R_SCALAR;
}

bool reg_is_zero(const struct reg *r)
{
	return r->type == R_SCALAR && scalar_is_zero(&r->s);
}

static void slot_each_reg(struct verifier *v, struct stack_slot *s, reg_fn fn, void *arg)
{
	if (s->kind[0] == B_SPILL)
		fn(v, &s->reg, arg);
	if (holds_upper(s))
		fn(v, &s->upper, arg);
}

void state_each_reg(struct verifier *v, struct state *s, reg_fn fn, void *arg)
{
	for (uint32_t i = 0; i < s->nframes; i++) {
		struct frame *f = s->frame[i];

		for (int r = 0; r < GPUBPF_R10; r++)
			fn(v, &f->regs[r], arg);
		for (uint32_t k = 0; k < f->nslots; k++)
			slot_each_reg(v, &f->slots[k], fn, arg);
	}
}

int ref_acquire(struct verifier *v, uint32_t *ref)
{
	if (v->cur->nrefs == MAX_REFS)
		return refuse(v, GPUBPF_E_TOO_COMPLEX, "more than %d records are reserved at once", MAX_REFS);
	*ref = new_id(v);
	v->cur->refs[v->cur->nrefs++] = *ref;
	return 0;
}

void ref_drop(struct state *s, uint32_t ref)
{
	for (uint32_t i = 0; i < s->nrefs; i++)
		if (s->refs[i] == ref) {
			memmove(&s->refs[i], &s->refs[i + 1], (s->nrefs - i - 1) * sizeof(s->refs[0]));
			s->nrefs--;
			return;
		}
}

static void forget_ref(struct verifier *v, struct reg *r, void *arg)
{
	if (r->ref != *(uint32_t *)arg)
		return;
	if (v->opts.allow_ptr_leaks) {
		reg_unknown(r);
		return;
	}
	reg_uninit(r);
	/* the register keeps the reference, so that read_reg() reports a use of the released record */
	r->ref = *(uint32_t *)arg;
}

/* Releases a record: pointers into the record become invalid in all frames. */
int ref_release(struct verifier *v, uint32_t ref)
{
	ref_drop(v->cur, ref);
	state_each_reg(v, v->cur, forget_ref, &ref);
	return 0;
}

/* Queues a state to be walked from pc on. Takes ownership of the state, also on failure. */
int push_branch(struct verifier *v, struct state *state, uint32_t pc)
{
	if (v->npending == MAX_PENDING || v->state_bytes > MAX_STATE_BYTES) {
		state_free(v, state);
		return refuse(v, GPUBPF_E_TOO_COMPLEX, "more than %u branches are still to be checked", v->npending);
	}
	if (v->npending == v->cap_pending) {
		uint32_t cap = v->cap_pending ? v->cap_pending * 2 : 16;
		struct pending *p = realloc(v->pending, cap * sizeof(*p));

		if (!p) {
			v->no_memory = true;
			state_free(v, state);
			return -ENOMEM;
		}
		v->pending = p;
		v->cap_pending = cap;
	}
	if (state->parent)
		state->parent->branches++;
	v->pending[v->npending++] = (struct pending){ state, pc, v->pc };
	return 0;
}

bool holds_upper(const struct stack_slot *s)
{
	return s->kind[UPPER] == B_UPPER;
}
