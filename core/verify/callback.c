/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks sub-programs, callbacks, and returns. A sub-program is walked at each call, with the arguments of that call.
 *
 * A helper with a callback is walked as a loop. At each pass the walk forks: on one path the helper returns, on the
 * other it calls the callback once more. A callback that returned 1 ends the loop. The walk also stops if an earlier
 * state covers the caller's state after an iteration. To make this possible, numbers become unknown if they change
 * between iterations and no check relied on them.
 */
#include "core/verify/verify.h"

int do_call_local(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct frame *caller = cur_frame(v), *f;

	if (v->cur->nframes == GPUBPF_MAX_FRAMES)
		return refuse(v, GPUBPF_E_CALL_DEPTH, "calls nest more than %d frames deep", GPUBPF_MAX_FRAMES);
	f = frame_push(v, v->cur, v->aux[insn->target].func, v->pc);
	if (!f)
		return -1;
	for (int r = GPUBPF_R1; r <= GPUBPF_R5; r++)
		f->regs[r] = caller->regs[r];
	for (int r = GPUBPF_R0; r <= GPUBPF_R5; r++)
		reg_uninit(&caller->regs[r]);
	v->pc = insn->target;
	return 0;
}

/* Sets the registers to their content after the helper has returned: r0 is unknown, r1 to r5 are unreadable. */
static void apply_helper_return(struct verifier *v, struct state *s)
{
	struct frame *f = s->frame[s->nframes - 1];

	for (int r = GPUBPF_R1; r <= GPUBPF_R5; r++)
		reg_uninit(&f->regs[r]);
	reg_unknown(&f->regs[GPUBPF_R0]);
	f->rounds = 0;
	f->rounds_id = new_id(v);
}

/* Returns the index of the key frame for the current frame's call of helper 164 (core/model/facts.h). */
static uint8_t get_key_frame(const struct verifier *v)
{
	return (uint8_t)(v->funcs[0].height + v->cur->nframes - 1);
}

static void note_key(struct verifier *v, int map)
{
	uint32_t size = v->unit->maps[map].key_size;
	const struct gpubpf_access a = {
		.spaces = GPUBPF_SPACE_STACK,
		.align = 8,
		.frame = get_key_frame(v),
		.write = true,
		.map = GPUBPF_NO_MAP,
		.off_min = -GPUBPF_STACK_SIZE,
		.off_max = -GPUBPF_STACK_SIZE,
		.size_min = size,
		.size_max = size,
	};

	access_merge(&v->facts->insn[v->pc].call->key, &a);
	if (v->facts->keys < v->cur->nframes)
		v->facts->keys = v->cur->nframes;
}

static void set_callback_args(const struct gpubpf_helper *h, int map, uint8_t key, const struct frame *caller,
			      struct frame *f)
{
	if (h->op == GPUBPF_OP_FOR_EACH) {
		for (int r = GPUBPF_R1; r <= GPUBPF_R3; r++) {
			reg_const(&f->regs[r], 0);
			f->regs[r].map = (int16_t)map;
		}
		f->regs[GPUBPF_R1].type = R_MAP;
		f->regs[GPUBPF_R2].type = R_KEY;
		f->regs[GPUBPF_R2].frame = key;
		f->regs[GPUBPF_R3].type = R_VALUE;
		f->regs[GPUBPF_R4] = caller->regs[GPUBPF_R3];
		return;
	}
	reg_unknown(&f->regs[GPUBPF_R1]);
	f->regs[GPUBPF_R2] = caller->regs[GPUBPF_R3];
}

/* Returns the maximum number of callback calls: the number of elements of the map, or the value of r1. */
static uint64_t get_max_rounds(struct verifier *v, const struct gpubpf_helper *h, int map)
{
	const struct bounds *n = &cur_regs(v)[GPUBPF_R1].s.w64;

	if (h->op == GPUBPF_OP_FOR_EACH)
		return v->unit->maps[map].max_entries;
	mark_reg(v, &cur_regs(v)[GPUBPF_R1]);
	if (n->umin > GPUBPF_LOOP_MAX)
		return 0;
	return n->umax < GPUBPF_LOOP_MAX ? n->umax : GPUBPF_LOOP_MAX;
}

/*
 * Returns the number of iterations after which no further iteration can follow. A map of the Linux kernel may grow
 * during an iteration; a map of a GPU has a fixed number of elements.
 */
static uint64_t get_max_completed_rounds(struct verifier *v, const struct gpubpf_helper *h, int map)
{
	if (h->op == GPUBPF_OP_FOR_EACH)
		return v->opts.any_ctx ? UINT64_MAX : v->unit->maps[map].max_entries;
	return cur_regs(v)[GPUBPF_R1].s.w64.umax;
}

/*
 * Returns true if an instruction of the current function loads the callback's address. The file cfg.c computes the call
 * depth, and so the number of frames, from the addresses that each function loads.
 */
static bool is_named_here(const struct verifier *v, uint32_t target)
{
	const struct func_info *fn = &v->funcs[v->aux[v->pc].func];

	for (uint32_t pc = fn->first; pc < fn->end; pc++)
		if (v->insns[pc].kind == GPUBPF_INSN_IMM64 && v->insns[pc].op == GPUBPF_IMM_FUNC &&
		    v->insns[pc].target == target)
			return true;
	return false;
}

