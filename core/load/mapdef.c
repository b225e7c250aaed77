/* SPDX-License-Identifier: Apache-2.0 */
/* Checks map definitions by the rules for all map types. The files in maps/kinds have the rules for each type. */
#include "internal.h"

#include <stdio.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/placement.h"
#include "gpubpf/allocation.h"
#include "gpubpf/placement.h"
#include "maps/impl.h"

#define MAX_ENTRIES (1u << 30)
#define PAGE 4096u
#define ANY_FLAGS \
	(BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY | BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG | GPUBPF_F_PLACE_MASK)

static int refuse_attr(struct gpubpf_diag *diag, const char *attr, uint32_t is, const struct gpubpf_map_type *type,
		       const char *must)
{
	return gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC, "%s is %u; for type %s it must be %s", attr, is,
			       type->name, must);
}

static int refuse_unknown_type(uint32_t number, struct gpubpf_diag *diag)
{
	const struct gpubpf_map_type *type;
	char list[320] = "";
	size_t at = 0;

	for (size_t i = 0; (type = gpubpf_map_type_at(i)) && at < sizeof(list); i++)
		at += snprintf(list + at, sizeof(list) - at, "%s%s (%u)", at ? ", " : "", type->name, type->number);
	gpubpf_diag_remedy(diag, "use one of %s", list);
	return gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC, "map type %u is unknown; known are %s", number, list);
}

static int check_flags(const struct gpubpf_map *map, struct gpubpf_diag *diag)
{
	uint32_t allowed = ANY_FLAGS | map->type->impl->map_flags, extra = map->map_flags & ~allowed;

	if (!extra && map->place > GPUBPF_PLACEMENTS)
		return gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC,
				       "map_flags has 0x%x, which is not a placement; use one of GPUBPF_F_DEVICE, GPUBPF_F_PINNED, "
				       "GPUBPF_F_SVM and GPUBPF_F_MANAGED",
				       map->map_flags & GPUBPF_F_PLACE_MASK);
	if (!extra)
		return 0;
	return gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC,
			       "map_flags has 0x%x, which type %s does not support; allowed are 0x%x", extra,
			       map->type->name, allowed);
}

bool gpubpf_map_may_be_inner(const struct gpubpf_map_type *type)
{
	return !(type->flags & (GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_RING));
}

int gpubpf_map_define(const struct gpubpf_sys_map *def, const char *name, bool global_data, struct gpubpf_map *map,
		      struct gpubpf_diag *diag)
{
	const struct gpubpf_map_type *type = gpubpf_map_type_find(def->type);
	struct gpubpf_map_fault fault;
	int err;

	*map = (struct gpubpf_map){
		.type = type,
		.key_size = def->key_size,
		.value_size = def->value_size,
		.max_entries = def->max_entries,
		.map_flags = def->flags,
		.map_extra = def->extra,
		.global_data = global_data,
		.place = (def->flags & GPUBPF_F_PLACE_MASK) >> GPUBPF_PLACE_SHIFT,
		.rdonly = def->flags & BPF_F_RDONLY_PROG,
		.inner = def->inner,
		.btf_key = def->btf_key,
		.btf_value = def->btf_value,
	};
	snprintf(map->name, sizeof(map->name), "%s", name);
	if (def->flags & GPUBPF_F_ALLOCATIONS)
		/*
		 * programs cannot write this map, but the session does; so map->rdonly stays false, which means
		 * constant content
		 */
		map->map_flags |= BPF_F_RDONLY_PROG;
	if (!type)
		return refuse_unknown_type(def->type, diag);
	if (!def->max_entries || def->max_entries > MAX_ENTRIES)
		return refuse_attr(diag, "max_entries", def->max_entries, type, "1 to 1073741824");
	if (type->flags & GPUBPF_MAP_BYTES && (def->max_entries < PAGE || def->max_entries & (def->max_entries - 1)))
		return refuse_attr(diag, "max_entries", def->max_entries, type, "a power of two of at least 4096 bytes");
	if (def->extra && !(type->flags & GPUBPF_MAP_ASKED))
		return refuse_attr(diag, "map_extra", (uint32_t)def->extra, type, "0");
	err = check_flags(map, diag);
	if (err < 0)
		return err;
	err = type->impl->check(map, &fault);
	return err < 0 ? refuse_attr(diag, fault.attr, fault.is, type, fault.must) : 0;
}
