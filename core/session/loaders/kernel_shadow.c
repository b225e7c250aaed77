/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles a map of Linux kernel programs that a GPU program also uses later. Linux kernel programs keep their map,
 * which is called the Linux map. The session creates a second map for GPU programs and synchronizes the two
 * (core/session/kernel_bpf/kernel_maps.h).
 *
 * Until the loader's map joins the session, the Linux map holds all values. While no Linux kernel program uses the Linux map, the
 * two maps are not synchronized.
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/load/linux/linux_map.h"
#include "core/session/kernel_bpf/kernel_maps.h"

#define PROG_MAPS 1024u            /* maximum number of map ids that the session reads for a program */

static int get_info(int fd, void *info, uint32_t size)
{
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd, .info_len = size, .info = (uintptr_t)info } };

	return (int)gpubpf_linux_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

/* -- which Linux kernel programs use a map -- */

static bool prog_uses_map(int prog, uint32_t map)
{
	uint32_t *maps = calloc(PROG_MAPS, sizeof(*maps));
	struct bpf_prog_info info = { .nr_map_ids = PROG_MAPS, .map_ids = (uintptr_t)maps };
	/* if the ids cannot be read, assume that the program uses the map */
	bool uses = !maps || get_info(prog, &info, sizeof(info)) < 0 || info.nr_map_ids > PROG_MAPS;

	for (uint32_t i = 0; !uses && i < info.nr_map_ids; i++)
		uses = maps[i] == map;
	free(maps);
	return uses;
}

static bool is_used_by_kernel(uint32_t map)
{
	union bpf_attr attr = { .start_id = 0 };
	bool uses = false;
	int err;

	while (!uses && !(err = (int)gpubpf_linux_bpf(BPF_PROG_GET_NEXT_ID, &attr))) {
		union bpf_attr id = { .prog_id = attr.next_id };
		int prog = (int)gpubpf_linux_bpf(BPF_PROG_GET_FD_BY_ID, &id);

		if (prog >= 0) {
			uses = prog_uses_map(prog, map);
			close(prog);
		}
		attr.start_id = attr.next_id;
	}
	return uses || err != -ENOENT;
}

static bool has_kernel_consumer(const struct gpubpf_session *s, uint32_t map)
{
	for (uint32_t i = 0; i < s->loaders->npopped; i++)
		if (s->loaders->popped_queues[i] == map)
			return true;
	return false;
}

/*
 * A Linux kernel program that pops values from the Linux map with this id was loaded. From now on a pass moves values
 * of the queue from the session's map to the Linux map, no longer in the other direction.
 */
static void reverse_queues(struct gpubpf_session *s, uint32_t kernel_id)
{
	for (uint32_t i = 0; i < s->loaders->n; i++) {
		const struct sys_object *o = s->loaders->objects[i];

		if (o->kind == GPUBPF_BPF_MAP && o->map.kernel_id == kernel_id && o->map.joined)
			gpubpf_linux_queue_reverse(s, o->map.index);
	}
}

int sys_queue_consumed(struct sys_call *c)
{
	uint32_t map = gpubpf_get_u32(c->r);
	int err = c->r->failed ? -EPROTO : sys_check_room(c->s);

	if (err < 0 || has_kernel_consumer(c->s, map))
		return err;
	if (c->s->loaders->npopped == GPUBPF_MAX_MAPS)
		return -ENOSPC;
	c->s->loaders->popped_queues[c->s->loaders->npopped++] = map;
	reverse_queues(c->s, map);
	return 0;
}

/* -- opening -- */

int sys_shadow_open(struct sys_call *c, struct sys_object *map)
{
	const struct gpubpf_map *def = &map->map.def;
	struct bpf_map_info info = { 0 };
	int err = get_info(c->request_fd, &info, sizeof(info));

	if (err < 0)
		return err;
	if (gpubpf_linux_maps_why_never(def))
		return -EOPNOTSUPP;
	if (info.type != def->type->number)
		return -EINVAL;
	if (!(def->type->flags & GPUBPF_MAP_RING) && (info.key_size != def->key_size || info.value_size != def->value_size))
		return -EINVAL;
	map->map.kernel_fd = fcntl(c->request_fd, F_DUPFD_CLOEXEC, 3);
	map->map.kernel_unused = true;
	return map->map.kernel_fd < 0 ? -EMFILE : 0;
}

/* -- elements before the map joins the session -- */

bool sys_shadow_is_primary(const struct sys_object *map)
{
	return map->map.kernel_fd > 0 && !map->map.joined && !map->map.stream;
}

int sys_shadow_elem(const struct sys_object *map, uint32_t cmd, const void *key, const void *value, uint64_t flags,
		    void *back)
{
	union bpf_attr attr = {
		.map_fd = (uint32_t)map->map.kernel_fd, .key = (uintptr_t)key, .value = (uintptr_t)back, .flags = flags
	};

	if (cmd == BPF_MAP_UPDATE_ELEM)
		attr.value = (uintptr_t)value;
	else if (cmd == BPF_MAP_DELETE_ELEM)
		attr.value = 0; /* BPF_MAP_DELETE_ELEM refuses a value */
	return (int)gpubpf_linux_bpf((int)cmd, &attr);
}

