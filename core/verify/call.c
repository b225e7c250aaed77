/* SPDX-License-Identifier: Apache-2.0 */
/* Walks helper calls: refuses helpers that a program cannot call, and sets the state after a call. */
#include <errno.h>
#include <string.h>

#include "core/model/places.h"
#include "core/model/stack_frame.h"
#include "calls.h"

#define HOST_CALL_COST 10000 /* a call takes about 10 us; as helper 524, each ns counts as an instruction */

/* Refuses a helper that does not exist on a GPU, and states an alternative if there is one. */
static int no_helper(struct verifier *v, const struct gpubpf_insn *insn, const struct gpubpf_helper *h)
{
	char why[200];

	if (!v->opts.any_ctx && gpubpf_linux_advice((uint32_t)insn->imm, NULL, why, sizeof(why)))
		gpubpf_diag_remedy(v->diag, "%s", why);
	return refuse(v, GPUBPF_E_BAD_HELPER, "calls helper %d%s%s, which does not exist on a GPU", insn->imm,
		      h ? " " : "", h ? h->name : "");
}

/* Returns true for the helpers of the data buffer, which only direct runs have (core/wire/direct.h). */
static bool is_of_run(const struct gpubpf_helper *h)
{
	return h->op == GPUBPF_OP_DATA;
}

