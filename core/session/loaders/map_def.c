/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads and checks the definitions of maps that loaders create. Also decides which commands of bpf(2) loaders may run
 * on a map.
 */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/internal.h"

#define PAGE 4096ull

uint64_t sys_map_def_mappable_bytes(const struct gpubpf_map *def)
{
	uint64_t stride = ((uint64_t)def->value_size + 7) & ~7ull;

	if (!(def->map_flags & BPF_F_MMAPABLE) || !(def->type->flags & GPUBPF_MAP_U32KEY))
		return 0;
	return (stride * def->max_entries + PAGE - 1) & ~(PAGE - 1);
}

static bool is_global_data(const char *name)
{
	const char *dot = strchr(name, '.');

	return dot && (!strncmp(dot, ".data", 5) || !strncmp(dot, ".bss", 4) || !strncmp(dot, ".rodata", 7));
}

struct gpubpf_map *sys_map_get(const struct gpubpf_session *s, const struct sys_object *o)
{
	return o->map.shelf ? &gpubpf_session_unit(o->map.shelf)->maps[0] : &gpubpf_session_unit(s)->maps[o->map.index];
}

/*
 * Returns true if the map is a frozen read-only array of one value, such as .rodata. The verifier may use its value as
 * a constant.
 */
static bool is_constant(const struct sys_object *o)
{
	const struct gpubpf_map *def = &o->map.def;

	return def->rdonly && o->map.frozen && def->max_entries == 1 && def->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_ADDRESS);
}

int sys_map_make_def(const struct gpubpf_session *s, const struct sys_object *o, struct gpubpf_map *def)
{
	const struct gpubpf_map *map;
	uint32_t first = 0;
	void *init;
	int err;

	*def = o->map.def;
	def->rdonly = is_constant(o);
	if (!def->rdonly || !o->map.shelf)
		return 0;
	map = sys_map_get(s, o);
	/*
	 * Use a copy of the value. A process that maps the Linux kernel's memory could otherwise change values after
	 * the verifier relied on them.
	 */
	def->kernel = 0;
	init = malloc(gpubpf_map__user_value_size(map));
	err = init ? gpubpf_map__lookup_elem(map, &first, sizeof(first), init, gpubpf_map__user_value_size(map), 0) :
		     -ENOMEM;
	if (err < 0)
		free(init);
	else
		def->init = init;
	return err;
}

int sys_map_read_def(struct sys_call *c, struct gpubpf_sys_map *sys)
{
	memset(sys, 0, sizeof(*sys));
	sys->type = gpubpf_get_u32(c->r);
	sys->key_size = gpubpf_get_u32(c->r);
	sys->value_size = gpubpf_get_u32(c->r);
	sys->max_entries = gpubpf_get_u32(c->r);
	sys->flags = gpubpf_get_u32(c->r);
	sys->extra = gpubpf_get_u64(c->r);
	gpubpf_get_str(c->r, sys->name, sizeof(sys->name));
	return c->r->failed ? -EPROTO : 0;
}

int sys_map_check_def(struct gpubpf_sys_map *sys, struct gpubpf_map *def)
{
	const struct gpubpf_map_type *type = gpubpf_map_type_find(sys->type);

	/* ignore the flag, except for types from which programs can delete elements */
	if (type && !(type->flags & GPUBPF_MAP_LAZY))
		sys->flags &= ~(uint32_t)BPF_F_NO_PREALLOC;
	return gpubpf_map_define(sys, sys->name, is_global_data(sys->name), def, NULL) < 0 ? -EINVAL : 0;
}

bool sys_name_is_valid(const char *name)
{
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_' && *name != '.')
			return false;
	return true;
}

bool sys_map_writes(uint32_t cmd)
{
	return cmd != BPF_MAP_LOOKUP_ELEM && cmd != BPF_MAP_GET_NEXT_KEY && cmd != BPF_MAP_LOOKUP_BATCH;
}

bool sys_map_allows(const struct sys_object *map, uint32_t cmd)
{
	bool changes = cmd == BPF_MAP_UPDATE_ELEM || cmd == BPF_MAP_DELETE_ELEM || cmd == BPF_MAP_UPDATE_BATCH ||
		       cmd == BPF_MAP_DELETE_BATCH;

	if (sys_map_writes(cmd) && (map->map.frozen || map->map.flags & BPF_F_RDONLY))
		return false;
	return changes || !(map->map.flags & BPF_F_WRONLY);
}

uint64_t sys_map_mappable_bytes(const struct sys_object *map)
{
	return map->map.values_fd > 0 ? sys_map_def_mappable_bytes(&map->map.def) : 0;
}
