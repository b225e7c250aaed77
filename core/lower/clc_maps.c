/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations on each map as functions of its own, with the layout as constants: programs read
 * gpubpf_map0_lookup(env, key), and a compiler may keep one copy for several places (the library's own
 * functions are always inlined; both CPU devices inline these too).
 */
#include <stdio.h>

#include "clc.h"

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
	text_add(t, "static %s gpubpf_%s_%s(GPUBPF_ENV%s)\n{\n\treturn gpubpf_%s_%s(env, ", type, prefix, op,
		 parameters, impl, op);
	layout(t, l);
	text_add(t, "%s);\n}\n", arguments);
}

static void keyed(struct text *t, const char *prefix, const char *impl, const struct gpubpf_map_layout *l)
{
	operation(t, "u64", prefix, impl, "lookup", l, ", GPUBPF_PRIVATE const u8 *key", ", key");
	operation(t, "s64", prefix, impl, "update", l,
		  ", GPUBPF_PRIVATE const u8 *key, GPUBPF_PRIVATE const u8 *value, u64 flags", ", key, value, flags");
	operation(t, "s64", prefix, impl, "delete", l, ", GPUBPF_PRIVATE const u8 *key", ", key");
}

static void ring(struct text *t, const char *prefix, const char *impl, const struct gpubpf_map_layout *l)
{
	operation(t, "s64", prefix, impl, "output", l, ", GPUBPF_PRIVATE const u8 *data, u64 size", ", data, size");
	operation(t, "u64", prefix, impl, "reserve", l, ", u64 size", ", size");
	operation(t, "s64", prefix, impl, "query", l, ", u64 flags", ", flags");
}

void clc_maps(struct text *t, const struct gpubpf_lower_job *job)
{
	for (uint32_t i = 0; i < job->unit->nmaps; i++) {
		const struct gpubpf_map_type *type = job->unit->maps[i].type;
		const struct gpubpf_map_layout *l = &job->layouts[i];
		char prefix[24];

		snprintf(prefix, sizeof(prefix), "map%u", i);
		if (type->flags & GPUBPF_MAP_RING)
			ring(t, prefix, type->impl, l);
		else
			keyed(t, prefix, type->impl, l);
		if (type->flags & GPUBPF_MAP_U32KEY && !(type->flags & GPUBPF_MAP_THREAD))
			operation(t, "u64", prefix, type->impl, "address", l, ", u32 index", ", index");
	}
	if (!job->print_ring)
		return;
	operation(t, "s64", "print", "helper", "trace_printk", &job->print_layout,
		  ", u32 prog, GPUBPF_PRIVATE const u8 *fmt, u64 size, u64 a, u64 b, u64 c",
		  ", prog, fmt, size, a, b, c");
	operation(t, "s64", "print", "helper", "puts", &job->print_layout,
		  ", u32 prog, GPUBPF_PRIVATE const u8 *text, u64 size", ", prog, text, size");
}
