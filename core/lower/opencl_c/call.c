/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits helper calls of verified programs, by the rows of include/gpubpf/helpers.def. The device library
 * (maps/device/devlib.h) takes pointers to private memory. A pointer to the program's stack is passed directly. Device
 * memory is copied to private memory.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "core/lower/callback.h"
#include "opencl_c.h"
#include "core/model/diag.h"
#include "core/model/param.h"

#define MAX_COPY 16384 /* largest private copy of one argument in bytes */

struct call {
	struct clc *c;
	uint32_t pc;
	const struct gpubpf_helper *helper;
	const struct gpubpf_call_facts *facts;
	const struct gpubpf_map *map; /* map for which code is emitted, or NULL */
};

static const struct gpubpf_access *get_access(const struct call *call, uint32_t arg)
{
	return &call->facts->arg[arg - 1];
}

static bool is_stack_only(const struct call *call, uint32_t arg)
{
	return !(get_access(call, arg)->spaces & ~(GPUBPF_SPACE_STACK | GPUBPF_SPACE_NULL));
}

static const struct gpubpf_arg_row *get_arg_row(const struct call *call, uint32_t arg)
{
	return gpubpf_arg_row(gpubpf_helper_arg(call->helper, (int)arg - 1, call->map ? call->map->type : NULL));
}

static bool is_direct(const struct call *call, uint32_t arg)
{
	return call->map && gpubpf_is_direct(call->helper, call->map, get_arg_row(call, arg)->size, get_access(call, arg));
}

/* Emits the declaration of an argument's private copy, if the argument needs a copy. */
static int declare(const struct call *call, uint32_t arg, uint64_t room)
{
	if (is_stack_only(call, arg))
		return 0;
	if (is_direct(call, arg)) {
		text_add(call->c->t, "ulong t%u[1]; ", arg);
		return 0;
	}
	if (get_access(call, arg)->spaces & GPUBPF_SPACE_CTX)
		return gpubpf_diag_set(call->c->diag, GPUBPF_E_TARGET_LACKS, call->pc,
				       "helper %s cannot access memory of the context", call->helper->name);
	if (room > MAX_COPY)
		return gpubpf_diag_set(
			call->c->diag, GPUBPF_E_TARGET_LACKS, call->pc,
			"helper %s would copy %llu bytes of map memory, but the limit is %d; look the element up and write to it",
			call->helper->name, (unsigned long long)room, MAX_COPY);
	text_add(call->c->t, "ulong t%u[%llu]; ", arg, (unsigned long long)(room ? (room + 7) / 8 : 1));
	return 0;
}

/* Emits an argument as a pointer to private memory. */
static void emit_pointer(const struct call *call, uint32_t arg)
{
	char index[48];

	if (is_stack_only(call, arg))
		text_add(call->c->t, "stack + %s", clc_stack_index(call->c, get_access(call, arg), arg, 0, index));
	else
		text_add(call->c->t, "(GPUBPF_PRIVATE uchar *)t%u", arg);
}

/* Emits a copy from the argument's memory to its private copy or, if `out`, back. `size` is an expression. */
static void copy(const struct call *call, uint32_t arg, const char *size, bool out)
{
	static const struct gpubpf_access anywhere = { .frame = GPUBPF_ANY_FRAME };
	bool stack = get_access(call, arg)->spaces & GPUBPF_SPACE_STACK;
	struct text *t = call->c->t;
	char index[48];

	if (is_stack_only(call, arg))
		return;
	if (is_direct(call, arg)) {
		text_add(t, "t%u[0] = r%u; ", arg, arg);
		return;
	}
	clc_stack_index(call->c, &anywhere, arg, 0, index);
	if (stack)
		text_add(t, "if (r%u < 0x%xUL) ", arg, GPUBPF_PTR_LIMIT);
	if (stack && out)
		text_add(t, "gpubpf_clc_copy(stack + %s, (GPUBPF_PRIVATE uchar *)t%u, %s); else ", index, arg, size);
	else if (stack)
		text_add(t, "gpubpf_clc_copy((GPUBPF_PRIVATE uchar *)t%u, stack + %s, %s); else ", arg, index, size);
	if (out)
		text_add(t, "gpubpf_clc_out(r%u, (GPUBPF_PRIVATE uchar *)t%u, %s); ", arg, arg, size);
	else
		text_add(t, "gpubpf_clc_in((GPUBPF_PRIVATE uchar *)t%u, r%u, %s); ", arg, arg, size);
}

