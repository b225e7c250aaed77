/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands on maps. The Linux kernel creates maps at first. When a GPU program refers to a map, the session adopts the
 * map (map_adopt.c).
 */
#include "loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_OWN_TYPE 1500    /* the Linux kernel's types have lower numbers (include/gpubpf/map_types.def) */

#define SHARED_TYPE 1504

int session_map_create(const union bpf_attr *attr, uint32_t btf, uint32_t like, uint32_t was, int given,
		       enum gpubpf_bpf_relation as)
{
	struct gpubpf_writer w = { 0 };
	char name[BPF_OBJ_NAME_LEN + 1] = "";
	int fd;

	memcpy(name, attr->map_name, BPF_OBJ_NAME_LEN);
	name[BPF_OBJ_NAME_LEN - 1] = 0;
	gpubpf_put_u32(&w, attr->map_type);
	gpubpf_put_u32(&w, attr->key_size);
	gpubpf_put_u32(&w, attr->value_size);
	gpubpf_put_u32(&w, attr->max_entries);
	gpubpf_put_u32(&w, attr->map_flags);
	gpubpf_put_u64(&w, attr->map_extra);
	gpubpf_put_str(&w, name);
	gpubpf_put_u32(&w, btf);
	gpubpf_put_u32(&w, btf ? attr->btf_key_type_id : 0);
	gpubpf_put_u32(&w, btf ? attr->btf_value_type_id : 0);
	gpubpf_put_u32(&w, like);
	gpubpf_put_u32(&w, was);
	gpubpf_put_u32(&w, as);
	fd = request_handle(GPUBPF_BPF_MAP_CREATE, &w, given);
	if (fd >= 0 && attr->map_type == BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		atomic_store(&caller_state()->next_array_is_session, true);
	return fd;
}

int session_map_create_requested(const union bpf_attr *attr, uint32_t like)
{
	int own_btf = -1, fd;
	int64_t btf = attr->btf_fd ? btf_adopt((int)attr->btf_fd, &own_btf) : 0;

	if (btf < 0)
		return (int)btf;
	fd = session_map_create(attr, (uint32_t)btf, like, 0, -1, GPUBPF_BPF_NONE);
	if (own_btf >= 0)
		close(own_btf);
	return fd;
}

/*
 * Create an array that kernel programs and GPU programs can share. The Linux kernel creates it, like all maps to which
 * no GPU program refers yet.
 */
static long create_shared(const struct call *c)
{
	union bpf_attr attr = c->attr;
	int btf = attr.btf_fd ? caller_borrow((int)attr.btf_fd) : 0;
	long ret;

	if (btf < 0)
		return btf;
	attr.btf_fd = (uint32_t)btf;
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.map_flags |= BPF_F_MMAPABLE;
	ret = kernel_bpf(BPF_MAP_CREATE, &attr, c->size < FIELD_END(map_extra) ? c->size : FIELD_END(map_extra));
	if (attr.btf_fd)
		caller_return_fd(btf);
	return ret < 0 ? -EPERM : ret;
}

static bool is_own_type(uint32_t type)
{
	static const uint32_t own[] = {
#define GPUBPF_MAP_TYPE(...)
#define GPUBPF_OWN_MAP_TYPE(number, name, impl, operations, flags, meaning) number,
#include "gpubpf/map_types.def"
	};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i] == type)
			return true;
	return false;
}

long map_create(struct call *c)
{
	long ret = -EPERM, ours;

	if (is_map_of_maps(c->attr.map_type))
		return map_create_of_maps(c);
	if (c->attr.map_type < FIRST_OWN_TYPE)
		ret = pass(c);
	else if (!is_own_type(c->attr.map_type))
		return pass(c);
	else if (c->attr.map_type == SHARED_TYPE)
		ret = create_shared(c);
	if (ret != -EPERM)
		return ret;
	ours = session_map_create_requested(&c->attr, 0);
	/*
	 * -EOPNOTSUPP means that there is no session, so return the kernel's result. The kernel has no result for one
	 * of gpubpf's own types.
	 */
	return ours == -EOPNOTSUPP && c->attr.map_type < FIRST_OWN_TYPE ? ret : ours;
}

