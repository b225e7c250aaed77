/* SPDX-License-Identifier: Apache-2.0 */
/* Maps: the kernel's until a program for a GPU names them. */
#include "loader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_OWN_TYPE 1500    /* of include/gpubpf/map_types.def */

#define SHARED_TYPE 1504

#define FIELD(attr, field) (offsetof(union bpf_attr, field) + sizeof((attr)->field))

static void *at(uint64_t pointer)
{
	return (void *)(uintptr_t)pointer;
}

int map_make(const union bpf_attr *attr, uint32_t like, uint32_t was, int values)
{
	struct gpubpf_writer w = {0};
	char name[BPF_OBJ_NAME_LEN + 1] = "";
	int own_btf = -1, fd;
	int64_t btf = attr->btf_fd ? btf_taken((int)attr->btf_fd, &own_btf) : 0;

	if (btf < 0)
		return (int)btf;
	memcpy(name, attr->map_name, BPF_OBJ_NAME_LEN);
	name[BPF_OBJ_NAME_LEN - 1] = 0;
	gpubpf_put_u32(&w, attr->map_type);
	gpubpf_put_u32(&w, attr->key_size);
	gpubpf_put_u32(&w, attr->value_size);
	gpubpf_put_u32(&w, attr->max_entries);
	gpubpf_put_u32(&w, attr->map_flags);
	gpubpf_put_u64(&w, attr->map_extra);
	gpubpf_put_str(&w, name);
	gpubpf_put_u32(&w, (uint32_t)btf);
	gpubpf_put_u32(&w, btf ? attr->btf_key_type_id : 0);
	gpubpf_put_u32(&w, btf ? attr->btf_value_type_id : 0);
	gpubpf_put_u32(&w, like);
	gpubpf_put_u32(&w, was);
	fd = ask_handle(GPUBPF_BPF_MAP_CREATE, &w, values);
	if (fd >= 0 && attr->map_type == BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		perf_array_named(true);
	if (own_btf >= 0)
		close(own_btf);
	return fd;
}

/* An array that programs of the Linux kernel may share is the kernel's, as all that is until a program for a GPU names it. */
static long create_shared(const struct call *c)
{
	union bpf_attr attr = c->attr;
	long ret;

	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.map_flags |= BPF_F_MMAPABLE;
	ret = kernel_bpf(BPF_MAP_CREATE, &attr, c->size < sizeof(attr) ? c->size : sizeof(attr));
	return ret < 0 ? -EPERM : ret;
}

long map_create(struct call *c)
{
	long ret = -EPERM, ours;

	if (is_of_maps(c->attr.map_type))
		return map_create_of(c);
	if (c->attr.map_type < FIRST_OWN_TYPE)
		ret = pass(c);
	else if (c->attr.map_type == SHARED_TYPE)
		ret = create_shared(c);
	if (ret != -EPERM)
		return ret;
	ours = map_make(&c->attr, 0, 0, -1);
	return ours == -EOPNOTSUPP ? ret : ours;
}

/* What an answer gives back, to the caller's pointer. */
static int give(struct answer *a, uint64_t pointer, size_t room)
{
	size_t size;
	const void *data = gpubpf_get_bytes(&a->payload.r, &size);

	if (a->payload.r.failed)
		return -EIO;
	if (size && !pointer)
		return -EFAULT;
	if (size)
		memcpy(at(pointer), data, size < room ? size : room);
	return 0;
}

static int elem(struct handle map, uint32_t cmd, const void *key, uint64_t value, uint64_t flags)
{
	struct gpubpf_writer w = {0};
	struct answer a;
	uint32_t number;
	int err;

	if ((map.key && !key && cmd != BPF_MAP_GET_NEXT_KEY) || (cmd == BPF_MAP_UPDATE_ELEM && !value))
		return -EFAULT;
	if (cmd == BPF_MAP_UPDATE_ELEM && map.of) {
		number = number_in(map, value);
		value = (uintptr_t)&number;
	}
	gpubpf_put_u32(&w, map.id);
	gpubpf_put_u32(&w, cmd);
	gpubpf_put_bytes(&w, key, key ? map.key : 0);
	gpubpf_put_bytes(&w, cmd == BPF_MAP_UPDATE_ELEM ? at(value) : NULL, cmd == BPF_MAP_UPDATE_ELEM ? map.value : 0);
	gpubpf_put_u64(&w, flags);
	err = ask(GPUBPF_BPF_MAP_ELEM, &w, &a);
	if (!err && cmd != BPF_MAP_UPDATE_ELEM && cmd != BPF_MAP_DELETE_ELEM)
		err = give(&a, value, cmd == BPF_MAP_GET_NEXT_KEY ? map.key : map.value);
	answer_close(&a);
	return err;
}

int map_put(struct handle map, const void *key, const void *value)
{
	struct gpubpf_writer w = {0};
	struct answer a;
	int err;

	gpubpf_put_u32(&w, map.id);
	gpubpf_put_u32(&w, BPF_MAP_UPDATE_ELEM);
	gpubpf_put_bytes(&w, key, map.key);
	gpubpf_put_bytes(&w, value, map.value);
	gpubpf_put_u64(&w, BPF_ANY);
	err = ask(GPUBPF_BPF_MAP_ELEM, &w, &a);
	answer_close(&a);
	return err;
}

long map_elem(struct call *c)
{
	struct handle map = handle_of((int)c->attr.map_fd, GPUBPF_BPF_MAP);

	if (!map.id && c->cmd == BPF_MAP_UPDATE_ELEM && named_taken((int)c->attr.map_fd, c->attr.value))
		map = handle_of((int)c->attr.map_fd, GPUBPF_BPF_MAP);
	return map.id ? elem(map, (uint32_t)c->cmd, at(c->attr.key), c->attr.value, c->attr.flags) : pass(c);
}

static int freeze(uint32_t map)
{
	struct gpubpf_writer w = {0};
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

	return map.id ? freeze(map.id) : pass(c);
}

/* Where a batch goes on: a caller's buffer has room for 4 bytes, whatever the key of a hash has. */
static uint32_t position_of(uint64_t pointer)
{
	uint32_t position = 0;

	if (pointer)
		memcpy(&position, at(pointer), sizeof(position));
	return position;
}

static int take_batch(struct call *c, struct answer *a, struct handle map, int err)
{
	union bpf_attr *user = c->user;
	uint32_t count = gpubpf_get_u32(&a->payload.r), position = gpubpf_get_u32(&a->payload.r);
	int given;

	if (a->payload.r.failed)
		return err ? err : -EIO;
	user->batch.count = count;
	if (c->attr.batch.out_batch)
		memcpy(at(c->attr.batch.out_batch), &position, sizeof(position));
	given = give(a, c->attr.batch.keys, (size_t)c->attr.batch.count * map.key);
	if (!given)
		given = give(a, c->attr.batch.values, (size_t)c->attr.batch.count * map.value);
	return given ? given : err;
}

long map_batch(struct call *c)
{
	struct handle map = handle_of((int)c->attr.batch.map_fd, GPUBPF_BPF_MAP);
	uint32_t n = c->attr.batch.count;
	bool puts = c->cmd == BPF_MAP_UPDATE_BATCH, keys = puts || c->cmd == BPF_MAP_DELETE_BATCH;
	struct gpubpf_writer w = {0};
	struct answer a;
	int err;

	if (!map.id)
		return pass(c);
	if (!n)
		return 0;
	if ((keys && map.key && !c->attr.batch.keys) || (puts && !c->attr.batch.values))
		return -EFAULT;
	gpubpf_put_u32(&w, map.id);
	gpubpf_put_u32(&w, (uint32_t)c->cmd);
	gpubpf_put_u32(&w, position_of(c->attr.batch.in_batch));
	gpubpf_put_u32(&w, n);
	gpubpf_put_bytes(&w, keys ? at(c->attr.batch.keys) : NULL, keys ? (size_t)n * map.key : 0);
	gpubpf_put_bytes(&w, puts ? at(c->attr.batch.values) : NULL, puts ? (size_t)n * map.value : 0);
	gpubpf_put_u64(&w, c->attr.batch.elem_flags);
	err = take_batch(c, &a, map, ask(GPUBPF_BPF_MAP_BATCH, &w, &a));
	answer_close(&a);
	return err;
}

/* -- one of the kernel's becomes ours -- */

static bool is_frozen(int fd)
{
	char path[64], line[128];
	int frozen = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "frozen: %d", &frozen) == 1)
			break;
	if (f)
		fclose(f);
	return frozen;
}

