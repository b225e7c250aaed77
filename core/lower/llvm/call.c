/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers helper calls, by the rows of include/gpubpf/helpers.def. A helper call becomes a call of the device library
 * (maps/device/devlib.h) with the map's layout as constants. If different paths to the call pass different maps, the
 * code switches over these maps.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "core/lower/callback.h"
#include "call.h"
#include "maps/impl.h"

/*
 * Returns a copy of a key of at most one word, for a call that is not inlined. If the call received the address of the
 * key itself, LLVM would store the key in memory on all paths, even on paths that find the element without the call.
 */
static LLVMValueRef copy_key(const struct call *c, LLVMValueRef key)
{
	uint32_t size = map_of(c)->key_size;
	LLVMValueRef copy;

	if (size > 8)
		return key;
	copy = low_alloca(c->f->p, LLVMArrayType2(c->l->i8, 8), 8, "key");
	LLVMBuildMemCpy(c->l->b, copy, 8, key, 1, low_const(c->l, size));
	return copy;
}

/*
 * Emits a look-up in two steps: an inlined fast path, then a call of the shared function if the fast path finds
 * nothing.
 */
static LLVMValueRef look_up_shared(const struct call *c, const char *name, LLVMValueRef *args, unsigned n)
{
	LLVMBasicBlockRef from[2], after;
	LLVMValueRef found[2], v;
	char glance[64];

	snprintf(glance, sizeof(glance), "gpubpf_%s_glance", map_of(c)->type->impl->name);
	found[0] = low_call(c->l, glance, args, n);
	if (!found[0])
		return NULL;
	from[0] = LLVMGetInsertBlock(c->l->b);
	from[1] = low_block(c->f->p, "look_up");
	after = low_block(c->f->p, "after");
	LLVMBuildCondBr(c->l->b, LLVMBuildICmp(c->l->b, LLVMIntNE, found[0], low_const(c->l, 0), ""), after, from[1]);
	LLVMPositionBuilderAtEnd(c->l->b, from[1]);
	args[n - 1] = copy_key(c, args[n - 1]);
	found[1] = low_call_shared(c->l, name, c->layout, args, n);
	if (!found[1])
		return NULL;
	from[1] = LLVMGetInsertBlock(c->l->b);
	LLVMBuildBr(c->l->b, after);
	LLVMPositionBuilderAtEnd(c->l->b, after);
	v = LLVMBuildPhi(c->l->b, low_int(c->l, 8), "");
	LLVMAddIncoming(v, found, from, 2);
	return v;
}

/* Emits a look-up in an array whose first value's address is in a register. */
static LLVMValueRef look_up_from(struct call *c, LLVMValueRef key)
{
	LLVMValueRef args[] = { low_first_value(c->f, c->map), low_const32(c->l, c->layout->max_entries),
				low_const(c->l, c->layout->stride), key };

	return low_call(c->l, "gpubpf_array_lookup_from", args, 4);
}

/*
 * Calls the library's function for the helper. Returns its result, or 0 if the function has no result. On an error
 * returns NULL and sets a diagnostic.
 */
static LLVMValueRef call_library(struct call *c, LLVMValueRef *args, unsigned n)
{
	bool on_map = c->helper->class == GPUBPF_CLASS_MAP;
	const struct gpubpf_map_impl *impl = on_map ? map_of(c)->type->impl : NULL;
	LLVMValueRef v;
	char name[64];

	if (on_map)
		snprintf(name, sizeof(name), "gpubpf_%s_%s", impl->name, gpubpf_op_row(c->helper->op)->function);
	else
		snprintf(name, sizeof(name), "gpubpf_helper_%s", c->helper->name);
	if (on_map && impl->has_glance && c->helper->op == GPUBPF_OP_LOOKUP)
		return look_up_shared(c, name, args, n);
	if (on_map && c->helper->op == GPUBPF_OP_LOOKUP && low_has_first_register(c->f, c->map))
		return look_up_from(c, args[n - 1]);
	if (on_map && impl->large)
		return low_call_shared(c->l, name, c->layout, args, n);
	v = low_call(c->l, name, args, n);
	if (c->l->diag->code != GPUBPF_OK)
		return NULL;
	return v ? v : low_const(c->l, 0);
}

/*
 * The helper's map argument points to an element of a map of maps. Sets the arguments that locate this element. In all
 * other properties the element equals maps[c->map].
 */
