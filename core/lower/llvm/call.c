/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers, by the rows of include/gpubpf/helpers.def. The device library (maps/device/devlib.h) takes memory arguments in
 * private memory. The stack is passed directly, other memory through a private copy. The map is a constant of the call;
 * where it is not, the code switches over the possible maps.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/lower/callback.h"
#include "core/model/param.h"
#include "low.h"
#include "maps/impl.h"

#define MAX_COPY 16384 /* bytes of private memory that one argument may need */
#define DEVICE_SPACES (GPUBPF_SPACE_MAP_VALUE | GPUBPF_SPACE_RECORD)

struct call {
	struct low_frame *f;
	struct low *l;
	uint32_t pc;
	const struct gpubpf_helper *helper;
	const struct gpubpf_call_facts *facts;
	uint32_t map;               /* map for which code is being emitted */
	const struct gpubpf_map_layout *layout; /* the map's layout, for this call */
	LLVMValueRef temp[6];       /* private copies, by register */
};

unsigned low_map_args(struct low *l, const struct gpubpf_map_layout *m, LLVMValueRef *args)
{
	args[0] = low_const32(l, m->flags);
	args[1] = low_const32(l, m->key_size);
	args[2] = low_const32(l, m->value_size);
	args[3] = low_const32(l, m->max_entries);
	args[4] = low_const32(l, m->copies);
	args[5] = low_const(l, m->ctl);
	args[6] = low_const(l, m->data);
	args[7] = low_const(l, m->stride);
	args[8] = low_const(l, m->copy_stride);
	return 9;
}

unsigned low_unit_map(struct low *l, LLVMValueRef env, uint32_t map, const struct gpubpf_map_layout *layout, LLVMValueRef *args)
{
	unsigned n = low_map_args(l, layout, args);
	LLVMValueRef of[] = { env, low_const32(l, map) };

	if (layout->flags & GPUBPF_LAYOUT_PLACED) {
		args[LOW_CTL - 1] = low_call(l, "gpubpf_external_ctl", of, 2);
		args[LOW_DATA - 1] = low_call(l, "gpubpf_external_data", of, 2);
	}
	return n;
}

static const struct gpubpf_access *argument(const struct call *c, unsigned reg)
{
	return &c->facts->arg[reg - 1];
}

static LLVMValueRef get(const struct call *c, unsigned reg)
{
	return low_get(c->f, reg);
}

static bool is_stack_only(const struct call *c, unsigned reg)
{
	return argument(c, reg)->spaces == GPUBPF_SPACE_STACK;
}

struct branch {
	LLVMBasicBlockRef no, after;
};

/* if (cond) { the code built until end_if() } */
static struct branch begin_if(const struct call *c, LLVMValueRef cond)
{
	LLVMBasicBlockRef yes = low_block(c->f->p, "yes");
	struct branch b = { low_block(c->f->p, "no"), low_block(c->f->p, "after") };

	LLVMBuildCondBr(c->l->b, cond, yes, b.no);
	LLVMPositionBuilderAtEnd(c->l->b, yes);
	return b;
}

static void begin_else(const struct call *c, const struct branch *b)
{
	LLVMBuildBr(c->l->b, b->after);
	LLVMPositionBuilderAtEnd(c->l->b, b->no);
}

static void end_if(const struct call *c, const struct branch *b)
{
	LLVMBuildBr(c->l->b, b->after);
	LLVMPositionBuilderAtEnd(c->l->b, b->after);
}

static LLVMValueRef below_limit(const struct call *c, unsigned reg)
{
	return LLVMBuildICmp(c->l->b, LLVMIntULT, get(c, reg), low_const(c->l, GPUBPF_PTR_LIMIT), "");
}

/* Copies the bytes of the context that an argument covers into its private copy. */
static int copy_ctx(const struct call *c, unsigned reg)
{
	const struct gpubpf_access *a = argument(c, reg);

	if (a->off_min != a->off_max)
		return gpubpf_diag_set(c->l->diag, GPUBPF_E_CTX_ACCESS, c->pc, "the offset into the context varies");
	for (uint32_t i = 0; i < a->size_max; i += 8) {
		LLVMValueRef v = low_ctx(c->f->p, a->off_min + i, 8);

		if (!v)
			return -EINVAL;
		LLVMSetAlignment(LLVMBuildStore(c->l->b, v, low_byte_ptr(c->l, c->temp[reg], low_const32(c->l, i))), 8);
	}
	return 0;
}