/* Refuses a helper that programs on the CPU cannot call (core/model/host_helpers.def). */
static int check_host_helper(struct verifier *v, const struct gpubpf_helper *h)
{
	static const struct {
		const char *name, *instead;
	} refused[] = {
#define GPUBPF_NOT_ON_HOST(name, instead) { name, instead },
#include "core/model/host_helpers.def"
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (!strcmp(refused[i].name, h->name)) {
			gpubpf_diag_remedy(v->diag, "%s", refused[i].instead);
			return refuse(v, GPUBPF_E_BAD_HELPER,
				      "calls helper %u %s, which programs of section %.100s cannot call", h->id,
				      h->name, v->prog->section);
		}
	return 0;
}

static int find_helper(struct verifier *v, const struct gpubpf_insn *insn, const struct gpubpf_helper **h)
{
	if (insn->imm == GPUBPF_CORE_POISON)
		return refuse(v, GPUBPF_E_NO_FIELD,
			      "uses a field or type that the context does not have: its CO-RE relocation found nothing");
	*h = gpubpf_helper_find((uint32_t)insn->imm);
	if (!*h || (!gpubpf_helper_runs(*h) && !v->opts.allow_kernel_helpers) || (v->opts.any_ctx && (*h)->id >= 500))
		return no_helper(v, insn, *h);
	if (gpubpf_place_is_host(v->prog->site) && check_host_helper(v, *h) < 0)
		return -EINVAL;
	if ((*h)->class == GPUBPF_CLASS_TAIL && !v->opts.allow_kernel_helpers)
		return refuse(v, GPUBPF_E_BAD_HELPER,
			      "calls helper %d %s, but the programs that it may call are unknown: they must be in "
			      "its object",
			      insn->imm, (*h)->name);
	if ((*h)->op == GPUBPF_OP_TAIL_CALL && v->cur->nrefs)
		return refuse(v, GPUBPF_E_REF_LEAK, "makes a tail call while it holds a reserved record");
	if ((*h)->op == GPUBPF_OP_HOST_CALL && v->cur->nrefs) {
		gpubpf_diag_remedy(v->diag, "submit or discard the record before the call");
		return refuse(v, GPUBPF_E_REF_LEAK,
			      "waits for the host (helper %d) while it holds a reserved record, at which the ring's reader stops",
			      insn->imm);
	}
	if (is_of_run(*h) && !v->prog->is_run && v->prog->site != GPUBPF_SITE_NONE) {
		gpubpf_diag_remedy(v->diag, "put the program into a section gpu/run/NAME, and run it with gpubpf prog run");
		return refuse(v, GPUBPF_E_BAD_HELPER,
			      "calls %s, but only a program that gpubpf prog run runs has a data buffer", (*h)->name);
	}
	if ((*h)->class == GPUBPF_CLASS_ENDS && !v->opts.allow_exit_thread)
		return refuse(v, GPUBPF_E_SIMT_EXIT, "ends the thread (helper %d) at a place that does not allow it",
			      insn->imm);
	if ((*h)->class == GPUBPF_CLASS_ENDS && v->cur->nrefs)
		return refuse(v, GPUBPF_E_REF_LEAK, "ends the thread while it holds a reserved record");
	return 0;
}

/*
 * Checks a call of helper 27 (get_stackid). The session walks the host's stack before each launch, so all calls must
 * request the same frames.
 */
static int check_stack_id(struct verifier *v, const struct call *c)
{
	struct gpubpf_facts *f = v->facts;
	uint32_t skip, depth = c->map->value_size / gpubpf_stack_frame_size(c->map->map_flags);
	uint64_t flags = 0;
	int err = check_const(v, c, 2, &flags);

	if (err < 0)
		return err;
	skip = flags & 0xff;
	if (f->stack_ids && (f->stack_skip != skip || f->stack_depth != depth)) {
		gpubpf_diag_remedy(v->diag,
				   "skip the same number of frames in all calls, and use maps with one value size");
		return refuse(v, GPUBPF_E_HELPER_ARG,
			      "requests stacks of %u frames and skips %u frames here, but another call requests other frames",
			      depth, skip);
	}
	f->stack_ids = true;
	f->stack_skip = skip;
	f->stack_depth = depth;
	return 0;
}

/* Returns the maximum size of the record that the call reserves for a dynptr. A record is not larger than its ring. */
static uint64_t get_reserved_bytes(struct verifier *v, const struct call *c)
{
	const struct reg *size = &cur_regs(v)[GPUBPF_R2];

	if (c->h->op != GPUBPF_OP_RESERVE_DYNPTR)
		return 0;
	mark_reg(v, size);
	return size->s.w64.umax < c->map->max_entries ? size->s.w64.umax : c->map->max_entries;
}

static void note_call(struct verifier *v, const struct call *c)
{
	struct gpubpf_facts *f = v->facts;
	uint32_t use = gpubpf_op_row(c->h->op)->use;

	if (c->map)
		f->map_use[c->map_index] |= use;
	/* ringbuf_reserve sets alloc, ringbuf_output sets out_bytes; the other member is 0 */
	if (c->map && use & GPUBPF_USE_OUTPUT)
		v->cur->tally.cost.event_bytes += c->alloc + c->out_bytes + get_reserved_bytes(v, c);
	if (c->h->op == GPUBPF_OP_HOST_CALL)
		v->cur->tally.cost.insns += HOST_CALL_COST;
	if (c->h->class == GPUBPF_CLASS_PRINT)
		v->cur->tally.cost.prints++;
	facts_helper(f, c->h);
}

/* Returns true if the look-up always finds an element: it is in an array, at a constant index inside the array. */
static bool is_certain_hit(struct verifier *v, const struct call *c)
{
	const struct reg *key = &cur_regs(v)[GPUBPF_R2];
	uint64_t index;

	return c->h->op == GPUBPF_OP_LOOKUP && !v->opts.any_ctx &&
	       (c->map->type->flags & (GPUBPF_MAP_U32KEY | GPUBPF_MAP_THREAD | GPUBPF_MAP_OF_MAPS)) == GPUBPF_MAP_U32KEY &&
	       c->map->key_size == 4 && stack_known(v, key, 4, &index) && index < c->map->max_entries;
}

/* Records a constant index outside of the array. A call with this index always fails. */
static void note_outside(struct verifier *v, const struct call *c)
{
	const struct reg *key = &cur_regs(v)[GPUBPF_R2];
	bool by_index = c->map && c->map->type->flags & GPUBPF_MAP_U32KEY && c->map->key_size == 4 && !v->opts.any_ctx;
	bool takes_key = c->h->op == GPUBPF_OP_LOOKUP || c->h->op == GPUBPF_OP_UPDATE;
	uint64_t index;

	if (by_index && takes_key && stack_known(v, key, 4, &index) && index >= c->map->max_entries) {
		v->aux[v->pc].outside = true;
		v->aux[v->pc].index = (uint32_t)index;
	}
}

/* Sets r0 to memory of the call's constant size, or NULL. */
static int set_memory(struct verifier *v, const struct call *c, struct reg *r0)
{
	if (!c->alloc || c->alloc >= MAX_OFFSET)
		return refuse(v, GPUBPF_E_HELPER_ARG, "requests %llu bytes of %s; the size must be 1 to %d bytes",
			      (unsigned long long)c->alloc, c->h->name, MAX_OFFSET - 1);
	reg_const(r0, 0);
	r0->type = R_MEM;
	r0->map = GPUBPF_NO_MAP;
	r0->size = (uint32_t)c->alloc;
	r0->or_null = true;
	r0->id = new_id(v);
	return 0;
}

static int set_return(struct verifier *v, const struct call *c, const struct reg *offset, bool there)
{
	struct reg *r0 = &cur_regs(v)[GPUBPF_R0];

	reg_uninit(r0);
	switch (c->h->ret) {
	case GPUBPF_RET_VOID:
		return 0;
	case GPUBPF_RET_INT:
		reg_unknown(r0);
		return 0;
	case GPUBPF_RET_MEM_OR_NULL:
		return set_memory(v, c, r0);
	case GPUBPF_RET_SLICE_OR_NULL:
		return dynptr_slice(v, &c->dynptr, offset, c->alloc, r0);
	case GPUBPF_RET_MAP_VALUE_OR_NULL:
	case GPUBPF_RET_RECORD_OR_NULL:
	case GPUBPF_RET_NUMBER_OR_NULL: /* iter_call() */
		break;
	}
	reg_const(r0, 0);
	r0->type = c->h->ret == GPUBPF_RET_RECORD_OR_NULL ? R_RECORD : c->map->inner ? R_MAP : R_VALUE;
	r0->map = (int16_t)(c->map->inner ? (int)c->map->inner - 1 : c->map_index);
	r0->or_null = !there;
	r0->id = there ? 0 : new_id(v);
	if (r0->type != R_RECORD)
		return 0;
	if (c->alloc >= MAX_OFFSET)
		return refuse(v, GPUBPF_E_HELPER_ARG,
			      "reserves a record of %llu bytes; a record must have less than %d bytes",
			      (unsigned long long)c->alloc, MAX_OFFSET);
	r0->size = (uint32_t)c->alloc;
	return ref_acquire(v, &r0->ref);
}

int do_call(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct call c = { .map_index = GPUBPF_NO_MAP };
	struct reg offset; /* of the memory that dynptr_data returns */
	bool there;
	int err = find_helper(v, insn, &c.h);

	if (err < 0)
		return err;
	facts_map_arg(v, GPUBPF_NO_MAP);
	for (int i = 0; i < 5 && c.h->arg[i] != GPUBPF_ARG_NONE; i++) {
		err = check_arg(v, &c, i);
		if (err < 0)
			return err;
	}
	err = c.h->op == GPUBPF_OP_STACK_ID && !v->opts.any_ctx ? check_stack_id(v, &c) : 0;
	if (err < 0)
		return err;
	err = format_check_written(v, c.h);
	if (err < 0)
		return err;
	note_call(v, &c);
	if (c.h->arg[0] == GPUBPF_ARG_ITER_NEW || c.h->arg[0] == GPUBPF_ARG_ITER)
		return iter_call(v, c.h);
	if (c.callback || c.h->arg[1] == GPUBPF_ARG_CALLBACK)
		return callback_enter(v, c.h, c.map_index, c.callback);
	there = c.map && is_certain_hit(v, &c);
	note_outside(v, &c);
	if (c.ref) {
		err = ref_release(v, c.ref->ref);
		if (err < 0)
			return err;
	}
	if (c.ends_dynptr)
		dynptr_end(v, &c.dynptr);
	if (c.made.type == R_STACK) {
		bool record = c.data.type == R_UNINIT;

		err = dynptr_begin(v, &c.made, record ? NULL : &c.data, record ? c.map_index : c.data.map);
		if (err < 0)
			return err;
	}
	offset = cur_regs(v)[GPUBPF_R2];
	for (int r = GPUBPF_R1; r <= GPUBPF_R5; r++)
		reg_uninit(&cur_regs(v)[r]);
	err = set_return(v, &c, &offset, there);
	v->pc++;
	return err;
}