/* -- elements -- */

static bool returns_data(uint32_t cmd)
{
	return cmd != BPF_MAP_UPDATE_ELEM && cmd != BPF_MAP_DELETE_ELEM;
}

/*
 * Returns true if the command passes a value to the map. An update does. A look-up does only in a map without keys (a
 * bloom filter).
 */
static bool has_value(struct handle map, uint32_t cmd)
{
	return cmd == BPF_MAP_UPDATE_ELEM || (cmd == BPF_MAP_LOOKUP_ELEM && !map.key);
}

int session_map_elem(struct handle map, uint32_t cmd, const void *key, void *value, uint64_t flags)
{
	struct gpubpf_writer w = { 0 };
	size_t size, room = cmd == BPF_MAP_GET_NEXT_KEY ? map.key : map.value;
	const void *data;
	struct answer a;
	int err;

	gpubpf_put_u32(&w, map.id);
	gpubpf_put_u32(&w, cmd);
	gpubpf_put_bytes(&w, key, key ? map.key : 0);
	gpubpf_put_bytes(&w, has_value(map, cmd) ? value : NULL, has_value(map, cmd) ? map.value : 0);
	gpubpf_put_u64(&w, flags);
	err = ask(GPUBPF_BPF_MAP_ELEM, &w, &a);
	data = err || !returns_data(cmd) ? NULL : gpubpf_get_bytes(&a.payload.r, &size);
	if (data)
		memcpy(value, data, size < room ? size : room);
	else if (!err && returns_data(cmd))
		err = -EIO;
	answer_close(&a);
	return err;
}

int map_put(struct handle map, const void *key, const void *value)
{
	return session_map_elem(map, BPF_MAP_UPDATE_ELEM, key, (void *)(uintptr_t)value, BPF_ANY);
}

/* Replace the descriptor in a map value by the session's number of the descriptor's object. Returns 0 or -EBADF. */
static int replace_fd_by_number(struct handle map, uint8_t *value)
{
	uint32_t number;
	int fd;

	memcpy(&fd, value, sizeof(fd));
	if (!is_open(fd))
		return -EBADF;
	number = number_in(map, fd);
	memcpy(value, &number, sizeof(number));
	return 0;
}

static int do_elem(struct call *c, struct handle map, uint8_t *key, uint8_t *value)
{
	bool puts = c->cmd == BPF_MAP_UPDATE_ELEM;
	size_t size = c->cmd == BPF_MAP_GET_NEXT_KEY ? map.key : map.value;
	int err = 0;

	if (c->attr.key || c->cmd != BPF_MAP_GET_NEXT_KEY)
		err = caller_read(key, c->attr.key, map.key);
	if (!err && puts)
		err = c->attr.value ? caller_read(value, c->attr.value, map.value) : -EFAULT;
	if (!err && c->cmd == BPF_MAP_LOOKUP_ELEM && !map.key)
		caller_read(value, c->attr.value, map.value);
	if (!err && puts && map.of && map.value == sizeof(uint32_t))
		err = replace_fd_by_number(map, value);
	if (!err)
		err = session_map_elem(map, (uint32_t)c->cmd, c->attr.key ? key : NULL, value, c->attr.flags);
	return err || !returns_data((uint32_t)c->cmd) ? err : caller_write(c->attr.value, value, size);
}

long map_elem(struct call *c)
{
	struct handle map = handle_of((int)c->attr.map_fd, GPUBPF_BPF_MAP);
	uint8_t *key, *value;
	int err;

	if (!map.id && c->cmd == BPF_MAP_UPDATE_ELEM && adopt_for_value((int)c->attr.map_fd, c->attr.value))
		map = handle_of((int)c->attr.map_fd, GPUBPF_BPF_MAP);
	if (!map.id)
		return pass(c);
	key = malloc(map.key + sizeof(uint64_t));
	value = calloc(1, (map.key > map.value ? map.key : map.value) + sizeof(uint64_t));
	err = key && value ? do_elem(c, map, key, value) : -ENOMEM;
	free(key);
	free(value);
	return err;
}