/* Returns an expression for the size of the memory to which an argument points. Sets *room to its maximum in bytes. */
static const char *emit_size(const struct call *call, uint32_t arg, uint64_t *room, char text[24])
{
	*room = get_access(call, arg)->size_max;
	switch (get_arg_row(call, arg)->size) {
	case GPUBPF_SIZE_NEXT:
		snprintf(text, 24, "r%u", arg + 1);
		return text;
	case GPUBPF_SIZE_KEY:
		*room = call->map->key_size;
		break;
	case GPUBPF_SIZE_VALUE:
		*room = call->map->value_size;
		break;
	case GPUBPF_SIZE_WORD:
	case GPUBPF_SIZE_ITER:
		*room = 8;
		break;
	case GPUBPF_SIZE_DYNPTR:
		*room = 16;
		break;
	case GPUBPF_SIZE_KNOWN:
	case GPUBPF_SIZE_NONE:
		break;
	}
	snprintf(text, 24, "%lluUL", (unsigned long long)*room);
	return text;
}

/*
 * Returns true if the helper writes a number through this argument. The helper then writes to a local variable, because
 * the program's memory may be unaligned.
 */
static bool is_word(const struct call *call, uint32_t arg)
{
	return get_arg_row(call, arg)->pass == GPUBPF_PASS_OUT && get_arg_row(call, arg)->size == GPUBPF_SIZE_WORD;
}

static int prepare_args(const struct call *call)
{
	uint32_t words = 0;

	for (uint32_t arg = 1; arg <= 5; arg++) {
		uint64_t room;
		char text[24];
		const char *size;
		int err;

		words += is_word(call, arg);
		if (get_arg_row(call, arg)->size == GPUBPF_SIZE_NONE || is_word(call, arg))
			continue;
		size = emit_size(call, arg, &room, text);
		err = declare(call, arg, room);
		if (err < 0)
			return err;
		copy(call, arg, size, false);
	}
	if (words)
		text_add(call->c->t, "u64 x[%u]; ", words);
	return 0;
}

static void write_back_word(const struct call *call, uint32_t arg, uint32_t i)
{
	const struct gpubpf_access *access = get_access(call, arg);
	bool stack = access->spaces & GPUBPF_SPACE_STACK, device = access->spaces & ~GPUBPF_SPACE_STACK;
	struct text *t = call->c->t;
	char index[48];

	if (stack && device)
		text_add(t, "if (r%u < 0x%xUL) ", arg, GPUBPF_PTR_LIMIT);
	if (stack)
		text_add(t, "GPUBPF_PRIV(gpubpf_w8a1, %s) = x[%u]; ", clc_stack_index(call->c, access, arg, 0, index), i);
	if (stack && device)
		text_add(t, "else ");
	if (device)
		text_add(t, "GPUBPF_GLOB(gpubpf_w8a1, r%u) = x[%u]; ", arg, i);
}

static void write_back(const struct call *call)
{
	uint32_t words = 0;

	for (uint32_t arg = 1; arg <= 5; arg++) {
		uint64_t room;
		char text[24];

		if (is_word(call, arg))
			write_back_word(call, arg, words++);
		else if (get_arg_row(call, arg)->pass == GPUBPF_PASS_OUT)
			copy(call, arg, emit_size(call, arg, &room, text), true);
	}
}

/*
 * Emits the parameter of helper 520 as offset and size of the parameter's bytes. Both are 0 if these bytes are not
 * available.
 */