int callback_enter(struct verifier *v, const struct gpubpf_helper *h, int map, uint32_t target)
{
	struct frame *caller = cur_frame(v), *f;
	uint8_t key = get_key_frame(v);
	struct state *done;

	rounds_begin(v, get_max_rounds(v, h, map));
	if (caller->rounds >= get_max_completed_rounds(v, h, map)) {
		apply_helper_return(v, v->cur);
		v->pc++;
		return 0;
	}
	if (v->cur->nframes == GPUBPF_MAX_FRAMES)
		return refuse(v, GPUBPF_E_CALL_DEPTH, "calls nest more than %d frames deep", GPUBPF_MAX_FRAMES);
	if (!v->opts.any_ctx && !is_named_here(v, target))
		return refuse(v, GPUBPF_E_CALL_DEPTH,
			      "passes the function at %u as a callback, but received it from its caller; name the "
			      "function in the call",
			      target);
	if (h->op == GPUBPF_OP_FOR_EACH)
		note_key(v, map);
	done = state_copy(v, v->cur);
	if (!done)
		return -1;
	apply_helper_return(v, done);
	if (push_branch(v, done, v->pc + 1) < 0)
		return -1;
	f = frame_push(v, v->cur, v->aux[target].func, v->pc);
	if (!f)
		return -1;
	f->called_back = true;
	f->nrefs = v->cur->nrefs;
	set_callback_args(h, map, key, caller, f);
	v->pc = target;
	return 0;
}

static void widen(struct verifier *v, struct reg *now, const struct reg *before)
{
	if (now->type != R_SCALAR || before->type != R_SCALAR || mark_is_on(v, before->mark) ||
	    scalar_within(&now->s, &before->s))
		return;
	reg_unknown(now);
}

static void widen_slot(struct verifier *v, struct stack_slot *now, const struct stack_slot *before)
{
	if (now->kind[0] == B_SPILL && before->kind[0] == B_SPILL)
		widen(v, &now->reg, &before->reg);
	if (holds_upper(now) && holds_upper(before))
		widen(v, &now->upper, &before->upper);
}

void widen_state(struct verifier *v, struct state *now, const struct state *before)
{
	for (uint32_t i = 0; i < now->nframes && i < before->nframes; i++) {
		struct frame *f = now->frame[i], *old = before->frame[i];

		for (int r = 0; r < GPUBPF_R10; r++)
			widen(v, &f->regs[r], &old->regs[r]);
		for (uint32_t k = 0; k < f->nslots && k < old->nslots; k++)
			widen_slot(v, &f->slots[k], &old->slots[k]);
	}
}

/* Widens the state after an iteration of the helper at pc. */
static void widen_iteration(struct verifier *v, struct state *now, uint32_t pc)
{
	const struct checkpoint *c = now->parent;

	while (c && (c->pc != pc || !c->state || c->state->nframes != now->nframes))
		c = c->parent;
	if (c)
		widen_state(v, now, c->state);
}

static int check_callback_return(struct verifier *v)
{
	const struct frame *f = cur_frame(v);
	const struct reg *r0 = &f->regs[GPUBPF_R0];
	uint32_t call = f->callsite;
	bool last;

	if (read_reg(v, GPUBPF_R0) < 0)
		return -1;
	if (r0->type != R_SCALAR || r0->s.w64.umax > 1)
		return refuse(v, GPUBPF_E_RETURN_VALUE, "a callback returns something other than 0 or 1");
	mark_reg(v, r0);
	last = r0->s.w64.umin == 1;
	if (v->cur->nrefs != f->nrefs)
		return refuse(v, GPUBPF_E_REF_LEAK, "a callback leaves a record reserved, or releases its caller's");
	round_end(v);
	frame_pop(v, v->cur);
	if (last) { /* the callback returned 1, so the helper returns */
		apply_helper_return(v, v->cur);
		v->pc = call + 1;
		return 0;
	}
	cur_frame(v)->rounds++;
	widen_iteration(v, v->cur, call);
	v->pc = call;
	return 0;
}

/* Walks an exit: returns to the caller, or ends the program. Returns 1 if the program ended on this path. */
int do_exit(struct verifier *v)
{
	struct frame *f = cur_frame(v);
	struct reg r0 = f->regs[GPUBPF_R0];
	int err;

	if (has_iterator(f))
		return refuse(v, GPUBPF_E_ITERATOR, "ends while an iterator on its stack is not destroyed");
	if (v->cur->nframes > 1) {
		if (f->called_back)
			return check_callback_return(v);
		if (r0.type == R_STACK || (r0.type == R_INT && r0.frame == v->cur->nframes - 1))
			return refuse(v, GPUBPF_E_RETURN_VALUE, "a sub-program returns a pointer to the stack");
		v->pc = f->callsite + 1;
		frame_pop(v, v->cur);
		cur_regs(v)[GPUBPF_R0] = r0;
		return 0;
	}
	if ((err = read_reg(v, GPUBPF_R0)) < 0 ||
	    (reg_is_ptr(&r0) && (err = leak(v, GPUBPF_E_PTR_LEAK, "returns a pointer to %s", type_name(&r0))) < 0))
		return err;
	if (v->cur->nrefs)
		return refuse(v, GPUBPF_E_REF_LEAK, "ends while a record is still reserved");
	return 1;
}
