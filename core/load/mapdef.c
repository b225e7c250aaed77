/* SPDX-License-Identifier: Apache-2.0 */
/* Map definitions: the rules of each type, those of bpf(2) where the type is the kernel's. */
#include "parts.h"

#include <stdio.h>
#include <string.h>

#include "core/diag.h"

#define MAX_KEY 512u             /* a key fits on the stack */
#define MAX_VALUE (64u << 20)
#define MAX_ENTRIES (1u << 30)
#define PAGE 4096u

#define ARRAY_FLAGS (BPF_F_MMAPABLE | BPF_F_INNER_MAP | BPF_F_PRESERVE_ELEMS)
#define HASH_FLAGS (BPF_F_NO_PREALLOC | BPF_F_NO_COMMON_LRU | BPF_F_ZERO_SEED)
#define ANY_FLAGS \
	(BPF_F_NUMA_NODE | BPF_F_RDONLY | BPF_F_WRONLY | BPF_F_RDONLY_PROG | BPF_F_WRONLY_PROG)

static int wrong(struct gpubpf_diag *diag, const char *attr, uint32_t is, const struct gpubpf_map_type *type,
		 const char *must)
{
	return gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC, "%s is %u; for type %s it must be %s", attr, is,
			       type->name, must);
}

static int unknown_type(uint32_t number, struct gpubpf_diag *diag)
{
	const struct gpubpf_map_type *type;
	char list[240] = "";
	size_t at = 0;

	for (size_t i = 0; (type = gpubpf_map_type_at(i)) && at < sizeof(list); i++)
		at += snprintf(list + at, sizeof(list) - at, "%s%s (%u)", at ? ", " : "", type->name, type->number);
	gpubpf_diag_remedy(diag, "use one of %s", list);
	return gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC, "map type %u is unknown; known are %s", number,
			       list);
}

/* A stream: RINGBUF counts bytes, the others records; the size of a value bounds a
 * record in 1527 only. */
static int check_ring(const struct gpubpf_sys_map *def, struct gpubpf_map *map, struct gpubpf_diag *diag)
{
	map->key_size = map->btf_key = 0;
	switch (def->type) {
	case BPF_MAP_TYPE_RINGBUF:
		if (def->key_size)
			return wrong(diag, "key_size", def->key_size, map->type, "0");
		if (def->max_entries < PAGE || def->max_entries & (def->max_entries - 1))
			return wrong(diag, "max_entries", def->max_entries, map->type,
				     "a power of two of at least 4096 bytes");
		map->value_size = 0; /* its type, if given, is that of the records */
		return 0;
	case BPF_MAP_TYPE_PERF_EVENT_ARRAY:
		if (def->key_size != 0 && def->key_size != 4)
			return wrong(diag, "key_size", def->key_size, map->type, "4");
		if (def->value_size != 0 && def->value_size != 4)
			return wrong(diag, "value_size", def->value_size, map->type, "4");
		map->value_size = map->btf_value = 0;
		return 0;
	}
	if (!def->value_size || def->value_size > MAX_VALUE)
		return wrong(diag, "value_size", def->value_size, map->type, "1 to 67108864: the room of a record");
	return 0;
}

static int check_keyed(const struct gpubpf_sys_map *def, const struct gpubpf_map *map, struct gpubpf_diag *diag)
{
	if (map->type->flags & GPUBPF_MAP_U32KEY ? def->key_size != 4 : !def->key_size || def->key_size > MAX_KEY)
		return wrong(diag, "key_size", def->key_size, map->type,
			     map->type->flags & GPUBPF_MAP_U32KEY ? "4" : "1 to 512");
	if (!def->value_size || def->value_size > MAX_VALUE)
		return wrong(diag, "value_size", def->value_size, map->type, "1 to 67108864");
	return 0;
}

static int check_flags(const struct gpubpf_map *map, struct gpubpf_diag *diag)
{
	uint32_t allowed = ANY_FLAGS, extra;

	if (map->type->flags & GPUBPF_MAP_U32KEY || map->type->number == BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		allowed |= ARRAY_FLAGS;
	else if (map->type->flags & GPUBPF_MAP_KEYED)
		allowed |= HASH_FLAGS;
	extra = map->map_flags & ~allowed;
	if (!extra)
		return 0;
	return gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC,
			       "map_flags has 0x%x, which type %s does not take; allowed are 0x%x", extra,
			       map->type->name, allowed);
}

int gpubpf_map_define(const struct gpubpf_sys_map *def, const char *name, bool global_data,
		      struct gpubpf_map *map, struct gpubpf_diag *diag)
{
	const struct gpubpf_map_type *type = gpubpf_map_type_find(def->type);
	int err;

	*map = (struct gpubpf_map){
		.type = type, .key_size = def->key_size, .value_size = def->value_size,
		.max_entries = def->max_entries, .map_flags = def->flags, .global_data = global_data,
		.rdonly = def->frozen || (def->flags & BPF_F_RDONLY_PROG),
		.btf_key = def->btf_key, .btf_value = def->btf_value,
	};
	snprintf(map->name, sizeof(map->name), "%s", name);
	if (!type)
		return unknown_type(def->type, diag);
	if (!def->max_entries || def->max_entries > MAX_ENTRIES)
		return wrong(diag, "max_entries", def->max_entries, type, "1 to 1073741824");
	err = type->flags & GPUBPF_MAP_RING ? check_ring(def, map, diag) : check_keyed(def, map, diag);
	return err < 0 ? err : check_flags(map, diag);
}
