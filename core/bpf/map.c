/* SPDX-License-Identifier: Apache-2.0 */
/* Maps that loaders make, and the elements of all maps of the session. */
#include "bpf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/load/internal.h"

#define PAGE 4096ull

/* Bytes of an array's values, where loaders map them; 0: they do not. */
static uint64_t pages_of(const struct gpubpf_map *def)
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

/* -- the shelf -- */

static int put_on_shelf(const struct gpubpf_session *s, struct sys_object *o)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts), .threads = s->opts.threads, .no_attach = true };
	struct gpubpf_map def = o->map.def;
	struct gpubpf_load_given given = { .from = "a loader", .maps = &def, .nmaps = 1 };
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;
	int err;

	def.rdonly = false; /* it is filled before it is frozen */
	gpubpf_diag_init(&diag);
	o->map.shelf = gpubpf_session__new(&opts);
	if (!o->map.shelf)
		return -ENOMEM;
	err = gpubpf_load_given(&given, &loaded, &diag);
	return err < 0 ? err : gpubpf_session_take(o->map.shelf, loaded, &diag);
}

struct gpubpf_map *sys_map_of(const struct gpubpf_session *s, const struct sys_object *o)
{
	return o->map.shelf ? &o->map.shelf->loaded->unit.maps[0] : &s->loaded->unit.maps[o->map.index];
}

void sys_map_finish(struct sys_object *o)
{
	gpubpf_session__free(o->map.shelf);
	sys_stream_destroy(o->map.stream);
	if (o->map.pages > 0 && o->map.pages != o->fd)
		close(o->map.pages);
}

/* One value that programs know beforehand, as of .rodata; what else they may only read is filled as other maps are. */
static bool is_constant(const struct sys_object *o)
{
	const struct gpubpf_map *def = &o->map.def;

	return def->rdonly && o->map.frozen && def->max_entries == 1 && def->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_ADDRESS);
}

int sys_map_define(const struct gpubpf_session *s, const struct sys_object *o, struct gpubpf_map *def)
{
	const struct gpubpf_map *map = sys_map_of(s, o);
	uint32_t first = 0;
	void *init;
	int err;

	*def = o->map.def;
	def->rdonly = is_constant(o);
	if (!def->rdonly || !o->map.shelf)
		return 0;
	def->kernel = 0; /* who maps it could change what was proven of it */
	init = malloc(gpubpf_map__user_value_size(map));
	err = init ? gpubpf_map__lookup_elem(map, &first, sizeof(first), init, gpubpf_map__user_value_size(map), 0) : -ENOMEM;
	if (err < 0)
		free(init);
	else
		def->init = init;
	return err;
}

static void copy_elements(const struct gpubpf_map *from, const struct gpubpf_map *to)
{
	size_t size = gpubpf_map__user_value_size(from);
	uint8_t *keys = calloc(2, from->key_size + 8), *value = calloc(1, size + 8), *key = NULL;

	while (keys && value && !gpubpf_map__get_next_key(from, key, keys + from->key_size, from->key_size)) {
		key = keys;
		memcpy(key, keys + from->key_size, from->key_size);
		if (!gpubpf_map__lookup_elem(from, key, from->key_size, value, size, 0))
			gpubpf_map__update_elem(to, key, from->key_size, value, size, 0);
	}
	free(keys);
	free(value);
}

static void copy_queue(const struct gpubpf_map *from, const struct gpubpf_map *to)
{
	size_t size = gpubpf_map__user_value_size(from);
	uint8_t *value = calloc(1, size + 8);

	while (value && !gpubpf_map__lookup_and_delete_elem(from, NULL, 0, value, size, 0) &&
	       !gpubpf_map__update_elem(to, NULL, 0, value, size, 0))
		;
	free(value);
}

void sys_map_joined(struct gpubpf_session *s, struct sys_object *o, uint32_t index)
{
	const struct gpubpf_map *to = &s->loaded->unit.maps[index], *from;

	if (!o->map.shelf)
		return;
	from = sys_map_of(s, o);
	if (!to->rdonly && !to->kernel && from->key_size)
		copy_elements(from, to);
	else if (!to->rdonly && !to->kernel && from->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_POP))
		copy_queue(from, to);
	gpubpf_session__free(o->map.shelf);
	o->map.shelf = NULL;
	o->map.joined = true;
	o->map.index = index;
}