static void find_element(const struct call *c, LLVMValueRef *args)
{
	LLVMValueRef of[] = { c->f->p->env, get(c, gpubpf_helper_map_arg(c->helper)) };

	args[LOW_CTL] = low_call(c->l, "gpubpf_of_maps_ctl", of, 2);
	args[LOW_DATA] = low_call(c->l, "gpubpf_of_maps_data", of, 2);
}

/*
 * Fills args with the arguments that all library functions on map c->map take. args[0], the environment, is already
 * set. Returns the number of arguments, or -ENOMEM.
 */
static int map_args(struct call *c, LLVMValueRef *args)
{
	int n, err = map_of(c)->prototype ? low_set_layout_flag(c, GPUBPF_LAYOUT_ELEMENT) : 0;

	if (err < 0)
		return err;
	n = 1 + (int)low_unit_map(c->l, args[0], c->map, c->layout, args + 1);
	if (map_of(c)->prototype)
		find_element(c, args);
	return n;
}

/*
 * Returns the pointer to the key that helper 164 passes to its callback, as the library takes it. Sets *shown to the
 * pointer that the BPF program receives.
 */
static LLVMValueRef key_of(const struct call *c, LLVMValueRef *shown)
{
	struct gpubpf_access key = c->facts->key;

	key.frame = (uint8_t)(c->f->p->prog->facts->frames + c->f->depth);
	*shown = low_const(c->l, GPUBPF_PTR_STACK + key.frame * GPUBPF_STACK_SIZE);
	return low_stack_ptr(c->f->p, &key, NULL);
}

/*
 * Emits helper 164, which calls a function for each element of the map c->map. If its flags are not 0, it calls the
 * function for no element.
 */
static int emit_for_each(struct call *c)
{
	LLVMValueRef args[24] = { c->f->p->env }, at, flags;
	LLVMValueRef callback_args[4] = { get(c, GPUBPF_R1), NULL, NULL, get(c, GPUBPF_R3) };
	struct low *l = c->l;
	struct low_rounds r;
	uint32_t target = 0;
	char name[64];
	int n, err = lower_callback(c->f->p->prog, c->pc, &target, c->l->diag);

	c->layout = &l->job->layouts[c->map];
	n = err < 0 ? err : map_args(c, args);
	if (n < 0)
		return n;
	at = args[n++] = low_alloca(c->f->p, low_int(l, 8), 8, "at");
	flags = LLVMBuildIsNotNull(l->b, get(c, GPUBPF_R4), "");
	LLVMBuildStore(l->b, LLVMBuildSelect(l->b, flags, low_const(l, UINT64_MAX), low_const(l, 0), ""), at);
	args[n++] = key_of(c, &callback_args[1]);
	err = low_rounds_begin(c->f, c->pc, &r);
	if (err < 0)
		return err;
	snprintf(name, sizeof(name), "gpubpf_%s_%s", map_of(c)->type->impl->name, gpubpf_op_row(c->helper->op)->function);
	callback_args[2] = low_call(l, name, args, (unsigned)n);
	if (!callback_args[2])
		return -EINVAL;
	err = low_rounds_end(&r, target, LLVMBuildIsNotNull(l->b, callback_args[2], ""), callback_args, 4);
	low_set(c->f, GPUBPF_R0, LLVMBuildSelect(l->b, flags, low_const(l, -EINVAL), get(c, GPUBPF_R0), ""));
	return err;
}

/* Emits one helper call. If the helper takes a map, it is c->map. */
static int emit_helper(struct call *c)
{
	LLVMValueRef args[24] = { c->f->p->env }, v;
	int n = 1, err;

	if (c->helper->class == GPUBPF_CLASS_LOOP)
		return emit_for_each(c);
	c->layout = c->helper->class == GPUBPF_CLASS_MAP ? &c->l->job->layouts[c->map] : NULL;
	err = low_prepare_args(c);
	if (err < 0)
		return err;
	switch (c->helper->class) {
	case GPUBPF_CLASS_MAP:
		n = map_args(c, args);
		if (n < 0)
			return n;
		break;
	case GPUBPF_CLASS_PRINT:
		n += (int)low_map_args(c->l, &c->l->job->print_layout, args + n);
		args[n++] = low_const32(c->l, c->f->p->index);
		break;
	case GPUBPF_CLASS_ENV:
		break;
	case GPUBPF_CLASS_LOOP:
	case GPUBPF_CLASS_TAIL:
	case GPUBPF_CLASS_ENDS:
	case GPUBPF_CLASS_KERNEL:
		assert(!"no function of the device library");
	}
	for (unsigned reg = GPUBPF_R1; reg <= GPUBPF_R5; reg++)
		n += (int)low_pass(c, reg, args + n);
	v = call_library(c, args, (unsigned)n);
	if (!v)
		return -EINVAL;
	if (c->helper->ret == GPUBPF_RET_NUMBER_OR_NULL)
		v = LLVMBuildSelect(c->l->b, LLVMBuildIsNotNull(c->l->b, v, ""), get(c, GPUBPF_R1), low_const(c->l, 0), "");
	low_set(c->f, GPUBPF_R0, v);
	low_write_back(c);
	return 0;
}

