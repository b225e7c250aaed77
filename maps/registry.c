/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines the table of map types from include/gpubpf/map_types.def, with the number, operations and kind of each type.
 */
#include "impl.h"

enum {
#define GPUBPF_MAP_FLAG(name, meaning) name = GPUBPF_MAP_##name,
#include "gpubpf/map_types.def"
};

static const struct gpubpf_map_type map_types[] = {
#define OP(name) GPUBPF_OP_BIT(GPUBPF_OP_##name)
#define GPUBPF_MAP_TYPE(number, name, impl, operations, flags, meaning) \
	{ number, #name, &gpubpf_##impl##_impl, operations, flags, meaning },
#include "gpubpf/map_types.def"
#undef OP
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct gpubpf_map_type *gpubpf_map_type_at(size_t i)
{
	return i < COUNT(map_types) ? &map_types[i] : NULL;
}

const struct gpubpf_map_type *gpubpf_map_type_find(uint32_t number)
{
	for (size_t i = 0; i < COUNT(map_types); i++)
		if (map_types[i].number == number)
			return &map_types[i];
	return NULL;
}

bool gpubpf_map_type_has(uint32_t number, uint32_t flags)
{
	const struct gpubpf_map_type *type = gpubpf_map_type_find(number);

	return type && type->flags & flags;
}

const struct gpubpf_map_impl *gpubpf_map_impl_of(const struct gpubpf_map_view *view)
{
	return view->map ? view->map->type->impl : &gpubpf_ring_impl;
}

bool gpubpf_map_type_complete(const struct gpubpf_map_type *type)
{
	const struct gpubpf_map_impl *impl = type->impl;
	const struct gpubpf_helper *helper;

	for (size_t i = 0; (helper = gpubpf_helper_at(i)); i++)
		if (gpubpf_op_row(helper->op)->function[0] && type->ops & GPUBPF_OP_BIT(helper->op) &&
		    !impl->op[helper->op])
			return false;
	return impl->name && impl->check && impl->size && (impl->where || !impl->op[GPUBPF_OP_LOOKUP]) &&
	       (impl->init || !(type->ops & GPUBPF_OP_BIT(GPUBPF_OP_ADDRESS)));
}