/* -- made -- */

static int get_definition(struct sys_call *c, struct gpubpf_sys_map *def)
{
	memset(def, 0, sizeof(*def));
	def->type = gpubpf_get_u32(c->r);
	def->key_size = gpubpf_get_u32(c->r);
	def->value_size = gpubpf_get_u32(c->r);
	def->max_entries = gpubpf_get_u32(c->r);
	def->flags = gpubpf_get_u32(c->r);
	def->extra = gpubpf_get_u64(c->r);
	gpubpf_get_str(c->r, def->name, sizeof(def->name));
	return c->r->failed ? -EPROTO : 0;
}

/* Is it an array of the kernel's of that definition, and can it be written to? Another file might shrink while it is mapped. */
static int check_array(int fd, const struct gpubpf_map *def, uint64_t pages)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(info), .info = (uintptr_t)&info } };
	void *values;

	if (syscall(SYS_bpf, BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr)) < 0)
		return -errno;
	if (info.type != BPF_MAP_TYPE_ARRAY || info.value_size != def->value_size || info.max_entries != def->max_entries)
		return -EINVAL;
	values = mmap(NULL, pages, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (values == MAP_FAILED)
		return -errno;
	munmap(values, pages);
	return 0;
}

/* Its values lie in the file of its handles, which loaders map, or in an array of the kernel's that was given. */
static int find_pages(struct sys_call *c, struct sys_object *o, const struct gpubpf_map *def)
{
	uint64_t pages = pages_of(def);
	int err;

	if (!pages)
		return c->given < 0 ? 0 : -EINVAL;
	err = c->given < 0 ? sys_object_file(o, pages, def->key_size, def->value_size) : check_array(c->given, def, pages);
	if (err < 0)
		return err;
	o->map.pages = c->given < 0 ? o->fd : fcntl(c->given, F_DUPFD_CLOEXEC, 3);
	o->map.def.kernel = o->map.pages + 1;
	return o->map.pages < 0 ? -EMFILE : 0;
}

static int make_map(struct sys_call *c, struct sys_object *o, const struct gpubpf_map *def)
{
	int err;

	o->map.def = *def;
	o->btf = gpubpf_get_u32(c->r);
	o->map.def.btf_key = gpubpf_get_u32(c->r);
	o->map.def.btf_value = gpubpf_get_u32(c->r);
	if (o->btf && !sys_object_of(c->s, GPUBPF_BPF_BTF, o->btf))
		return -EINVAL;
	err = find_pages(c, o, def);
	if (!err)
		err = put_on_shelf(c->s, o);
	if (!err && def->type->flags & GPUBPF_MAP_RING)
		return sys_stream_create(c->s, o);
	if (!err && o->fd < 0)
		err = sys_object_file(o, 0, def->key_size, (uint32_t)sys_value_size(sys_map_of(c->s, o)));
	return err;
}

int sys_map_create(struct sys_call *c)
{
	const struct gpubpf_map_type *type;
	struct gpubpf_sys_map sys;
	struct sys_object *o;
	struct gpubpf_map def;
	uint32_t flags;
	int err = get_definition(c, &sys);

	if (err < 0)
		return err;
	type = gpubpf_map_type_find(sys.type);
	if (type && type->flags & (GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_PROGS)) {
		gpubpf_session_note(c->s, "map %s: maps of %s that a loader makes stay the Linux kernel's, and programs for a GPU cannot "
				    "use them; load the object by gpubpf run -o, or gpubpf session attach -o", sys.name,
				    type->flags & GPUBPF_MAP_PROGS ? "programs" : "maps");
		return -EOPNOTSUPP;
	}
	flags = sys.flags;
	if (type && !(type->flags & GPUBPF_MAP_LAZY)) /* programs could delete nothing */
		sys.flags &= ~(uint32_t)BPF_F_NO_PREALLOC;
	err = gpubpf_map_define(&sys, sys.name, is_global_data(sys.name), &def, NULL);
	if (err < 0)
		return -EINVAL;
	if (def.type->flags & GPUBPF_MAP_ROOM) {
		gpubpf_session_note(c->s, "map %s: a loader cannot read a %s; use a RINGBUF, or gpubpf run -o, which reports the records",
				    sys.name, def.type->name);
		return -EOPNOTSUPP;
	}
	o = sys_object_new(c->s, GPUBPF_BPF_MAP, &err);
	if (!o)
		return err;
	o->map.flags = flags;
	return sys_object_give(c, o, make_map(c, o, &def));
}