int session_map_freeze(uint32_t map)
{
	struct gpubpf_writer w = { 0 };
	struct answer a;
	int err;

	gpubpf_put_u32(&w, map);
	err = ask(GPUBPF_BPF_MAP_FREEZE, &w, &a);
	answer_close(&a);
	return err;
}

long map_freeze(struct call *c)
{
	struct handle map = handle_of((int)c->attr.map_fd, GPUBPF_BPF_MAP);

	if (!map.id)
		return pass(c);
	return is_map_mapped_writable(map.id) ? -EBUSY : session_map_freeze(map.id);
}

/* -- batches -- */

/* Copy one part of an answer, but at most `room` bytes, to the caller's memory at `pointer`. */
static int copy_answer(struct answer *a, uint64_t pointer, size_t room)
{
	size_t size;
	const void *data = gpubpf_get_bytes(&a->payload.r, &size);

	if (a->payload.r.failed)
		return -EIO;
	return caller_write(pointer, data, size < room ? size : room);
}

static int read_caller_bytes(struct gpubpf_writer *w, bool wanted, uint64_t from, size_t size)
{
	void *data = NULL;
	int err = 0;

	if (wanted && size > GPUBPF_BPF_MAX)
		return -E2BIG;
	if (wanted && size && !(data = copied(from, size, &err)))
		return err;
	gpubpf_put_bytes(w, data, wanted ? size : 0);
	free(data);
	return 0;
}

/*
 * Write the request for a batch command. The position of the batch in the map takes 4 bytes in the caller's buffer, for
 * every key size.
 */
static int put_batch(struct call *c, struct handle map, struct gpubpf_writer *w)
{
	bool puts = c->cmd == BPF_MAP_UPDATE_BATCH, keys = puts || c->cmd == BPF_MAP_DELETE_BATCH;
	uint32_t n = c->attr.batch.count, position = 0;
	int err = c->attr.batch.in_batch ? caller_read(&position, c->attr.batch.in_batch, sizeof(position)) : 0;

	gpubpf_put_u32(w, map.id);
	gpubpf_put_u32(w, (uint32_t)c->cmd);
	gpubpf_put_u32(w, position);
	gpubpf_put_u32(w, n);
	if (!err)
		err = read_caller_bytes(w, keys, c->attr.batch.keys, (size_t)n * map.key);
	if (!err)
		err = puts && !c->attr.batch.values ?
			      -EFAULT :
			      read_caller_bytes(w, puts, c->attr.batch.values, (size_t)n * map.value);
	gpubpf_put_u64(w, c->attr.batch.elem_flags);
	return err;
}

static int store_batch_results(struct call *c, struct answer *a, struct handle map, int err)
{
	uint32_t count = gpubpf_get_u32(&a->payload.r), position = gpubpf_get_u32(&a->payload.r);
	int given;

	if (a->payload.r.failed)
		return err ? err : -EIO;
	given = GIVE_BACK(c, batch.count, count);
	if (!given && c->attr.batch.out_batch)
		given = caller_write(c->attr.batch.out_batch, &position, sizeof(position));
	if (!given)
		given = copy_answer(a, c->attr.batch.keys, (size_t)c->attr.batch.count * map.key);
	if (!given)
		given = copy_answer(a, c->attr.batch.values, (size_t)c->attr.batch.count * map.value);
	return given ? given : err;
}

long map_batch(struct call *c)
{
	struct handle map = handle_of((int)c->attr.batch.map_fd, GPUBPF_BPF_MAP);
	struct gpubpf_writer w = { 0 };
	struct answer a;
	int err;

	if (!map.id)
		return pass(c);
	if (!c->attr.batch.count)
		return 0;
	err = put_batch(c, map, &w);
	if (err < 0) {
		gpubpf_writer_finish(&w);
		return err;
	}
	err = store_batch_results(c, &a, map, ask(GPUBPF_BPF_MAP_BATCH, &w, &a));
	answer_close(&a);
	return err;
}
