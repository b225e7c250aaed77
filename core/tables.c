/* SPDX-License-Identifier: Apache-2.0 */
/* The .def tables as data. */
#include "prog.h"

static const struct gpubpf_map_type map_types[] = {
#define KEYED GPUBPF_MAP_KEYED
#define U32KEY GPUBPF_MAP_U32KEY
#define RING GPUBPF_MAP_RING
#define COPIES GPUBPF_MAP_COPIES
#define THREAD GPUBPF_MAP_THREAD
#define REPLICA GPUBPF_MAP_REPLICA
#define GPUBPF_MAP_TYPE(number, name, impl, flags, meaning) { number, #name, #impl, flags, meaning },
#include "map_types.def"
#undef KEYED
#undef U32KEY
#undef RING
#undef COPIES
#undef THREAD
#undef REPLICA
};

static const struct gpubpf_helper helpers[] = {
#define DEV GPUBPF_HELPER_DEV
#define HOST GPUBPF_HELPER_HOST
#define KERNEL GPUBPF_HELPER_KERNEL
#define ENDS GPUBPF_HELPER_ENDS
#define ARG(a) GPUBPF_ARG_##a
#define GPUBPF_HELPER(id, name, ret, a1, a2, a3, a4, a5, flags, meaning) \
	{ id, #name, GPUBPF_RET_##ret, { ARG(a1), ARG(a2), ARG(a3), ARG(a4), ARG(a5) }, flags, meaning },
#include "helpers.def"
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

const struct gpubpf_helper *gpubpf_helper_at(size_t i)
{
	return i < COUNT(helpers) ? &helpers[i] : NULL;
}

const struct gpubpf_helper *gpubpf_helper_find(uint32_t id)
{
	for (size_t i = 0; i < COUNT(helpers); i++)
		if (helpers[i].id == id)
			return &helpers[i];
	return NULL;
}

const struct gpubpf_line *gpubpf_prog_line(const struct gpubpf_prog *prog, uint32_t pc)
{
	const struct gpubpf_line *best = NULL;

	for (uint32_t i = 0; i < prog->nlines && prog->lines[i].pc <= pc; i++)
		best = &prog->lines[i];
	return best;
}