/* Returns read-only data whose content is known at compile time, so that no memory is read. NULL: not known. */
static const char *known_bytes(const struct call *c, unsigned reg, uint64_t size)
{
	const struct gpubpf_access *a = argument(c, reg);
	const struct gpubpf_map *map;

	if (a->spaces != GPUBPF_SPACE_MAP_VALUE || a->map < 0 || a->off_min != a->off_max || a->off_min < 0)
		return NULL;
	map = &c->l->job->unit->maps[a->map];
	if (!map->rdonly || !map->init || a->off_min + size > map->value_size)
		return NULL;
	return (const char *)map->init + a->off_min;
}

static void store_known(const struct call *c, unsigned reg, const char *bytes, uint64_t size)
{
	struct low *l = c->l;

	for (uint64_t i = 0; i < size; i += 8) {
		uint64_t word = 0;

		memcpy(&word, bytes + i, size - i < 8 ? size - i : 8);
		LLVMSetAlignment(
			LLVMBuildStore(l->b, low_const(l, word), low_byte_ptr(l, c->temp[reg], low_const(l, i))), 8);
	}
}

/* Copies from the argument's memory into its private copy; with `out`, back. */
static void transfer(const struct call *c, unsigned reg, LLVMValueRef size, bool out)
{
	const struct gpubpf_access *a = argument(c, reg);
	bool stack = a->spaces & GPUBPF_SPACE_STACK, device = a->spaces & DEVICE_SPACES;
	bool null = a->spaces & GPUBPF_SPACE_NULL;
	LLVMValueRef temp = c->temp[reg];
	struct low *l = c->l;
	struct branch on_stack, not_null;

	if (stack && (device || null))
		on_stack = begin_if(
			c, LLVMBuildAnd(l->b, below_limit(c, reg), LLVMBuildIsNotNull(l->b, get(c, reg), ""), ""));
	if (stack) {
		LLVMValueRef ptr = low_stack_ptr(c->f->p, a, get(c, reg));

		LLVMBuildMemCpy(l->b, out ? ptr : temp, out ? 1 : 8, out ? temp : ptr, out ? 8 : 1, size);
	}
	if (stack && (device || null))
		begin_else(c, &on_stack);
	if (device) {
		LLVMValueRef ptr = low_device_ptr(l, get(c, reg));
		unsigned align = a->align ? a->align : 1;

		if (null)
			not_null = begin_if(c, LLVMBuildIsNotNull(l->b, get(c, reg), ""));
		LLVMBuildMemCpy(l->b, out ? ptr : temp, out ? align : 8, out ? temp : ptr, out ? 8 : align, size);
		if (null) {
			begin_else(c, &not_null);
			end_if(c, &not_null);
		}
	}
	if (stack && (device || null))
		end_if(c, &on_stack);
}

static const struct gpubpf_map *map_of(const struct call *c)
{
	return &c->l->job->unit->maps[c->map];
}

static const struct gpubpf_arg_row *row_of(const struct call *c, unsigned reg)
{
	bool on_map = c->helper->class == GPUBPF_CLASS_MAP;

	return gpubpf_arg_row(gpubpf_helper_arg(c->helper, (int)reg - 1, on_map ? map_of(c)->type : NULL));
}

static bool is_direct(const struct call *c, unsigned reg)
{
	return c->helper->class == GPUBPF_CLASS_MAP &&
	       gpubpf_is_direct(c->helper, map_of(c), row_of(c, reg)->size, argument(c, reg));
}

/* Sets a flag in this call's own copy of the map's layout. */
static int set_layout_flag(struct call *c, uint32_t what)
{
	struct gpubpf_map_layout *layout = gpubpf_pool_alloc(c->l->pool, 1, sizeof(*layout));

	if (!layout)
		return -ENOMEM;
	*layout = *c->layout;
	layout->flags |= what;
	c->layout = layout;
	return 0;
}

/* Passes the address of the value in a word of private memory. */
static int pass_value_address(struct call *c, unsigned reg)
{
	int err = set_layout_flag(c, GPUBPF_LAYOUT_BY_ADDRESS);

	if (err < 0)
		return err;
	c->temp[reg] = low_alloca(c->f->p, low_int(c->l, 8), 8, "from");
	LLVMBuildStore(c->l->b, get(c, reg), c->temp[reg]);
	return 0;
}

/*
 * Makes an argument available in private memory. Creates and fills c->temp[reg] unless the stack can be passed
 * directly. `size` is the size in bytes (i64), `room` its maximum.
 */
