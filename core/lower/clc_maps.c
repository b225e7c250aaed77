/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations on each map as functions of its own, with the layout as constants: programs read
 * gpubpf_map0_lookup(env, key), and a compiler may keep one copy for several places (the library's own
 * functions are always inlined; both CPU devices inline these too).
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "clc.h"
#include "maps/impl.h"

static void layout(struct text *t, const struct gpubpf_map_layout *l)
{
	text_add(t, "%u, %u, %u, %u, %u, %lluUL, %lluUL, %lluUL, %lluUL", l->flags, l->key_size, l->value_size,
		 l->max_entries, l->copies, (unsigned long long)l->ctl, (unsigned long long)l->data,
		 (unsigned long long)l->stride, (unsigned long long)l->copy_stride);
}

/* static TYPE gpubpf_PREFIX_OP(GPUBPF_ENV PARAMETERS) { return gpubpf_IMPL_OP(env, LAYOUT ARGUMENTS); } */
static void operation(struct text *t, const char *type, const char *prefix, const char *impl, const char *op,
		      const struct gpubpf_map_layout *l, const char *parameters, const char *arguments)
{
	text_add(t, "static %s gpubpf_%s_%s%s(GPUBPF_ENV%s)\n{\n\treturn gpubpf_%s_%s(env, ", type, prefix, op,
		 l->flags & GPUBPF_LAYOUT_FROM ? CLC_FROM : "", parameters, impl, op);
	layout(t, l);
	text_add(t, "%s);\n}\n", arguments);
}

/* how the functions here name and hand on what helpers take */
static const struct {
	const char *parameter, *argument;
} passed[GPUBPF_ARGS] = {
	[GPUBPF_ARG_MAP_KEY] = { ", GPUBPF_PRIVATE const u8 *key", ", key" },
	[GPUBPF_ARG_MAP_VALUE] = { ", GPUBPF_PRIVATE const u8 *value", ", value" },
	[GPUBPF_ARG_MAP_VALUE_OUT] = { ", GPUBPF_PRIVATE u8 *value", ", value" },
	[GPUBPF_ARG_MEM_RD] = { ", GPUBPF_PRIVATE const u8 *data", ", data" },
	[GPUBPF_ARG_SIZE] = { ", u64 size", ", size" },
	[GPUBPF_ARG_SIZE_OR_ZERO] = { ", u64 size", ", size" },
	[GPUBPF_ARG_ALLOC_SIZE] = { ", u64 size", ", size" },
	[GPUBPF_ARG_ANY] = { ", u64 flags", ", flags" },
};

/* what the helper does, for a map of the type */
static void helper(struct text *t, const char *prefix, const struct gpubpf_map_type *type,
		   const struct gpubpf_map_layout *l, const struct gpubpf_helper *h)
{
	char parameters[160] = "", arguments[64] = "";

	for (int i = 0; i < 5; i++) {
		enum gpubpf_arg arg = gpubpf_helper_arg(h, i, type);

		if (gpubpf_arg_row(arg)->pass == GPUBPF_PASS_NOT)
			continue;
		assert(passed[arg].parameter);
		strcat(parameters, passed[arg].parameter);
		strcat(arguments, passed[arg].argument);
	}
	operation(t, h->ret == GPUBPF_RET_INT ? "s64" : "u64", prefix, type->impl->name,
		  gpubpf_op_row(h->op)->function, l, parameters, arguments);
}

static void map_functions(struct text *t, uint32_t index, const struct gpubpf_map *map, const struct gpubpf_map_layout *l)
{
	const struct gpubpf_map_type *type = map->type;
	const struct gpubpf_helper *h;
	struct gpubpf_map_layout from = *l;
	char prefix[24];

	from.flags |= GPUBPF_LAYOUT_FROM;
	snprintf(prefix, sizeof(prefix), "map%u", index);
	for (size_t i = 0; (h = gpubpf_helper_at(i)); i++)
		if (h->class == GPUBPF_CLASS_MAP && type->ops & GPUBPF_OP_BIT(h->op)) {
			helper(t, prefix, type, l, h);
			if (gpubpf_may_be_direct(h, map))
				helper(t, prefix, type, &from, h);
		}
	if (type->ops & GPUBPF_OP_BIT(GPUBPF_OP_ADDRESS))
		operation(t, "u64", prefix, type->impl->name, "address", l, ", u32 index", ", index");
}

void clc_maps(struct text *t, const struct gpubpf_lower_job *job)
{
	for (uint32_t i = 0; i < job->unit->nmaps; i++)
		map_functions(t, i, &job->unit->maps[i], &job->layouts[i]);
	if (!job->print_ring)
		return;
	operation(t, "s64", "print", "helper", "trace_printk", &job->print_layout,
		  ", u32 prog, GPUBPF_PRIVATE const u8 *fmt, u64 size, u64 a, u64 b, u64 c",
		  ", prog, fmt, size, a, b, c");
	operation(t, "s64", "print", "helper", "puts", &job->print_layout,
		  ", u32 prog, GPUBPF_PRIVATE const u8 *text, u64 size", ", prog, text, size");
}