static void pass_param(const struct call *call, uint32_t arg)
{
	const struct gpubpf_site_desc *desc = call->c->desc;
	uint64_t index = call->facts->konst[arg - 1];
	const struct gpubpf_param *param = index < desc->nparams ? &desc->params[index] : NULL;

	if (param && param->bytes_off == UINT32_MAX)
		param = NULL;
	text_add(call->c->t, ", %uUL, %uUL", param ? param->bytes_off : 0, param ? param->size : 0);
}

/*
 * Emits the parameter of helper 530 as index and number of bits. The parameter exists, because the creator of the job
 * called gpubpf_params_fit().
 */
static int pass_named(const struct call *call, uint32_t arg)
{
	const struct gpubpf_site_desc *desc = call->c->desc;
	const char *name = gpubpf_param_name(call->c->job->unit, get_access(call, arg));
	struct gpubpf_param_read read = { 0 };
	char why[240] = "the parameter's name is not one constant string";

	if (!name || gpubpf_param_find(desc->params, desc->nparams, name, &read, why, sizeof(why)) < 0)
		return gpubpf_diag_set(call->c->diag, GPUBPF_E_TARGET_LACKS, call->pc, "helper %s: %s",
				       call->helper->name, why);
	text_add(call->c->t, ", %uUL, (u64)%lldL", read.index, (long long)read.bits);
	return 0;
}

static int pass_all(const struct call *call)
{
	struct text *t = call->c->t;
	uint32_t words = 0;
	int err = 0;

	for (uint32_t arg = 1; !err && arg <= 5; arg++) {
		enum gpubpf_pass pass = get_arg_row(call, arg)->pass;

		if (pass == GPUBPF_PASS_NUMBER) {
			text_add(t, ", r%u", arg);
		} else if (pass == GPUBPF_PASS_COOKIE) {
			text_add(t, ", 0x%llxUL", (unsigned long long)call->c->prog->cookie);
		} else if (pass == GPUBPF_PASS_PARAM) {
			pass_param(call, arg);
		} else if (pass == GPUBPF_PASS_NAMED) {
			err = pass_named(call, arg);
		} else if (is_word(call, arg)) {
			text_add(t, ", &x[%u]", words++);
		} else if (pass != GPUBPF_PASS_NOT) {
			text_add(t, ", ");
			emit_pointer(call, arg);
		}
		if (pass == GPUBPF_PASS_TEXT)
			text_add(t, ", %uUL", get_access(call, arg)->size_max);
	}
	return err;
}

static bool has_direct_map(const struct call *call)
{
	bool any = false;

	for (uint32_t arg = 1; arg <= 5; arg++)
		any |= is_direct(call, arg);
	return any;
}

/* Emits helper 164, which calls a function for each element of call->map. */
static int emit_for_each(const struct call *call)
{
	char next[64];
	uint32_t target = 0;
	int err = lower_callback(call->c->prog, call->pc, &target, call->c->diag);

	snprintf(next, sizeof(next), "gpubpf_map%u_%s(env%s", (uint32_t)(call->map - call->c->job->unit->maps),
		 gpubpf_op_row(call->helper->op)->function, call->map->prototype ? ", r1" : "");
	return err < 0 ? err : clc_each(call->c, target, next);
}