static int prepare_arg(struct call *c, unsigned reg, uint64_t room, LLVMValueRef size)
{
	const struct gpubpf_access *a = argument(c, reg);
	const char *known = known_bytes(c, reg, room);

	c->temp[reg] = NULL;
	if (is_stack_only(c, reg))
		return 0;
	if (is_direct(c, reg))
		return pass_value_address(c, reg);
	if (room > MAX_COPY)
		return gpubpf_diag_set(c->l->diag, GPUBPF_E_TARGET_LACKS, c->pc,
				       "helper %s would copy %llu bytes of map memory, the limit is %d; look the element up and write to it", c->helper->name,
				       (unsigned long long)room, MAX_COPY);
	c->temp[reg] = low_alloca(c->f->p, LLVMArrayType2(c->l->i8, (room + 15) & ~7ull), 8, "copy");
	if (a->spaces & GPUBPF_SPACE_CTX) {
		if (a->spaces != GPUBPF_SPACE_CTX)
			return gpubpf_diag_set(c->l->diag, GPUBPF_E_TARGET_LACKS, c->pc,
					       "helper %s gets a pointer that may point to the context or to other memory",
					       c->helper->name);
		return copy_ctx(c, reg);
	}
	if (known)
		store_known(c, reg, known, room);
	else
		transfer(c, reg, size, false);
	return 0;
}

/* Returns the pointer that the library receives; after prepare_arg(). */
static LLVMValueRef pointer(const struct call *c, unsigned reg)
{
	return c->temp[reg] ? c->temp[reg] : low_stack_ptr(c->f->p, argument(c, reg), get(c, reg));
}

/* Returns the size in bytes of a pointer argument's memory (i64). *room is its maximum. */
static LLVMValueRef size_of(const struct call *c, unsigned reg, uint64_t *room)
{
	*room = argument(c, reg)->size_max;
	switch (row_of(c, reg)->size) {
	case GPUBPF_SIZE_NEXT: return get(c, reg + 1);
	case GPUBPF_SIZE_KEY: *room = map_of(c)->key_size; break;
	case GPUBPF_SIZE_VALUE: *room = map_of(c)->value_size; break;
	case GPUBPF_SIZE_WORD: *room = 8; break;
	case GPUBPF_SIZE_KNOWN: case GPUBPF_SIZE_NONE: break;
	}
	return low_const(c->l, *room);
}

static bool is_pointer(const struct call *c, unsigned reg)
{
	return row_of(c, reg)->size != GPUBPF_SIZE_NONE;
}

static int prepare_args(struct call *c)
{
	int err = 0;

	for (unsigned reg = GPUBPF_R1; reg <= GPUBPF_R5 && !err; reg++) {
		uint64_t room;
		LLVMValueRef size;

		if (!is_pointer(c, reg))
			continue;
		size = size_of(c, reg, &room);
		err = prepare_arg(c, reg, room, size);
	}
	return err;
}

static void write_back(const struct call *c)
{
	for (unsigned reg = GPUBPF_R1; reg <= GPUBPF_R5; reg++) {
		uint64_t room;

		if (row_of(c, reg)->pass == GPUBPF_PASS_OUT && c->temp[reg])
			transfer(c, reg, size_of(c, reg, &room), true);
	}
}

/* helper 520: offset and size of the parameter's bytes; both are 0 if the parameter has no bytes */
static unsigned pass_param(const struct call *c, unsigned reg, LLVMValueRef *args)
{
	const struct gpubpf_site_desc *site = c->f->p->site;
	uint64_t index = c->facts->konst[reg - 1];
	const struct gpubpf_param *param = index < site->nparams ? &site->params[index] : NULL;

	if (param && param->bytes_off == UINT32_MAX)
		param = NULL;
	args[0] = low_const(c->l, param ? param->bytes_off : 0);
	args[1] = low_const(c->l, param ? param->size : 0);
	return 2;
}

/* helper 530; the creator of the job has checked with gpubpf_params_fit() that the parameter exists */
static unsigned pass_named(const struct call *c, unsigned reg, LLVMValueRef *args)
{
	const struct gpubpf_site_desc *site = c->f->p->site;
	const char *name = gpubpf_param_name(c->l->job->unit, argument(c, reg));
	struct gpubpf_param_read read = { 0 };
	char why[240] = "the name is not one constant string";

	if (!name || gpubpf_param_find(site->params, site->nparams, name, &read, why, sizeof(why)) < 0)
		gpubpf_diag_set(c->l->diag, GPUBPF_E_TARGET_LACKS, c->pc, "helper %s: %s", c->helper->name, why);
	args[0] = low_const(c->l, read.index);
	args[1] = low_const(c->l, (uint64_t)read.bits);
	return 2;
}

