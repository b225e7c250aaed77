/* SPDX-License-Identifier: Apache-2.0 */
/* Creates maps for loaders, and runs commands of bpf(2) on their elements. */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/load/internal.h"
#include "maps/impl.h"

/* -- maps that have not joined: each is in its own private session, the shelf -- */

static int put_on_shelf(const struct gpubpf_session *s, struct sys_object *o)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts), .threads = s->opts.threads, .no_attach = true };
	struct gpubpf_map def = o->map.def;
	struct gpubpf_load_passed given = { .from = "a loader", .maps = &def, .nmaps = 1 };
	struct gpubpf_loaded *loaded;
	struct gpubpf_diag diag;
	int err;

	def.rdonly = false; /* the loader can fill the map until the loader freezes it */
	gpubpf_diag_init(&diag);
	o->map.shelf = s->factory->create(&opts);
	if (!o->map.shelf)
		return -ENOMEM;
	err = gpubpf_load_passed(&given, &loaded, &diag);
	return err < 0 ? err : gpubpf_session_adopt_unit(o->map.shelf, loaded, &diag);
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

static void move_elements(struct gpubpf_session *s, struct sys_object *o, const struct gpubpf_map *to)
{
	const struct gpubpf_map *from = sys_map_get(s, o);

	if (!to->rdonly && !to->kernel && from->key_size && o->map.kernel_fd <= 0)
		copy_elements(from, to);
	else if (!to->rdonly && !to->kernel && from->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_POP))
		copy_queue(from, to);
	s->factory->destroy(o->map.shelf);
	o->map.shelf = NULL;
}

void sys_map_on_join(struct gpubpf_session *s, struct sys_object *o, uint32_t index)
{
	if (o->map.shelf)
		move_elements(s, o, &gpubpf_session_unit(s)->maps[index]);
	o->map.joined = true;
	o->map.index = index;
	sys_shadow_on_join(s, o);
}

/* -- operations of struct sys_object_ops -- */

/*
 * Keep the memory of a joined map open in retained_fds until the session ends, because devices that appear later also
 * map that memory.
 */
static void retain_pages(struct gpubpf_session *s, struct sys_object *o)
{
	if (!o->map.joined)
		return;
	if (o->map.kernel_fd > 0) {
		s->loaders->retained_fds[s->loaders->nretained++] = o->map.kernel_fd;
		o->map.kernel_fd = 0;
		return;
	}
	if (gpubpf_session_unit(s)->maps[o->map.index].kernel != o->map.values_fd + 1)
		return;
	s->loaders->retained_fds[s->loaders->nretained++] = o->map.values_fd;
	if (o->fd == o->map.values_fd)
		o->fd = -1;
	o->map.values_fd = 0;
}

static void finish_map(struct gpubpf_session *s, struct sys_object *o)
{
	retain_pages(s, o);
	s->factory->destroy(o->map.shelf);
	sys_stream_destroy(o->map.stream);
	sys_slots_destroy(o->map.slots);
	if (o->map.values_fd > 0 && o->map.values_fd != o->fd)
		close(o->map.values_fd);
	if (o->map.kernel_fd > 0)
		close(o->map.kernel_fd);
}

static void mark_buffers(struct gpubpf_session *s, const struct sys_object *map,
			 void (*mark)(struct gpubpf_session *s, uint32_t id))
{
	const uint32_t *buffers = map->map.stream ? map->map.stream->buffers : NULL;

	for (uint32_t i = 0; buffers && i < map->map.def.max_entries; i++)
		mark(s, buffers[i]);
}

static void mark_slots(struct gpubpf_session *s, const struct sys_slots *slots,
		       void (*mark)(struct gpubpf_session *s, uint32_t id))
{
	for (uint32_t i = 0; slots && i < slots->n; i++)
		mark(s, slots->ids[i]);
	for (uint32_t i = 0; slots && i < slots->ntargets; i++)
		mark(s, slots->targets[i]);
}

static void mark_map_references(struct gpubpf_session *s, const struct sys_object *map,
				void (*mark)(struct gpubpf_session *s, uint32_t id))
{
	mark_buffers(s, map, mark);
	mark_slots(s, map->map.slots, mark);
}

/*
 * Returns 1 + the kind of the objects that are the map's values, or 0 if values are not objects. The result is part of
 * the name of the map's handle.
 */
