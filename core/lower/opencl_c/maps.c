/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits the operations of each map as functions in which the map's layout is constant, such as gpubpf_map0_lookup(env,
 * key). A compiler may share one copy of such a function among all its calls. The library's own functions are always
 * inlined into these. Compilers for CPUs would also inline these functions and take long over large ones, so the large
 * ones are noinline for CPUs.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "opencl_c.h"
#include "maps/impl.h"

/*
 * Emits the layout as arguments. The location of an element of a map of maps comes from its pointer. The location of a
 * map outside of the arena comes from the map's row in the arena's table.
 */
static void emit_layout(struct text *t, const struct gpubpf_map_layout *l, bool element, uint32_t row)
{
	text_add(t, "%u, %u, %u, %u, %u, ", l->flags | (element ? GPUBPF_LAYOUT_ELEMENT : 0), l->key_size,
		 l->value_size, l->max_entries, l->copies);
	if (element)
		text_add(t, "gpubpf_of_maps_ctl(env, map), gpubpf_of_maps_data(env, map), ");
	else if (l->flags & GPUBPF_LAYOUT_PLACED)
		text_add(t, "gpubpf_external_ctl(env, %u), gpubpf_external_data(env, %u), ", row, row);
	else
		text_add(t, "%lluUL, %lluUL, ", (unsigned long long)l->ctl, (unsigned long long)l->data);
	text_add(t, "%lluUL, %lluUL", (unsigned long long)l->stride, (unsigned long long)l->copy_stride);
}

/* properties that all functions of one map share */
struct functions {
	struct text *t;
	char prefix[24];
	const char *impl;
	const struct gpubpf_map_layout *layout;
	bool element; /* the functions work on elements of a map of maps; their first parameter points to the element */
	bool called;  /* all functions except look-ups are emitted as noinline */
	uint32_t row; /* index of the map in the arena's table */
};

/*
 * Emits a function: static TYPE gpubpf_PREFIX_OP(GPUBPF_ENV PARAMETERS) { return gpubpf_IMPL_OP(env, LAYOUT ARGUMENTS);
 * }
 */
static void emit_operation(const struct functions *f, const char *type, const char *op, const char *parameters,
			   const char *arguments)
{
	struct text *t = f->t;

	text_add(t, "%sstatic %s gpubpf_%s_%s%s(GPUBPF_ENV%s%s)\n{\n\treturn gpubpf_%s_%s(env, ",
		 f->called && strcmp(op, "lookup") ? "__attribute__((noinline)) " : "", type, f->prefix, op,
		 f->layout->flags & GPUBPF_LAYOUT_BY_ADDRESS ? CLC_FROM : "", f->element ? ", u64 map" : "", parameters,
		 f->impl, op);
	emit_layout(t, f->layout, f->element, f->row);
	text_add(t, "%s);\n}\n", arguments);
}

/* for each kind of helper argument: type of the function's parameter, and begin of its name */
static const struct {
	const char *type, *name;
} passed[GPUBPF_ARGS] = {
	[GPUBPF_ARG_MAP_KEY] = { "GPUBPF_PRIVATE const u8 *", "key" },
	[GPUBPF_ARG_MAP_VALUE] = { "GPUBPF_PRIVATE const u8 *", "value" },
	[GPUBPF_ARG_MAP_VALUE_OUT] = { "GPUBPF_PRIVATE u8 *", "value" },
	[GPUBPF_ARG_MEM_RD] = { "GPUBPF_PRIVATE const u8 *", "data" },
	[GPUBPF_ARG_SIZE] = { "u64 ", "size" },
	[GPUBPF_ARG_SIZE_OR_ZERO] = { "u64 ", "size" },
	[GPUBPF_ARG_ALLOC_SIZE] = { "u64 ", "size" },
	[GPUBPF_ARG_ANY] = { "u64 ", "number" },
	[GPUBPF_ARG_DYNPTR_NEW] = { "GPUBPF_PRIVATE u8 *", "dynptr" },
};

/* Emits the function for helper h on a map of type `type`. The names of its parameters end with their numbers. */
static void emit_helper(const struct functions *f, const struct gpubpf_map_type *type, const struct gpubpf_helper *h)
{
	char parameters[256] = "", arguments[64] = "";
	size_t np = 0, na = 0;

	for (int i = 0; i < 5; i++) {
		enum gpubpf_arg arg = gpubpf_helper_arg(h, i, type);

		if (gpubpf_arg_row(arg)->pass == GPUBPF_PASS_NOT)
			continue;
		assert(passed[arg].type);
		np += (size_t)snprintf(parameters + np, sizeof(parameters) - np, ", %s%s%d", passed[arg].type,
				       passed[arg].name, i);
		na += (size_t)snprintf(arguments + na, sizeof(arguments) - na, ", %s%d", passed[arg].name, i);
	}
	emit_operation(f, h->ret == GPUBPF_RET_INT ? "s64" : "u64", gpubpf_op_row(h->op)->function, parameters, arguments);
}

static void map_functions(struct text *t, const struct gpubpf_lower_job *job, uint32_t index)
{
	const struct gpubpf_map *map = &job->unit->maps[index];
	const struct gpubpf_map_layout *l = &job->layouts[index];
	const struct gpubpf_map_type *type = map->type;
	const struct gpubpf_helper *h;
	struct gpubpf_map_layout from = *l;
	struct functions f = {
		.t = t, .impl = type->impl->name, .layout = l, .element = map->prototype, .row = index,
		.called = type->impl->large && job->caps->bits & GPUBPF_CAP_X86,
	}, direct;

	from.flags |= GPUBPF_LAYOUT_BY_ADDRESS;
	snprintf(f.prefix, sizeof(f.prefix), "map%u", index);
	direct = f;
	direct.layout = &from;
	for (size_t i = 0; (h = gpubpf_helper_at(i)); i++)
		if (h->class == GPUBPF_CLASS_MAP && type->ops & GPUBPF_OP_BIT(h->op)) {
			emit_helper(&f, type, h);
			if (gpubpf_may_be_direct(h, map))
				emit_helper(&direct, type, h);
		}
	if (type->ops & GPUBPF_OP_BIT(GPUBPF_OP_FOR_EACH))
		emit_operation(&f, "u64", gpubpf_op_row(GPUBPF_OP_FOR_EACH)->function,
			       ", GPUBPF_PRIVATE u64 *at, GPUBPF_PRIVATE u8 *key", ", at, key");
	if (type->ops & GPUBPF_OP_BIT(GPUBPF_OP_ADDRESS) && !map->prototype)
		emit_operation(&f, "u64", "address", ", u32 index", ", index");
}

void clc_maps(struct text *t, const struct gpubpf_lower_job *job)
{
	const struct functions prints = { .t = t, .prefix = "print", .impl = "helper", .layout = &job->print_layout };

	for (uint32_t i = 0; i < job->unit->nmaps; i++)
		map_functions(t, job, i);
	if (!job->print_ring)
		return;
	emit_operation(&prints, "s64", "trace_printk",
		       ", u32 prog, GPUBPF_PRIVATE const u8 *fmt, u64 size, u64 a, u64 b, u64 c",
		       ", prog, fmt, size, a, b, c");
	emit_operation(&prints, "s64", "trace_vprintk",
		       ", u32 prog, GPUBPF_PRIVATE const u8 *fmt, u64 size, GPUBPF_PRIVATE const u8 *values, u64 bytes",
		       ", prog, fmt, size, values, bytes");
	emit_operation(&prints, "s64", "puts", ", u32 prog, GPUBPF_PRIVATE const u8 *text, u64 size", ", prog, text, size");
}