static unsigned pass(const struct call *c, unsigned reg, LLVMValueRef *args)
{
	switch (row_of(c, reg)->pass) {
	case GPUBPF_PASS_NOT:
		break;
	case GPUBPF_PASS_NUMBER:
		args[0] = get(c, reg);
		return 1;
	case GPUBPF_PASS_IN:
	case GPUBPF_PASS_OUT:
		args[0] = pointer(c, reg);
		return 1;
	case GPUBPF_PASS_TEXT:
		args[0] = pointer(c, reg);
		args[1] = low_const(c->l, argument(c, reg)->size_max);
		return 2;
	case GPUBPF_PASS_PARAM:
		return pass_param(c, reg, args);
	case GPUBPF_PASS_NAMED:
		return pass_named(c, reg, args);
	}
	return 0;
}

/*
 * Returns a copy of a key of at most one word, for a call that is not inlined. Passing the key itself would keep it in
 * memory, so that paths that find the element without the call would store it too.
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

/* Looks up in two steps: the inlined fast path, then the shared function if the fast path finds nothing. */
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

/* Looks up in an array whose first value's address is known. */
static LLVMValueRef look_up_from(struct call *c, LLVMValueRef key)
{
	LLVMValueRef args[] = { low_first_value(c->f, c->map), low_const32(c->l, c->layout->max_entries), low_const(c->l, c->layout->stride),
				key };

	return low_call(c->l, "gpubpf_array_lookup_from", args, 4);
}

/* Calls the library's function for the helper. Returns its result, 0 if it has no result; NULL and a diagnostic. */
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
	if (on_map && impl->glances && c->helper->op == GPUBPF_OP_LOOKUP)
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
 * The register selects the element of a map of maps. The element equals maps[c->map] in everything except its location.
 */
static void find_element(const struct call *c, LLVMValueRef *args)
{
	LLVMValueRef of[] = { c->f->p->env, get(c, gpubpf_helper_map_arg(c->helper)) };

	args[LOW_CTL] = low_call(c->l, "gpubpf_of_maps_ctl", of, 2);
	args[LOW_DATA] = low_call(c->l, "gpubpf_of_maps_data", of, 2);
}

/*
 * Fills the arguments of the library's functions on the map c->map. args[0], the environment, is set. Returns their
 * number; -ENOMEM.
 */
static int map_args(struct call *c, LLVMValueRef *args)
{
	int n, err = map_of(c)->prototype ? set_layout_flag(c, GPUBPF_LAYOUT_ELEMENT) : 0;

	if (err < 0)
		return err;
	n = 1 + (int)low_unit_map(c->l, args[0], c->map, c->layout, args + 1);
	if (map_of(c)->prototype)
		find_element(c, args);
	return n;
}

/* Returns the pointer to the key that is passed on: for the library, and in *shown for the program. */
static LLVMValueRef key_of(const struct call *c, LLVMValueRef *shown)
{
	struct gpubpf_access key = c->facts->key;

	key.frame = (uint8_t)(c->f->p->prog->facts->frames + c->f->depth);
	*shown = low_const(c->l, GPUBPF_PTR_STACK + key.frame * GPUBPF_STACK_SIZE);
	return low_stack_ptr(c->f->p, &key, NULL);
}

/*
 * Helper 164: calls a function for each element of the map c->map. If flags are not 0, the iteration starts at its end.
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

/* Emits one helper call, on the map c->map if the helper takes a map. */
static int emit_helper(struct call *c)
{
	LLVMValueRef args[24] = { c->f->p->env }, v;
	int n = 1, err;

	if (c->helper->class == GPUBPF_CLASS_LOOP)
		return emit_for_each(c);
	c->layout = c->helper->class == GPUBPF_CLASS_MAP ? &c->l->job->layouts[c->map] : NULL;
	err = prepare_args(c);
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
		n += (int)pass(c, reg, args + n);
	v = call_library(c, args, (unsigned)n);
	if (!v)
		return -EINVAL;
	low_set(c->f, GPUBPF_R0, v);
	write_back(c);
	return 0;
}

static int end_thread(struct call *c)
{
	if (!c->f->p->site->may_end_thread)
		return gpubpf_diag_set(c->l->diag, GPUBPF_E_SIMT_EXIT, c->pc,
				       "helper exit_thread cannot be used at this site of kernel %s",
				       c->f->p->site->kernel);
	LLVMBuildBr(c->l->b, c->f->p->ended);
	return 0;
}

/* Paths disagree about the map: emits a case for each map that the helper accepts. */
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
		.f = f, .l = f->p->l, .pc = pc, .helper = gpubpf_helper_find(prog->insns[pc].imm),
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