static uint32_t value_kind(const struct sys_object *o)
{
	if (!o->map.stream && !o->map.slots)
		return 0;
	if (o->map.stream)
		return sys_stream_word_size(o) ? GPUBPF_BPF_BUFFER + 1 : 0;
	return o->map.def.inner ? GPUBPF_BPF_MAP + 1 : GPUBPF_BPF_PROG + 1;
}

static const struct sys_object_ops map_ops = { finish_map, mark_map_references, value_kind };

/* -- creating -- */

/*
 * Check that fd is a writable array of the Linux kernel with that definition. Other files are refused, because they
 * could shrink while the session maps them.
 */
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

/*
 * Open the memory of an array's values. If the request carries an array of the Linux kernel, that array is the memory.
 * Else the memory is the file of the map's handles, which loaders can map.
 */
static int open_values(struct sys_call *c, struct sys_object *o, const struct gpubpf_map *def)
{
	uint64_t pages = sys_map_def_mappable_bytes(def);
	int err;

	if (!pages)
		return c->request_fd < 0 ? 0 : -EINVAL;
	err = c->request_fd < 0 ? sys_object_file(o, pages, def->key_size, def->value_size) :
				  check_array(c->request_fd, def, pages);
	if (err < 0)
		return err;
	o->map.values_fd = c->request_fd < 0 ? o->fd : fcntl(c->request_fd, F_DUPFD_CLOEXEC, 3);
	o->map.def.kernel = o->map.values_fd + 1;
	return o->map.values_fd < 0 ? -EMFILE : 0;
}

/*
 * Create a ring. If Linux kernel programs write into a separate ring, the new ring joins the session at once. Then
 * their records are delivered even if no GPU program runs.
 */
static int create_ring(struct sys_call *c, struct sys_object *o, enum gpubpf_bpf_relation relation)
{
	int err = put_on_shelf(c->s, o);

	if (!err)
		err = sys_stream_create(c->s, o);
	if (!err && relation == GPUBPF_BPF_SAME)
		err = sys_stream_bridge(c->s, o, c->request_fd);
	if (!err && relation == GPUBPF_BPF_SEPARATE)
		err = sys_shadow_open(c, o);
	return err || relation != GPUBPF_BPF_SEPARATE ? err : sys_map_join(c->s, o);
}

static int create_memory(struct sys_call *c, struct sys_object *o, enum gpubpf_bpf_relation relation)
{
	const struct gpubpf_map *def = &o->map.def;
	int err;

	if (def->type->flags & (GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_PROGS)) {
		err = sys_slots_create(o);
		return err ? err : sys_object_file(o, 0, def->key_size, def->value_size);
	}
	if (def->type->flags & GPUBPF_MAP_RING)
		return create_ring(c, o, relation);
	err = relation == GPUBPF_BPF_SEPARATE ? sys_shadow_open(c, o) : open_values(c, o, def);
	if (!err)
		err = put_on_shelf(c->s, o);
	if (!err && o->fd < 0)
		err = sys_object_file(o, 0, def->key_size, (uint32_t)sys_value_size(sys_map_get(c->s, o)));
	return err;
}

/* The members of a GPUBPF_BPF_MAP_CREATE request that struct gpubpf_sys_map lacks. */
struct create_params {
	uint32_t btf, btf_key, btf_value;
	uint32_t template, kernel_id;
	enum gpubpf_bpf_relation relation;
};

static struct create_params read_create_params(struct sys_call *c)
{
	struct create_params with = { .btf = gpubpf_get_u32(c->r) };

	with.btf_key = gpubpf_get_u32(c->r);
	with.btf_value = gpubpf_get_u32(c->r);
	with.template = gpubpf_get_u32(c->r);
	with.kernel_id = gpubpf_get_u32(c->r);
	with.relation = (enum gpubpf_bpf_relation)gpubpf_get_u32(c->r);
	return with;
}

static int create_map(struct sys_call *c, struct sys_object *o, const struct gpubpf_map *def,
		      const struct create_params *with)
{
	o->map.def = *def;
	o->map.kernel_id = with->kernel_id;
	o->btf = with->btf;
	o->map.def.btf_key = with->btf_key;
	o->map.def.btf_value = with->btf_value;
	if (o->btf && !sys_object_find_kind(c->s, GPUBPF_BPF_BTF, o->btf))
		return -EINVAL;
	return create_memory(c, o, with->relation);
}