int sys_map_freeze(struct sys_call *c)
{
	struct sys_object *o = sys_object_of(c->s, GPUBPF_BPF_MAP, gpubpf_get_u32(c->r));

	if (!o)
		return -EBADF;
	if (o->map.frozen)
		return -EBUSY;
	o->map.frozen = true;
	return 0;
}

/* -- elements -- */

struct elem {
	struct gpubpf_session *s;
	const struct gpubpf_map *map;
	uint32_t cmd;
	const uint8_t *key, *value;    /* NULL: none */
	size_t key_size, value_size;
	uint64_t flags;
	void *back;                    /* what is given back, of */
	size_t size;
};

static int run_elem(struct elem *e)
{
	const struct gpubpf_map *map = e->map;

	switch (e->cmd) {
	case BPF_MAP_LOOKUP_ELEM:
		return sys_value_look(e->s, map, gpubpf_map__lookup_elem, e->key, e->key_size, e->back, e->flags);
	case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
		return sys_value_look(e->s, map, gpubpf_map__lookup_and_delete_elem, e->key, e->key_size, e->back, e->flags);
	case BPF_MAP_UPDATE_ELEM:
		return sys_value_update(e->s, map, e->key, e->key_size, e->value, e->value_size, e->flags);
	case BPF_MAP_DELETE_ELEM:
		return gpubpf_map__delete_elem(map, e->key, e->key_size, e->flags);
	case BPF_MAP_GET_NEXT_KEY:
		if (e->key_size && e->key_size != map->key_size)
			return -EINVAL;
		return gpubpf_map__get_next_key(map, e->key_size ? e->key : NULL, e->back, map->key_size);
	}
	return -EINVAL;
}

static bool writes(uint32_t cmd)
{
	return cmd != BPF_MAP_LOOKUP_ELEM && cmd != BPF_MAP_GET_NEXT_KEY && cmd != BPF_MAP_LOOKUP_BATCH;
}

static uint32_t word(const void *data, size_t size)
{
	uint32_t w = 0;

	memcpy(&w, data, size < sizeof(w) ? size : sizeof(w));
	return w;
}

int sys_map_elem(struct sys_call *c)
{
	struct sys_object *o = sys_object_of(c->s, GPUBPF_BPF_MAP, gpubpf_get_u32(c->r));
	struct elem e = { .s = c->s, .cmd = gpubpf_get_u32(c->r) };
	int err;

	e.key = gpubpf_get_bytes(c->r, &e.key_size);
	e.value = gpubpf_get_bytes(c->r, &e.value_size);
	e.flags = gpubpf_get_u64(c->r);
	if (c->r->failed)
		return -EPROTO;
	if (!o)
		return -EBADF;
	if (o->map.frozen && writes(e.cmd))
		return -EPERM;
	if (o->map.stream)
		return sys_stream_elem(c->s, o, e.cmd, word(e.key, e.key_size), word(e.value, e.value_size));
	e.map = sys_map_of(c->s, o);
	e.size = e.cmd == BPF_MAP_GET_NEXT_KEY ? e.map->key_size : sys_value_size(e.map);
	e.back = calloc(1, e.size + 8);
	err = e.back ? run_elem(&e) : -ENOMEM;
	if (!err && e.cmd != BPF_MAP_UPDATE_ELEM && e.cmd != BPF_MAP_DELETE_ELEM)
		gpubpf_put_bytes(c->out, e.back, e.size);
	free(e.back);
	return err;
}

struct batch {
	struct gpubpf_session *s;
	const struct gpubpf_map *map;
	uint32_t cmd, count;
	uint32_t position;
	uint64_t flags;
	const uint8_t *keys, *values;
	size_t keys_size, values_size;
	uint8_t *back_keys, *back_values;
};

/* A loader's buffer for a batch's position has 4 bytes, if the map is a hash: the elements of all arenas, one after the
 * other. */
static uint64_t position_here(const struct gpubpf_map *map, uint32_t position)
{
	uint64_t each = map->max_entries + 1ull;

	return position / each << GPUBPF_BATCH_ARENA | position % each;
}

