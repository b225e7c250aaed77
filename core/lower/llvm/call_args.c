/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers arguments of helpers. The device library (maps/device/devlib.h) takes pointers to private memory. A pointer to
 * the stack is passed directly. Other memory is copied to private memory.
 */
#include <errno.h>
#include <string.h>

#include "call.h"
#include "core/model/param.h"

#define MAX_COPY 16384 /* largest private copy of one argument in bytes */
#define DEVICE_SPACES (GPUBPF_SPACE_MAP_VALUE | GPUBPF_SPACE_RECORD)

static const struct gpubpf_access *get_access(const struct call *c, unsigned reg)
{
	return &c->facts->arg[reg - 1];
}

static bool is_stack_only(const struct call *c, unsigned reg)
{
	return get_access(c, reg)->spaces == GPUBPF_SPACE_STACK;
}

struct branch {
	LLVMBasicBlockRef no, after;
};

/* Begins a conditional block. Code that is built between begin_if() and end_if() runs only if cond is true. */
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

static LLVMValueRef emit_limit_test(const struct call *c, unsigned reg)
{
	return LLVMBuildICmp(c->l->b, LLVMIntULT, get(c, reg), low_const(c->l, GPUBPF_PTR_LIMIT), "");
}

/* Copies the bytes of the context to which an argument points into the argument's private copy. */
static int copy_ctx(const struct call *c, unsigned reg)
{
	const struct gpubpf_access *a = get_access(c, reg);

	if (a->off_min != a->off_max)
		return gpubpf_diag_set(c->l->diag, GPUBPF_E_CTX_ACCESS, c->pc,
				       "the offset into the context is not a constant");
	for (uint32_t i = 0; i < a->size_max; i += 8) {
		LLVMValueRef v = low_ctx(c->f->p, a->off_min + i, 8);

		if (!v)
			return -EINVAL;
		LLVMSetAlignment(LLVMBuildStore(c->l->b, v, low_byte_ptr(c->l, c->temp[reg], low_const32(c->l, i))), 8);
	}
	return 0;
}

/*
 * Returns the bytes to which an argument points if they are read-only data known at compile time, or NULL. The code
 * then reads no memory.
 */
static const char *find_known_bytes(const struct call *c, unsigned reg, uint64_t size)
{
	const struct gpubpf_access *a = get_access(c, reg);
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
		LLVMSetAlignment(LLVMBuildStore(l->b, low_const(l, word), low_byte_ptr(l, c->temp[reg], low_const(l, i))),
				 8);
	}
}