static int copy_one(int from, struct handle to, const void *key, void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)from, .key = (uintptr_t)key, .value = (uintptr_t)value };

	if (kernel_bpf(BPF_MAP_LOOKUP_ELEM, &attr, FIELD(&attr, flags)) < 0)
		return 0;
	return map_put(to, key, value);
}

static int copy_all(int from, struct handle to)
{
	uint8_t *keys = calloc(2, to.key + 8), *value = calloc(1, to.value + 8);
	union bpf_attr attr = { .map_fd = (uint32_t)from, .next_key = (uintptr_t)keys };
	int err = keys && value ? 0 : -ENOMEM;

	while (!err && to.key && !kernel_bpf(BPF_MAP_GET_NEXT_KEY, &attr, FIELD(&attr, flags))) {
		memcpy(keys + to.key, keys, to.key);
		attr.key = (uintptr_t)(keys + to.key);
		err = copy_one(from, to, keys, value);
	}
	free(keys);
	free(value);
	return err;
}

/* A value for each of the machine's CPUs, of which the kernel and the session need not count as many: they begin with zeros. */
static bool has_copies(uint32_t asked)
{
	enum {
#define GPUBPF_MAP_FLAG(name, meaning) BIT_##name,
#include "gpubpf/map_types.def"
	};
	enum {
#define GPUBPF_MAP_FLAG(name, meaning) name = 1 << BIT_##name,
#include "gpubpf/map_types.def"
	};
	static const struct { uint32_t type; bool copies; } types[] = {
#define GPUBPF_MAP_TYPE(number, name, impl, operations, flags, meaning) { number, ((flags) & COPIES) != 0 },
#define GPUBPF_OWN_MAP_TYPE(...)
#include "gpubpf/map_types.def"
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == asked)
			return types[i].copies;
	return false;
}

