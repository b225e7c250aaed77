/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps of maps and maps of programs. On update, loaders pass descriptors as values; on look-up they get numbers. A map
 * that holds a session object is a session map. The Linux kernel does not report the properties of the elements of a
 * map of maps. Therefore this code sends these properties to the session when the map is created.
 */
#include "loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool is_map_of_maps(uint32_t type)
{
	return type == BPF_MAP_TYPE_ARRAY_OF_MAPS || type == BPF_MAP_TYPE_HASH_OF_MAPS;
}

bool is_named(uint32_t type)
{
	return is_map_of_maps(type) || type == BPF_MAP_TYPE_PROG_ARRAY;
}

/* -- creation -- */

static void send_inner_info(int outer, int inner)
{
	struct bpf_map_info outer_info, info;
	struct gpubpf_writer w = { 0 };
	struct answer a;

	if (map_info(outer, &outer_info) < 0 || map_info(inner, &info) < 0)
		return;
	gpubpf_put_u32(&w, outer_info.id);
	gpubpf_put_u32(&w, info.type);
	gpubpf_put_u32(&w, info.key_size);
	gpubpf_put_u32(&w, info.value_size);
	gpubpf_put_u32(&w, info.max_entries);
	gpubpf_put_u32(&w, info.map_flags);
	gpubpf_put_u64(&w, info.map_extra);
	gpubpf_put_str(&w, info.name);
	ask(GPUBPF_BPF_INNER, &w, &a);
	answer_close(&a);
}

/*
 * Create a map of maps. If the inner map is a session map, the session creates the map at once. Otherwise the Linux
 * kernel creates it, or the session if the kernel answers EPERM.
 */
long map_create_of_maps(struct call *c)
{
	int inner = (int)c->attr.inner_map_fd, own;
	int64_t like = handle_of(inner, GPUBPF_BPF_MAP).id;
	long ret = like ? -EPERM : pass_map_of(c), ours;

	if (ret >= 0 && (own = caller_borrow(inner)) >= 0) {
		send_inner_info((int)ret, own);
		caller_return_fd(own);
	}
	if (ret != -EPERM)
		return ret;
	like = map_taken(inner);
	ours = like < 0 ? like : session_map_create_requested(&c->attr, (uint32_t)like);
	return ours == -EOPNOTSUPP ? ret : ours;
}

/* -- update -- */

uint32_t number_in(struct handle map, int fd)
{
	int64_t taken;

	if (map.of != GPUBPF_BPF_MAP + 1)
		return handle_of(fd, (enum gpubpf_bpf_kind)(map.of - 1)).id;
	taken = map_taken(fd);
	return taken < 0 ? 0 : (uint32_t)taken;
}

bool adopt_for_value(int map, uint64_t value)
{
	struct bpf_map_info info;
	int theirs = have_session() ? caller_borrow(map) : -1, fd;
	bool named = theirs >= 0 && !map_info(theirs, &info) && is_named(info.type);

	if (theirs >= 0)
		caller_return_fd(theirs);
	if (!named || caller_read(&fd, value, sizeof(fd)) < 0)
		return false;
	return (handle_of(fd, GPUBPF_BPF_PROG).id || handle_of(fd, GPUBPF_BPF_MAP).id) && map_taken(map) > 0;
}

/* -- adoption of a kernel map -- */

/* Returns the number of the object that the map's value for the key refers to, or 0 if there is no element. */
static uint32_t lookup_element_id(int from, const void *key)
{
	uint32_t id = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)from, .key = (uintptr_t)key, .value = (uintptr_t)&id };

	return kernel_bpf(BPF_MAP_LOOKUP_ELEM, &attr, FIELD_END(flags)) < 0 ? 0 : id;
}

/* Adopt the kernel map with this number. Returns a descriptor of the session map, or a negative errno value. */
static int adopt_element(uint32_t id)
{
	union bpf_attr attr = { .map_id = id };
	long theirs = kernel_bpf(BPF_MAP_GET_FD_BY_ID, &attr, FIELD_END(open_flags));
	struct bpf_map_info info;
	int ours;

	if (theirs < 0)
		return (int)theirs;
	ours = map_info((int)theirs, &info);
	if (!ours)
		ours = map_adopt_fd((int)theirs, &info);
	close((int)theirs);
	return ours;
}

/* Call fn() for each key that has an element, until fn() returns nonzero. */
static int for_each_key(int from, const struct bpf_map_info *info, int (*fn)(void *arg, const void *key, uint32_t id),
			void *arg)
{
	uint8_t *keys = calloc(2, info->key_size + 8), *next = keys ? keys + info->key_size + 8 : NULL;
	union bpf_attr attr = { .map_fd = (uint32_t)from, .next_key = (uintptr_t)next };
	int err = keys ? 0 : -ENOMEM;

	while (!err && !kernel_bpf(BPF_MAP_GET_NEXT_KEY, &attr, FIELD_END(flags))) {
		uint32_t id = lookup_element_id(from, next);

		memcpy(keys, next, info->key_size);
		attr.key = (uintptr_t)keys;
		err = id ? fn(arg, keys, id) : 0;
	}
	free(keys);
	return err;
}

static int store_first_id(void *arg, const void *key, uint32_t id)
{
	(void)key;
	*(uint32_t *)arg = id;
	return 1;
}

uint32_t find_inner_like(int from, const struct bpf_map_info *info, int *own)
{
	uint32_t id = 0;

	for_each_key(from, info, store_first_id, &id);
	*own = id ? adopt_element(id) : -1;
	return *own < 0 ? 0 : handle_of_own_fd(*own, GPUBPF_BPF_MAP).id;
}

struct copying {
	struct handle to;
	bool progs;
};

/* Copy one element to the session map. If the element is a kernel program, the session refuses it with a reason. */
static int copy_element(void *arg, const void *key, uint32_t id)
{
	const struct copying *c = arg;
	int ours = c->progs ? -1 : adopt_element(id), err;
	uint32_t number = ours < 0 ? 0 : handle_of_own_fd(ours, GPUBPF_BPF_MAP).id;

	err = map_put(c->to, key, &number);
	if (ours >= 0)
		close(ours);
	return err;
}

int copy_descriptor_values(int from, int to, const struct bpf_map_info *info)
{
	struct copying c = { handle_of_own_fd(to, GPUBPF_BPF_MAP), info->type == BPF_MAP_TYPE_PROG_ARRAY };

	return for_each_key(from, info, copy_element, &c);
}