/* Copies the argument's memory to its private copy or, if `out`, the private copy to the memory. */
static void transfer(const struct call *c, unsigned reg, LLVMValueRef size, bool out)
{
	const struct gpubpf_access *a = get_access(c, reg);
	bool stack = a->spaces & GPUBPF_SPACE_STACK, device = a->spaces & DEVICE_SPACES;
	bool null = a->spaces & GPUBPF_SPACE_NULL;
	LLVMValueRef temp = c->temp[reg];
	struct low *l = c->l;
	struct branch on_stack, not_null;

	if (stack && (device || null))
		on_stack = begin_if(c, LLVMBuildAnd(l->b, emit_limit_test(c, reg),
						    LLVMBuildIsNotNull(l->b, get(c, reg), ""), ""));
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

static const struct gpubpf_arg_row *get_arg_row(const struct call *c, unsigned reg)
{
	bool on_map = c->helper->class == GPUBPF_CLASS_MAP;

	return gpubpf_arg_row(gpubpf_helper_arg(c->helper, (int)reg - 1, on_map ? map_of(c)->type : NULL));
}

static bool is_direct(const struct call *c, unsigned reg)
{
	return c->helper->class == GPUBPF_CLASS_MAP &&
	       gpubpf_is_direct(c->helper, map_of(c), get_arg_row(c, reg)->size, get_access(c, reg));
}

int low_set_layout_flag(struct call *c, uint32_t what)
{
	struct gpubpf_map_layout *layout = gpubpf_pool_alloc(c->l->pool, 1, sizeof(*layout));

	if (!layout)
		return -ENOMEM;
	*layout = *c->layout;
	layout->flags |= what;
	c->layout = layout;
	return 0;
}

/* Passes a map value as an argument by its device address, which is stored in a word of private memory. */
static int pass_value_address(struct call *c, unsigned reg)
{
	int err = low_set_layout_flag(c, GPUBPF_LAYOUT_BY_ADDRESS);

	if (err < 0)
		return err;
	c->temp[reg] = low_alloca(c->f->p, low_int(c->l, 8), 8, "from");
	LLVMBuildStore(c->l->b, get(c, reg), c->temp[reg]);
	return 0;
}

/*
 * Makes the memory of an argument available as private memory. Creates and fills c->temp[reg], unless the argument
 * points to the stack and is passed directly. `size` is the size in bytes (i64), `room` its maximum.
 */
static int prepare_arg(struct call *c, unsigned reg, uint64_t room, LLVMValueRef size)
{
	const struct gpubpf_access *a = get_access(c, reg);
	const char *known = find_known_bytes(c, reg, room);

	c->temp[reg] = NULL;
	if (is_stack_only(c, reg))
		return 0;
	if (is_direct(c, reg))
		return pass_value_address(c, reg);
	if (room > MAX_COPY)
		return gpubpf_diag_set(
			c->l->diag, GPUBPF_E_TARGET_LACKS, c->pc,
			"helper %s would copy %llu bytes of map memory, but the limit is %d; look the element up and write to it",
			c->helper->name, (unsigned long long)room, MAX_COPY);
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

/* Returns the pointer that the library receives for the argument. prepare_arg() must have been called. */
static LLVMValueRef emit_pointer(const struct call *c, unsigned reg)
{
	return c->temp[reg] ? c->temp[reg] : low_stack_ptr(c->f->p, get_access(c, reg), get(c, reg));
}

/* Returns the size in bytes (i64) of the memory to which an argument points. Sets *room to its maximum. */
static LLVMValueRef emit_size(const struct call *c, unsigned reg, uint64_t *room)
{
	*room = get_access(c, reg)->size_max;
	switch (get_arg_row(c, reg)->size) {
	case GPUBPF_SIZE_NEXT:
		return get(c, reg + 1);
	case GPUBPF_SIZE_KEY:
		*room = map_of(c)->key_size;
		break;
	case GPUBPF_SIZE_VALUE:
		*room = map_of(c)->value_size;
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
	return low_const(c->l, *room);
}

static bool is_pointer(const struct call *c, unsigned reg)
{
	return get_arg_row(c, reg)->size != GPUBPF_SIZE_NONE;
}

int low_prepare_args(struct call *c)
{
	int err = 0;

	for (unsigned reg = GPUBPF_R1; reg <= GPUBPF_R5 && !err; reg++) {
		uint64_t room;
		LLVMValueRef size;

		if (!is_pointer(c, reg))
			continue;
		size = emit_size(c, reg, &room);
		err = prepare_arg(c, reg, room, size);
	}
	return err;
}

void low_write_back(const struct call *c)
{
	for (unsigned reg = GPUBPF_R1; reg <= GPUBPF_R5; reg++) {
		uint64_t room;

		if (get_arg_row(c, reg)->pass == GPUBPF_PASS_OUT && c->temp[reg])
			transfer(c, reg, emit_size(c, reg, &room), true);
	}
}

/*
 * Passes the parameter of helper 520 as offset and size of the parameter's bytes. Both are 0 if these bytes are not
 * available.
 */
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

/*
 * Passes the parameter of helper 530 as index and number of bits. The parameter exists, because the creator of the job
 * called gpubpf_params_fit().
 */
static unsigned pass_named(const struct call *c, unsigned reg, LLVMValueRef *args)
{
	const struct gpubpf_site_desc *site = c->f->p->site;
	const char *name = gpubpf_param_name(c->l->job->unit, get_access(c, reg));
	struct gpubpf_param_read read = { 0 };
	char why[240] = "the parameter's name is not one constant string";

	if (!name || gpubpf_param_find(site->params, site->nparams, name, &read, why, sizeof(why)) < 0)
		gpubpf_diag_set(c->l->diag, GPUBPF_E_TARGET_LACKS, c->pc, "helper %s: %s", c->helper->name, why);
	args[0] = low_const(c->l, read.index);
	args[1] = low_const(c->l, (uint64_t)read.bits);
	return 2;
}

unsigned low_pass(const struct call *c, unsigned reg, LLVMValueRef *args)
{
	switch (get_arg_row(c, reg)->pass) {
	case GPUBPF_PASS_NOT:
		break;
	case GPUBPF_PASS_NUMBER:
		args[0] = get(c, reg);
		return 1;
	case GPUBPF_PASS_IN:
	case GPUBPF_PASS_OUT:
		args[0] = emit_pointer(c, reg);
		return 1;
	case GPUBPF_PASS_TEXT:
		args[0] = emit_pointer(c, reg);
		args[1] = low_const(c->l, get_access(c, reg)->size_max);
		return 2;
	case GPUBPF_PASS_PARAM:
		return pass_param(c, reg, args);
	case GPUBPF_PASS_NAMED:
		return pass_named(c, reg, args);
	case GPUBPF_PASS_COOKIE:
		args[0] = low_const(c->l, c->f->p->prog->cookie);
		return 1;
	}
	return 0;
}