/*
 * Returns the definition of the elements of a map of maps. The request's template map has it, or GPUBPF_BPF_INNER
 * stored it for the Linux map.
 */
static const struct gpubpf_map *find_inner_def(const struct sys_call *c, const struct create_params *with, const char *name)
{
	const struct sys_object *template = with->template ? sys_object_find_kind(c->s, GPUBPF_BPF_MAP, with->template) :
							     NULL;
	const struct gpubpf_map *inner = template ? &template->map.def : sys_inner_find(c->s, with->kernel_id);

	if (!inner)
		gpubpf_session_note(c->s,
				    "map %s: the definition of its elements is unknown, because it is empty and a "
				    "process outside the session created it; first insert a map",
				    name);
	else if (!gpubpf_map_may_be_inner(inner->type))
		gpubpf_session_note(c->s, "map %s: " GPUBPF_NOT_INNER, name);
	else
		return inner;
	return NULL;
}

/* Returns true if Linux accepts this name and these flags. */
static bool is_valid_def(const struct gpubpf_sys_map *sys)
{
	const uint32_t both = BPF_F_RDONLY | BPF_F_WRONLY;
	bool array = sys->type == BPF_MAP_TYPE_ARRAY || sys->type == BPF_MAP_TYPE_PERCPU_ARRAY;

	return sys_name_is_valid(sys->name) && (sys->flags & both) != both && !(array && sys->flags & BPF_F_NO_PREALLOC);
}

int sys_map_create(struct sys_call *c)
{
	const struct gpubpf_map *inner = NULL;
	const struct gpubpf_map_type *type;
	struct gpubpf_sys_map sys;
	struct create_params with;
	struct sys_object *o;
	struct gpubpf_map def;
	uint32_t flags, key_size;
	int err = sys_map_read_def(c, &sys);

	with = read_create_params(c);
	if (err < 0 || c->r->failed || with.relation > GPUBPF_BPF_SEPARATE ||
	    (with.relation == GPUBPF_BPF_NONE) != (c->request_fd < 0))
		return -EPROTO;
	type = gpubpf_map_type_find(sys.type);
	if (type && type->flags & GPUBPF_MAP_OF_MAPS && !(inner = find_inner_def(c, &with, sys.name)))
		return -EINVAL;
	flags = sys.flags;
	key_size = sys.key_size;
	if (!with.kernel_id && !is_valid_def(&sys))
		return -EINVAL;
	sys.inner = inner != NULL;
	err = sys_map_check_def(&sys, &def);
	if (err < 0)
		return err;
	o = sys_object_new(c->s, GPUBPF_BPF_MAP, &map_ops, &err);
	if (!o)
		return err;
	o->map.flags = flags;
	o->map.key_size = key_size;
	if (inner)
		o->map.inner = *inner;
	return sys_object_answer(c, o, create_map(c, o, &def, &with));
}

int sys_map_freeze(struct sys_call *c)
{
	struct sys_object *o = sys_object_find_kind(c->s, GPUBPF_BPF_MAP, gpubpf_get_u32(c->r));

	if (!o)
		return -EBADF;
	if (o->map.frozen || o->map.flags & BPF_F_RDONLY)
		/* as in Linux: to freeze a map, a loader needs write access, which it lacks after a freeze */
		return -EPERM;
	o->map.frozen = true;
	return 0;
}

/* -- elements -- */

struct elem {
	struct gpubpf_session *s;
	const struct gpubpf_map *map;
	uint32_t cmd;
	const uint8_t *key, *value; /* NULL: none */
	size_t key_size, value_size;
	uint64_t flags;
	void *back; /* buffer for the result */
	size_t size;
};

/*
 * Check the sizes as bpf(2) does, and run the command on the separate Linux map. The Linux map holds the values until
 * this map joins the session.
 */
static int run_in_kernel_map(const struct sys_object *o, const struct elem *e)
{
	bool first = e->cmd == BPF_MAP_GET_NEXT_KEY && !e->key_size;

	if (!first && e->key_size != e->map->key_size)
		return -EINVAL;
	if (e->cmd == BPF_MAP_UPDATE_ELEM && e->value_size != sys_value_size(e->map))
		return -EINVAL;
	return sys_shadow_elem(o, e->cmd, e->key_size ? e->key : NULL, e->value, e->flags, e->back);
}