static uint32_t position_there(const struct gpubpf_map *map, uint64_t position)
{
	uint64_t each = map->max_entries + 1ull, at = position & ((1ull << GPUBPF_BATCH_ARENA) - 1);

	at += (position >> GPUBPF_BATCH_ARENA) * each;
	return at < UINT32_MAX ? (uint32_t)at : UINT32_MAX;
}

static int run_batch(struct batch *b)
{
	uint64_t position = position_here(b->map, b->position), *from = b->position ? &position : NULL, to = 0;
	int err = -EINVAL;

	switch (b->cmd) {
	case BPF_MAP_LOOKUP_BATCH:
		err = gpubpf_map__lookup_batch(b->map, from, &to, b->back_keys, b->back_values, &b->count);
		break;
	case BPF_MAP_LOOKUP_AND_DELETE_BATCH:
		err = gpubpf_map__lookup_and_delete_batch(b->map, from, &to, b->back_keys, b->back_values, &b->count);
		break;
	case BPF_MAP_UPDATE_BATCH:
		err = gpubpf_map__update_batch(b->map, b->keys, b->values, &b->count, b->flags);
		break;
	case BPF_MAP_DELETE_BATCH:
		err = gpubpf_map__delete_batch(b->map, b->keys, &b->count);
		break;
	default:
		b->count = 0;
	}
	b->position = position_there(b->map, to);
	return err;
}

/* Is all there that is to be put in or deleted? */
static bool is_whole(const struct batch *b)
{
	return b->keys_size >= (uint64_t)b->map->key_size * b->count &&
	       (b->cmd != BPF_MAP_UPDATE_BATCH || b->values_size >= gpubpf_map__user_value_size(b->map) * b->count);
}

static int make_room(struct batch *b, bool gives)
{
	uint64_t key = b->map->key_size, value = gpubpf_map__user_value_size(b->map), most = GPUBPF_BPF_MAX - 4096;
	int err;

	if (!(b->map->type->flags & GPUBPF_MAP_KEYED))
		return -EINVAL;
	err = sys_value_batches(b->s, b->map);
	if (err < 0)
		return err;
	if (!gives)
		return is_whole(b) ? 0 : -EPROTO;
	if (b->count > b->map->max_entries)
		b->count = b->map->max_entries;
	if (b->count > most / (key + value))
		b->count = (uint32_t)(most / (key + value));
	if (!b->count)
		return -E2BIG;
	b->back_keys = calloc(b->count + 1, key + 8);
	b->back_values = calloc(b->count + 1, value + 8);
	return b->back_keys && b->back_values ? 0 : -ENOMEM;
}

int sys_map_batch(struct sys_call *c)
{
	struct sys_object *o = sys_object_of(c->s, GPUBPF_BPF_MAP, gpubpf_get_u32(c->r));
	struct batch b = { .s = c->s, .cmd = gpubpf_get_u32(c->r), .position = gpubpf_get_u32(c->r) };
	bool gives;
	int err;

	b.count = gpubpf_get_u32(c->r);
	b.keys = gpubpf_get_bytes(c->r, &b.keys_size);
	b.values = gpubpf_get_bytes(c->r, &b.values_size);
	b.flags = gpubpf_get_u64(c->r);
	if (c->r->failed)
		return -EPROTO;
	if (!o)
		return -EBADF;
	if (o->map.frozen && writes(b.cmd))
		return -EPERM;
	b.map = sys_map_of(c->s, o);
	gives = b.cmd == BPF_MAP_LOOKUP_BATCH || b.cmd == BPF_MAP_LOOKUP_AND_DELETE_BATCH;
	err = make_room(&b, gives);
	if (err)
		b.count = 0;
	else
		err = run_batch(&b);
	if (err != -EPROTO && err != -ENOMEM) {
		gpubpf_put_u32(c->out, b.count);
		gpubpf_put_u32(c->out, b.position);
		gpubpf_put_bytes(c->out, b.back_keys, gives ? (size_t)b.map->key_size * b.count : 0);
		gpubpf_put_bytes(c->out, b.back_values, gives ? gpubpf_map__user_value_size(b.map) * b.count : 0);
	}
	free(b.back_keys);
	free(b.back_values);
	return err;
}