int sys_shadow_batch(const struct sys_object *map, union bpf_attr *attr, uint32_t cmd)
{
	attr->batch.map_fd = (uint32_t)map->map.kernel_fd;
	return (int)gpubpf_linux_bpf((int)cmd, attr);
}

/* -- elements after the session's map has joined -- */

struct copy_ctx {
	struct gpubpf_session *s;
	const struct gpubpf_map *to;
	int err;
};

static int copy_element(void *arg, const void *key, const void *value)
{
	struct copy_ctx *c = arg;
	int err = sys_value_update(c->s, c->to, key, c->to->key_size, value, sys_value_size(c->to), BPF_ANY);

	c->err = c->err ? c->err : err;
	return 0;
}

/* Copy the elements of the Linux map once, because the two maps will not be synchronized. */
static void copy_elements(struct gpubpf_session *s, const struct sys_object *map)
{
	struct copy_ctx c = { s, sys_map_get(s, map), 0 };
	const struct gpubpf_linux_map_opts opts = { .fd = map->map.kernel_fd,
						    .key_size = c.to->key_size,
						    .value_size = c.to->value_size };
	struct gpubpf_linux_map *kernel;

	if (!c.to->key_size)
		return;
	c.err = gpubpf_linux_map_open(&opts, &kernel);
	if (!c.err) {
		int err = gpubpf_linux_map_each(kernel, copy_element, &c);

		c.err = c.err ? c.err : err;
		gpubpf_linux_map_close(kernel);
	}
	if (c.err < 0)
		gpubpf_session_note(s,
				    "map %s: some elements of the Linux kernel's map were not copied to the GPU's "
				    "map: %s",
				    c.to->name, strerror(-c.err));
}

/*
 * Returns true if synchronization can start. The map must have joined. A ring has no elements to copy, so a Linux
 * kernel program must also use it.
 */
static bool can_synchronize(const struct sys_object *map)
{
	return map->map.joined && !(map->map.stream && map->map.kernel_unused);
}

static void start_sync(struct gpubpf_session *s, struct sys_object *map)
{
	const char *why;

	if (!can_synchronize(map))
		return;
	why = gpubpf_linux_maps_add(s, map->map.index, map->map.kernel_fd, has_kernel_consumer(s, map->map.kernel_id));
	map->map.unsynced_why = why;
	if (why && !map->map.kernel_unused)
		gpubpf_session_note(s, GPUBPF_LINUX_NOT_SHARED, map->map.def.name, why);
	if (why)
		copy_elements(s, map);
	gpubpf_linux_maps_sync(s, map->map.index, NULL);
	gpubpf_linux_maps_suspend(s, map->map.index, map->map.kernel_unused);
}

void sys_shadow_on_join(struct gpubpf_session *s, struct sys_object *map)
{
	if (map->map.kernel_fd <= 0)
		return;
	map->map.kernel_unused = map->map.kernel_unused && !is_used_by_kernel(map->map.kernel_id);
	start_sync(s, map);
}

/*
 * Resume synchronization, because a Linux kernel program now uses the map. If the map has not joined the session,
 * synchronization starts when the map joins.
 */
static void resume_sync(struct gpubpf_session *s, struct sys_object *map)
{
	bool rested = map->map.kernel_unused;

	map->map.kernel_unused = false;
	if (!rested || !map->map.joined)
		return;
	if (map->map.stream)
		start_sync(s, map);
	else if (map->map.unsynced_why)
		gpubpf_session_note(s, GPUBPF_LINUX_NOT_SHARED, map->map.def.name, map->map.unsynced_why);
	gpubpf_linux_maps_suspend(s, map->map.index, false);
}

int sys_kernel_map_fd(struct sys_call *c)
{
	struct sys_object *map = sys_object_find_kind(c->s, GPUBPF_BPF_MAP, gpubpf_get_u32(c->r));
	int fd;

	if (c->r->failed)
		return -EPROTO;
	if (!map)
		return -EBADF;
	fd = map->map.kernel_fd > 0 ? map->map.kernel_fd : map->map.values_fd != map->fd ? map->map.values_fd : 0;
	if (fd <= 0)
		return -EINVAL;
	c->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	if (c->fd < 0)
		return -EMFILE;
	if (map->map.kernel_fd > 0)
		resume_sync(c->s, map);
	return 0;
}

void sys_shadow_sync(struct gpubpf_session *s, const struct sys_object *map, const void *key)
{
	if (map->map.kernel_fd > 0 && map->map.joined)
		gpubpf_linux_maps_sync(s, map->map.index, key);
}
