/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles maps of maps and program arrays of loaders. Loaders insert objects by descriptors, and look them up by ids.
 * struct sys_slots lists the elements for loaders. After the map has joined the session, the session's map has the same
 * elements for GPU programs.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ENOTSUPP 524               /* errno of the Linux kernel, which headers for user space do not define */
#define INNERS_MAX 4096u

static bool is_array(const struct sys_object *map)
{
	return map->map.def.type->flags & GPUBPF_MAP_U32KEY;
}

int sys_slots_create(struct sys_object *map)
{
	map->map.slots = calloc(1, sizeof(*map->map.slots));
	return map->map.slots ? 0 : -ENOMEM;
}

void sys_slots_destroy(struct sys_slots *slots)
{
	if (!slots)
		return;
	free(slots->keys);
	free(slots->ids);
	free(slots->targets);
	free(slots);
}

static uint8_t *get_key(const struct sys_object *map, uint32_t i)
{
	return map->map.slots->keys + (size_t)i * map->map.def.key_size;
}

/* Returns the key's index in map.slots, or map.slots->n if the key is not there. */
static uint32_t find_key(const struct sys_object *map, const void *key)
{
	uint32_t i = 0;

	while (i < map->map.slots->n && memcmp(get_key(map, i), key, map->map.def.key_size))
		i++;
	return i;
}

static uint32_t read_index(const void *key)
{
	uint32_t index;

	memcpy(&index, key, sizeof(index));
	return index;
}

/* -- elements in the session's map -- */

static struct gpubpf_map *find_session_map(struct gpubpf_session *s, const struct sys_object *map)
{
	return map->map.joined ? &gpubpf_session_unit(s)->maps[map->map.index] : NULL;
}

/*
 * Returns the number by which the session's map stores an object: the program's number, or 1 + the map's index. 0: the
 * map has not joined the session.
 */
static uint32_t get_session_number(const struct sys_object *o)
{
	if (o->kind == GPUBPF_BPF_PROG)
		return o->prog.number;
	return o->map.joined ? o->map.index + 1 : 0;
}

static int put_in_session_map(struct gpubpf_session *s, const struct sys_object *map, const void *key, uint32_t id)
{
	const struct gpubpf_map *to = find_session_map(s, map);
	uint32_t number = get_session_number(sys_object_find(s, id));

	return to ? gpubpf_map__update_elem(to, key, to->key_size, &number, sizeof(number), BPF_ANY) : 0;
}

static int delete_in_session_map(struct gpubpf_session *s, const struct sys_object *map, const void *key)
{
	const struct gpubpf_map *to = find_session_map(s, map);

	return to ? gpubpf_map__delete_elem(to, key, to->key_size, 0) : 0;
}

static void set_targets(struct gpubpf_session *s, const struct sys_object *map)
{
	struct gpubpf_map *to = find_session_map(s, map);
	struct gpubpf_map_target *targets;

	if (!to || sys_closure_targets(s, map, &targets) < 0)
		return;
	free(to->targets);
	to->targets = targets;
	to->ntargets = map->map.slots->ntargets;
}

void sys_slots_on_join(struct gpubpf_session *s, struct sys_object *map)
{
	set_targets(s, map);
	for (uint32_t i = 0; i < map->map.slots->n; i++)
		if (put_in_session_map(s, map, get_key(map, i), map->map.slots->ids[i]) < 0)
			gpubpf_session_note(s,
					    "map %s: its element %s is missing for GPU programs, because they were "
					    "loaded after the element was laid out; attach them first",
					    map->map.def.name, sys_object_find(s, map->map.slots->ids[i])->map.def.name);
}

/* -- updating -- */