static int run_elem(struct elem *e)
{
	const struct gpubpf_map *map = e->map;

	switch (e->cmd) {
	case BPF_MAP_LOOKUP_ELEM:
		return sys_value_lookup(e->s, map, gpubpf_map__lookup_elem, e->key, e->key_size, e->back, e->flags);
	case BPF_MAP_LOOKUP_AND_DELETE_ELEM:
		if (map->type->flags & (GPUBPF_MAP_U32KEY | GPUBPF_MAP_ASKED))
			/* ENOTSUPP, which headers for user space do not define: this map cannot delete elements */
			return -524;
		return sys_value_lookup(e->s, map, gpubpf_map__lookup_and_delete_elem, e->key, e->key_size, e->back,
					e->flags);
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

/*
 * Run the command. If the map has a separate Linux map, synchronize the key in both maps before and after the command.
 */
static int run_synchronized(struct gpubpf_session *s, const struct sys_object *o, struct elem *e)
{
	const uint8_t *key = e->cmd != BPF_MAP_GET_NEXT_KEY && e->key_size == e->map->key_size ? e->key : NULL;
	int err;

	if (sys_shadow_is_primary(o))
		return run_in_kernel_map(o, e);
	if (key || !e->key_size)
		sys_shadow_sync(s, o, key && e->key_size ? key : NULL);
	err = run_elem(e);
	if (sys_map_writes(e->cmd))
		sys_shadow_sync(s, o, key && e->key_size ? key : NULL);
	return err;
}

static uint32_t read_u32(const void *data, size_t size)
{
	uint32_t w = 0;

	memcpy(&w, data, size < sizeof(w) ? size : sizeof(w));
	return w;
}

/*
 * Run a command on an element of a map of maps, a program array or a PERF_EVENT_ARRAY. In requests and answers, a value
 * is the id of an object.
 */
static int run_slot_elem(struct sys_call *c, struct sys_object *o, const struct elem *e)
{
	uint8_t back[GPUBPF_MAP_KEY_MAX] = { 0 };
	bool next = e->cmd == BPF_MAP_GET_NEXT_KEY;
	int err;

	if (e->key_size != o->map.def.key_size && !(next && !e->key_size))
		return -EINVAL;
	err = sys_slots_elem(c->s, o, e->cmd, e->key_size ? e->key : NULL, read_u32(e->value, e->value_size), e->flags,
			     back);
	if (!err && (next || e->cmd == BPF_MAP_LOOKUP_ELEM))
		gpubpf_put_bytes(c->out, back, next ? o->map.def.key_size : sizeof(uint32_t));
	return err;
}

int sys_map_elem(struct sys_call *c)
{
	struct sys_object *o = sys_object_find_kind(c->s, GPUBPF_BPF_MAP, gpubpf_get_u32(c->r));
	struct elem e = { .s = c->s, .cmd = gpubpf_get_u32(c->r) };
	int err;

	e.key = gpubpf_get_bytes(c->r, &e.key_size);
	e.value = gpubpf_get_bytes(c->r, &e.value_size);
	e.flags = gpubpf_get_u64(c->r);
	if (c->r->failed)
		return -EPROTO;
	if (!o)
		return -EBADF;
	if (!sys_map_allows(o, e.cmd))
		return -EPERM;
	if (o->map.stream)
		return sys_stream_elem(c->s, o, e.cmd, read_u32(e.key, e.key_size), read_u32(e.value, e.value_size));
	if (o->map.slots)
		return run_slot_elem(c, o, &e);
	e.map = sys_map_get(c->s, o);
	e.size = e.cmd == BPF_MAP_GET_NEXT_KEY ? e.map->key_size : sys_value_size(e.map);
	e.back = calloc(1, e.size + 8);
	if (e.back && e.cmd == BPF_MAP_LOOKUP_ELEM && e.map->type->flags & GPUBPF_MAP_ASKED && e.value_size == e.size)
		/* a look-up in a bloom filter tests whether the filter has this value */
		memcpy(e.back, e.value, e.size);
	err = e.back ? run_synchronized(c->s, o, &e) : -ENOMEM;
	if (!err && e.cmd != BPF_MAP_UPDATE_ELEM && e.cmd != BPF_MAP_DELETE_ELEM)
		gpubpf_put_bytes(c->out, e.back, e.size);
	free(e.back);
	return err;
}