/* Emits one helper call. If the helper takes a map, the code calls the function that maps.c emits for call->map. */
static int emit_helper(struct call *call)
{
	const struct gpubpf_helper *helper = call->helper;
	struct clc *c = call->c;
	struct text *t = c->t;
	int err;

	if (helper->class == GPUBPF_CLASS_LOOP)
		return emit_for_each(call);
	err = prepare_args(call);
	if (err < 0)
		return err;
	if (helper->ret != GPUBPF_RET_VOID)
		text_add(t, "r0 = (u64)");
	switch (helper->class) {
	case GPUBPF_CLASS_MAP:
		text_add(t, "gpubpf_map%u_%s%s(env", (uint32_t)(call->map - c->job->unit->maps),
			 gpubpf_op_row(helper->op)->function, has_direct_map(call) ? CLC_FROM : "");
		if (call->map->prototype)
			text_add(t, ", r%u", gpubpf_helper_map_arg(helper));
		break;
	case GPUBPF_CLASS_PRINT:
		text_add(t, "gpubpf_print_%s(env, %u", helper->name, c->desc->progs[c->prog_nth]);
		break;
	case GPUBPF_CLASS_ENV:
		text_add(t, "gpubpf_helper_%s(env", helper->name);
		break;
	case GPUBPF_CLASS_LOOP:
	case GPUBPF_CLASS_TAIL:
	case GPUBPF_CLASS_ENDS:
	case GPUBPF_CLASS_KERNEL:
		assert(!"no function of the device library");
	}
	err = pass_all(call);
	if (err < 0)
		return err;
	text_add(t, "); ");
	if (helper->ret == GPUBPF_RET_VOID)
		text_add(t, "r0 = 0; ");
	if (helper->ret == GPUBPF_RET_NUMBER_OR_NULL)
		text_add(t, "r0 = r0 ? r1 : 0; ");
	write_back(call);
	return 0;
}

/* Emits one branch for each map that the helper accepts, because different paths to the call pass different maps. */
static int emit_map_branches(struct call *call, uint32_t reg)
{
	const struct gpubpf_unit *unit = call->c->job->unit;

	for (uint32_t i = 0; i < unit->nmaps; i++) {
		int err;

		call->map = &unit->maps[i];
		if (!(call->map->type->ops & GPUBPF_OP_BIT(call->helper->op)) || call->map->prototype)
			continue;
		text_add(call->c->t, "if (r%u == 0x%xUL) { ", reg, GPUBPF_PTR_MAP + i);
		err = emit_helper(call);
		text_add(call->c->t, "} else ");
		if (err < 0)
			return err;
	}
	text_add(call->c->t, "r0 = 0; ");
	return 0;
}

static int end_thread(const struct call *call)
{
	if (!call->c->desc->may_end_thread)
		return gpubpf_diag_set(call->c->diag, GPUBPF_E_SIMT_EXIT, call->pc,
				       "helper exit_thread cannot be called at this kind of place");
	text_add(call->c->t, "*ended = 1; return 0; ");
	return 0;
}

static int emit_loop(const struct call *call)
{
	uint32_t target = 0;
	int err = lower_callback(call->c->prog, call->pc, &target, call->c->diag);

	return err < 0 ? err : clc_loop(call->c, target);
}

static int emit_call(struct call *call)
{
	uint32_t reg = gpubpf_helper_map_arg(call->helper);

	if (call->helper->class == GPUBPF_CLASS_ENDS)
		return end_thread(call);
	if (call->helper->class == GPUBPF_CLASS_LOOP && !reg)
		return emit_loop(call);
	if (call->helper->class == GPUBPF_CLASS_PRINT && !call->c->job->print_ring) {
		text_add(call->c->t, "r0 = (u64)-%dL; ", EOPNOTSUPP);
		return 0;
	}
	if (reg && call->facts->map < 0 && call->facts->element)
		return gpubpf_diag_set(call->c->diag, GPUBPF_E_TARGET_LACKS, call->pc, GPUBPF_MIXED_ELEMENTS,
				       call->helper->name);
	if (reg && call->facts->map < 0)
		return emit_map_branches(call, reg);
	if (reg)
		call->map = &call->c->job->unit->maps[call->facts->map];
	return emit_helper(call);
}

int clc_call(struct clc *c, uint32_t pc)
{
	struct call call = { c, pc, gpubpf_helper_find(c->prog->insns[pc].imm), c->prog->facts->insn[pc].call };
	int err;

	if (!call.helper || !gpubpf_helper_runs(call.helper) || !call.facts)
		return gpubpf_diag_set(c->diag, GPUBPF_E_BAD_HELPER, pc, "helper %d cannot run on a device",
				       c->prog->insns[pc].imm);
	text_add(c->t, "{ ");
	err = emit_call(&call);
	text_add(c->t, "}\n");
	return err;
}