static int add_target(struct gpubpf_session *s, struct sys_object *map, struct sys_object *prog)
{
	struct sys_slots *slots = map->map.slots;
	uint32_t *grown;
	int err;

	for (uint32_t i = 0; i < slots->ntargets; i++)
		if (slots->targets[i] == prog->id)
			return 0;
	grown = reallocarray(slots->targets, slots->ntargets + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	slots->targets = grown;
	grown[slots->ntargets++] = prog->id;
	err = sys_links_rebuild(s, map);
	if (err < 0)
		slots->ntargets--;
	else
		set_targets(s, map);
	return err;
}

static int check_element(struct gpubpf_session *s, struct sys_object *map, struct sys_object *o)
{
	const char *name = map->map.def.name;
	struct gpubpf_map def;

	if (o->kind == GPUBPF_BPF_PROG)
		return add_target(s, map, o);
	def = o->map.def;
	if (!gpubpf_map_is_like(&def, &map->map.inner)) {
		gpubpf_session_note(s,
				    "map %s: map %s cannot be an element: its type, sizes, max_entries and flags "
				    "must equal those of the definition%s",
				    name, def.name, def.kernel ? ", without BPF_F_MMAPABLE" : "");
		return -EINVAL;
	}
	return map->map.joined && !o->map.joined ? sys_map_join(s, o) : 0;
}

static int insert_element(struct sys_object *map, const void *key, uint32_t id)
{
	struct sys_slots *slots = map->map.slots;
	size_t size = map->map.def.key_size;
	uint32_t *ids = reallocarray(slots->ids, slots->n + 1, sizeof(*ids));
	uint8_t *keys = ids ? reallocarray(slots->keys, slots->n + 1, size) : NULL;

	slots->ids = ids ? ids : slots->ids;
	slots->keys = keys ? keys : slots->keys;
	if (!keys)
		return -ENOMEM;
	memcpy(get_key(map, slots->n), key, size);
	slots->ids[slots->n++] = id;
	return 0;
}

/* Check an update as Linux does. Returns 0 or -errno. */
static int check_update(const struct sys_object *map, const void *key, uint64_t flags)
{
	bool exists = find_key(map, key) < map->map.slots->n;

	if (is_array(map) && flags != BPF_ANY)
		return -EINVAL;
	if (is_array(map))
		return read_index(key) < map->map.def.max_entries ? 0 : -E2BIG;
	if (flags > BPF_EXIST)
		return -EINVAL;
	if (exists)
		return flags == BPF_NOEXIST ? -EEXIST : 0;
	return flags == BPF_EXIST ? -ENOENT : map->map.slots->n < map->map.def.max_entries ? 0 : -E2BIG;
}

static int update_element(struct gpubpf_session *s, struct sys_object *map, const void *key, uint32_t id, uint64_t flags)
{
	bool progs = !map->map.def.inner;
	struct sys_object *o = sys_object_find_kind(s, progs ? GPUBPF_BPF_PROG : GPUBPF_BPF_MAP, id);
	int err = check_update(map, key, flags);
	uint32_t at;

	if (err < 0)
		return err;
	if (!o) {
		gpubpf_session_note(s, "map %s: the value is not a %s", map->map.def.name,
				    progs ? "GPU program: name the program cuda__..., or use --attach PROGRAM=KERNEL "
					    "or --gpu" :
					    "map");
		return -EINVAL;
	}
	err = check_element(s, map, o);
	if (!err)
		err = put_in_session_map(s, map, key, id);
	at = find_key(map, key);
	if (err < 0 || at == map->map.slots->n)
		return err < 0 ? err : insert_element(map, key, id);
	map->map.slots->ids[at] = id;
	return 0;
}

/* -- deletion, look-up and iteration -- */

static int delete_element(struct gpubpf_session *s, struct sys_object *map, const void *key)
{
	struct sys_slots *slots = map->map.slots;
	uint32_t at = find_key(map, key);
	int err;

	if (is_array(map) && read_index(key) >= map->map.def.max_entries)
		return -E2BIG;
	if (at == slots->n)
		return -ENOENT;
	err = delete_in_session_map(s, map, key);
	if (err < 0)
		return err;
	slots->n--;
	memmove(get_key(map, at), get_key(map, at + 1), (size_t)(slots->n - at) * map->map.def.key_size);
	memmove(&slots->ids[at], &slots->ids[at + 1], (slots->n - at) * sizeof(*slots->ids));
	return 0;
}

static int lookup_element(const struct sys_object *map, const void *key, void *back)
{
	uint32_t at = find_key(map, key);

	if (at == map->map.slots->n)
		return -ENOENT;
	memcpy(back, &map->map.slots->ids[at], sizeof(uint32_t));
	return 0;
}

/*
 * Store in `back` the key after `key` (NULL: the first key). For an array, that is the next index. Returns 0 or
 * -ENOENT.
 */
static int find_next_key(const struct sys_object *map, const void *key, void *back)
{
	uint32_t max = map->map.def.max_entries, at;

	if (is_array(map)) {
		at = key && read_index(key) < max ? read_index(key) + 1 : 0;
		memcpy(back, &at, sizeof(at));
		return at < max ? 0 : -ENOENT;
	}
	at = key ? find_key(map, key) + 1 : 0;
	at = at > map->map.slots->n ? 0 : at; /* the key is missing, because it was deleted: start again */
	if (at == map->map.slots->n)
		return -ENOENT;
	memcpy(back, get_key(map, at), map->map.def.key_size);
	return 0;
}

int sys_slots_elem(struct gpubpf_session *s, struct sys_object *map, uint32_t cmd, const void *key, uint32_t id,
		   uint64_t flags, void *back)
{
	switch (cmd) {
	case BPF_MAP_LOOKUP_ELEM:
		return lookup_element(map, key, back);
	case BPF_MAP_UPDATE_ELEM:
		return update_element(s, map, key, id, flags);
	case BPF_MAP_DELETE_ELEM:
		return delete_element(s, map, key);
	case BPF_MAP_GET_NEXT_KEY:
		return find_next_key(map, key, back);
	}
	return -ENOTSUPP;
}

/* -- maps of maps that the Linux kernel created -- */

const struct gpubpf_map *sys_inner_find(const struct gpubpf_session *s, uint32_t kernel_id)
{
	for (uint32_t i = 0; kernel_id && s->loaders && i < s->loaders->ninners; i++)
		if (s->loaders->inners[i].kernel_id == kernel_id)
			return &s->loaders->inners[i].def;
	return NULL;
}

int sys_inner_define(struct sys_call *c)
{
	uint32_t kernel_id = gpubpf_get_u32(c->r);
	struct sys_inner_define *grown;
	struct gpubpf_sys_map sys;
	struct gpubpf_map def;
	int err = sys_map_read_def(c, &sys);

	if (err < 0)
		return err;
	if (sys_map_check_def(&sys, &def) < 0)
		/* no GPU map has that type; sys_map_create() reports this when a GPU program uses the map */
		return -EINVAL;
	err = sys_check_room(c->s);
	if (err < 0 || c->s->loaders->ninners == INNERS_MAX)
		return err < 0 ? err : -ENOSPC;
	grown = reallocarray(c->s->loaders->inners, c->s->loaders->ninners + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	c->s->loaders->inners = grown;
	grown[c->s->loaders->ninners++] = (struct sys_inner_define){ kernel_id, def };
	return 0;
}

int sys_map_by_kernel_id(struct sys_call *c)
{
	uint32_t kernel_id = gpubpf_get_u32(c->r);

	if (c->r->failed)
		return -EPROTO;
	for (uint32_t i = 0; kernel_id && c->s->loaders && i < c->s->loaders->n; i++) {
		struct sys_object *o = c->s->loaders->objects[i];

		if (o->kind != GPUBPF_BPF_MAP || o->map.kernel_id != kernel_id)
			continue;
		gpubpf_put_u32(c->out, o->map.stream && o->map.stream->bridge);
		c->fd = sys_object_handle(o);
		return c->fd < 0 ? c->fd : 0;
	}
	return -ENOENT;
}