static int end_thread(struct call *c)
{
	if (!c->f->p->site->may_end_thread)
		return gpubpf_diag_set(c->l->diag, GPUBPF_E_SIMT_EXIT, c->pc,
				       "helper exit_thread cannot be called at this kind of place in kernel %s",
				       c->f->p->site->kernel);
	LLVMBuildBr(c->l->b, c->f->p->ended);
	return 0;
}

/* Emits a switch with a case for each map that the helper accepts, because different paths pass different maps. */
static int emit_map_switch(struct call *c, unsigned reg)
{
	const struct gpubpf_unit *unit = c->l->job->unit;
	LLVMBasicBlockRef none = low_block(c->f->p, "no_map"), after = low_block(c->f->p, "after");
	LLVMValueRef which = LLVMBuildSwitch(c->l->b, get(c, reg), none, unit->nmaps);

	for (c->map = 0; c->map < unit->nmaps; c->map++) {
		LLVMBasicBlockRef block;
		int err;

		if (!(unit->maps[c->map].type->ops & GPUBPF_OP_BIT(c->helper->op)) || unit->maps[c->map].prototype)
			continue;
		block = low_block(c->f->p, "map");
		LLVMAddCase(which, low_const(c->l, GPUBPF_PTR_MAP + c->map), block);
		LLVMPositionBuilderAtEnd(c->l->b, block);
		err = emit_helper(c);
		if (err < 0)
			return err;
		LLVMBuildBr(c->l->b, after);
	}
	LLVMPositionBuilderAtEnd(c->l->b, none);
	low_set(c->f, GPUBPF_R0, low_const(c->l, 0));
	LLVMBuildBr(c->l->b, after);
	LLVMPositionBuilderAtEnd(c->l->b, after);
	return 0;
}

static int loop(const struct call *c)
{
	uint32_t target = 0;
	int err = lower_callback(c->f->p->prog, c->pc, &target, c->l->diag);

	return err < 0 ? err : low_loop(c->f, c->pc, target);
}

int low_helper(struct low_frame *f, uint32_t pc)
{
	const struct gpubpf_prog *prog = f->p->prog;
	struct call c = {
		.f = f,
		.l = f->p->l,
		.pc = pc,
		.helper = gpubpf_helper_find(prog->insns[pc].imm),
		.facts = prog->facts->insn[pc].call,
	};
	unsigned reg;

	if (!c.helper || !gpubpf_helper_runs(c.helper) || !c.facts)
		return gpubpf_diag_set(c.l->diag, GPUBPF_E_BAD_HELPER, pc, "helper %d cannot run on a device",
				       prog->insns[pc].imm);
	if (c.helper->class == GPUBPF_CLASS_ENDS)
		return end_thread(&c);
	reg = gpubpf_helper_map_arg(c.helper);
	if (c.helper->class == GPUBPF_CLASS_LOOP && !reg)
		return loop(&c);
	if (c.helper->class == GPUBPF_CLASS_PRINT && !c.l->job->print_ring) {
		low_set(f, GPUBPF_R0, low_const(c.l, -EOPNOTSUPP));
		return 0;
	}
	if (!reg)
		return emit_helper(&c);
	if (c.facts->map == GPUBPF_NO_MAP)
		return gpubpf_diag_set(c.l->diag, GPUBPF_E_HELPER_ARG, pc, "helper %s without a map", c.helper->name);
	if (c.facts->map == GPUBPF_ANY_MAP && c.facts->element)
		return gpubpf_diag_set(c.l->diag, GPUBPF_E_TARGET_LACKS, pc, GPUBPF_MIXED_ELEMENTS, c.helper->name);
	if (c.facts->map == GPUBPF_ANY_MAP)
		return emit_map_switch(&c, reg);
	c.map = c.facts->map;
	return emit_helper(&c);
}