/* Its pages can be the session's too, so that the kernel's programs, the loader and the GPU's work on one memory. */
static bool is_shareable(int fd, const struct bpf_map_info *info)
{
	return info->type == BPF_MAP_TYPE_ARRAY && info->map_flags & BPF_F_MMAPABLE && !(info->map_flags & BPF_F_RDONLY_PROG) &&
	       !is_frozen(fd);
}

static int fill(int from, int to, const struct bpf_map_info *info)
{
	struct handle map = handle_of(to, GPUBPF_BPF_MAP);
	int err;

	if (is_named(info->type))
		err = named_copy(from, to, info);
	else
		err = has_copies(info->type) ? 0 : copy_all(from, map);
	return err || !is_frozen(from) ? err : freeze(map.id);
}

static int make_of(int fd, const struct bpf_map_info *info, const union bpf_attr *attr)
{
	int ours = -EINVAL, like_fd = -1, err;
	uint32_t like = is_of_maps(info->type) ? named_like(fd, info, &like_fd) : 0;

	if (is_shareable(fd, info))
		ours = map_make(attr, 0, info->id, fd);
	if (ours < 0) {
		ours = map_make(attr, like, info->id, -1);
		err = ours < 0 ? 0 : fill(fd, ours, info);
		if (err < 0) {
			close(ours);
			ours = err;
		}
	}
	if (like_fd >= 0)
		close(like_fd);
	return ours;
}

static int make(int fd, const struct bpf_map_info *info)
{
	union bpf_attr attr = {
		.map_type = info->type, .key_size = info->key_size, .value_size = info->value_size,
		.max_entries = info->max_entries, .map_flags = info->map_flags, .map_extra = info->map_extra,
		.btf_key_type_id = info->btf_key_type_id, .btf_value_type_id = info->btf_value_type_id,
	}, id = { .btf_id = info->btf_id };
	long btf = info->btf_id ? kernel_bpf(BPF_BTF_GET_FD_BY_ID, &id, FIELD(&id, open_flags)) : 0;
	int ours;

	memcpy(attr.map_name, info->name, sizeof(attr.map_name));
	attr.btf_fd = btf > 0 ? (uint32_t)btf : 0;
	ours = make_of(fd, info, &attr);
	if (btf > 0)
		close((int)btf);
	return ours;
}

/* The kernel's number of the map that a descriptor is, 0: it is none. */
static uint32_t map_id(const char *fd)
{
	char path[300], line[128];
	uint32_t id = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%s", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "map_id: %u", &id) == 1)
			break;
	if (f)
		fclose(f);
	return id;
}

static int replace_all(uint32_t id, int ours)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	int err = 0;

	while (dir && !err && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && map_id(entry->d_name) == id && dup3(ours, atoi(entry->d_name), O_CLOEXEC) < 0)
			err = -errno;
	if (dir)
		closedir(dir);
	return err;
}

/* What the map of the kernel's has become before, in whatever process. */
static int known(uint32_t was)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_u32(&w, was);
	return ask_handle(GPUBPF_BPF_WAS, &w, -1);
}

int map_ours(int fd, const struct bpf_map_info *info)
{
	int ours = known(info->id), err;

	if (ours < 0)
		ours = make(fd, info);
	if (ours < 0)
		return ours;
	err = replace_all(info->id, ours);
	if (!err)
		return ours;
	close(ours);
	return err;
}

int map_info(int fd, struct bpf_map_info *info)
{
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(*info), .info = (uintptr_t)info } };
	long err;

	memset(info, 0, sizeof(*info));
	err = kernel_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, FIELD(&attr, info));
	return !err && !info->max_entries ? -EBADF : (int)err; /* a program, say */
}

int64_t map_taken(int fd)
{
	int64_t map = handle_of(fd, GPUBPF_BPF_MAP).id;
	struct bpf_map_info info;
	int err, ours;

	if (map)
		return map;
	err = map_info(fd, &info);
	if (err < 0)
		return err;
	ours = map_ours(fd, &info);
	if (ours < 0)
		return ours;
	close(ours);
	return handle_of(fd, GPUBPF_BPF_MAP).id;
}
