/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adopts kernel maps. When a GPU program refers to a kernel map, the session creates a session map with the same
 * contents.
 */
#include "loader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int copy_element(int from, struct handle to, const void *key, void *value)
{
	union bpf_attr attr = { .map_fd = (uint32_t)from, .key = (uintptr_t)key, .value = (uintptr_t)value };

	if (kernel_bpf(BPF_MAP_LOOKUP_ELEM, &attr, FIELD_END(flags)) < 0)
		return 0;
	return map_put(to, key, value);
}

static int copy_all(int from, struct handle to)
{
	uint8_t *keys = calloc(2, to.key + 8), *value = calloc(1, to.value + 8);
	union bpf_attr attr = { .map_fd = (uint32_t)from, .next_key = (uintptr_t)keys };
	int err = keys && value ? 0 : -ENOMEM;

	while (!err && to.key && !kernel_bpf(BPF_MAP_GET_NEXT_KEY, &attr, FIELD_END(flags))) {
		memcpy(keys + to.key, keys, to.key);
		attr.key = (uintptr_t)(keys + to.key);
		err = copy_element(from, to, keys, value);
	}
	free(keys);
	free(value);
	return err;
}

/*
 * Returns true if the map type has one value per CPU. In the session the values of such a map start at zero, because
 * the session may have another number of CPUs than the Linux kernel.
 */
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
	static const struct {
		uint32_t type;
		bool copies;
	} types[] = {
#define GPUBPF_MAP_TYPE(number, name, impl, operations, flags, meaning) { number, ((flags) & COPIES) != 0 },
#define GPUBPF_OWN_MAP_TYPE(...)
#include "gpubpf/map_types.def"
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].type == asked)
			return types[i].copies;
	return false;
}

/*
 * Returns true if the session can use the kernel map's pages. Then kernel programs, loader and GPU share the same
 * memory.
 */
static bool is_shareable(int fd, const struct bpf_map_info *info)
{
	return info->type == BPF_MAP_TYPE_ARRAY && info->map_flags & BPF_F_MMAPABLE &&
	       !(info->map_flags & BPF_F_RDONLY_PROG) && !is_frozen(fd);
}

static int copy_contents(int from, int to, const struct bpf_map_info *info)
{
	struct handle map = handle_of_own_fd(to, GPUBPF_BPF_MAP);
	int err;

	if (is_named(info->type))
		err = copy_descriptor_values(from, to, info);
	else
		err = has_copies(info->type) ? 0 : copy_all(from, map);
	return err || !is_frozen(from) ? err : session_map_freeze(map.id);
}

/*
 * Returns the session's number of the map's BTF, or 0 if the map has no BTF or it is unavailable. *own is as in
 * btf_adopt().
 */
static uint32_t btf_of(const struct bpf_map_info *info, int *own)
{
	union bpf_attr id = { .btf_id = info->btf_id };
	long theirs = info->btf_id ? kernel_bpf(BPF_BTF_GET_FD_BY_ID, &id, FIELD_END(open_flags)) : 0;
	int64_t btf = theirs > 0 ? btf_copy((int)theirs, own) : 0;

	if (theirs > 0)
		close((int)theirs);
	return btf > 0 ? (uint32_t)btf : 0;
}

/*
 * Returns true if a loader has mapped kernel ring buffer `id`. If `mapped` is true, first reports that this caller maps
 * it.
 */
static bool is_ring_mapped(uint32_t id, bool mapped)
{
	struct gpubpf_writer w = { 0 };
	struct answer a;
	bool read;

	gpubpf_put_u32(&w, id);
	gpubpf_put_u32(&w, mapped);
	read = !ask(GPUBPF_BPF_RING_MAPPED, &w, &a) && gpubpf_get_u32(&a.payload.r);
	answer_close(&a);
	return read;
}

/*
 * Returns true if the kernel map stays in use after the adoption. A loader reads records of kernel programs from this
 * map, so records of GPU programs must arrive there too.
 */
static bool stays_in_kernel(const struct bpf_map_info *info)
{
	if (info->type == BPF_MAP_TYPE_RINGBUF)
		return is_ring_mapped(info->id, false);
	return info->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY && atomic_load(&caller_state()->kernel_buffers);
}

/*
 * Create a session map for a kernel map that stays in use. Returns -EINVAL for a read-only map, for which a copy is
 * sufficient.
 */
static int make_shadow(int fd, const struct bpf_map_info *info, const union bpf_attr *attr, uint32_t btf)
{
	if (is_frozen(fd) || info->map_flags & BPF_F_RDONLY_PROG)
		return -EINVAL;
	return session_map_create(attr, btf, 0, info->id, fd, GPUBPF_BPF_SEPARATE);
}

static int create_by_kind(int fd, const struct bpf_map_info *info, const union bpf_attr *attr, uint32_t btf)
{
	int ours = -EINVAL, like_fd = -1, err;
	uint32_t like = is_map_of_maps(info->type) ? find_inner_like(fd, info, &like_fd) : 0;

	if (is_shareable(fd, info) || stays_in_kernel(info))
		ours = session_map_create(attr, btf, 0, info->id, fd, GPUBPF_BPF_SAME);
	if (ours < 0 && !stays_in_kernel(info) && !is_named(info->type))
		ours = make_shadow(fd, info, attr, btf);
	if (ours < 0 && !stays_in_kernel(info)) {
		ours = session_map_create(attr, btf, like, info->id, -1, GPUBPF_BPF_NONE);
		err = ours < 0 ? 0 : copy_contents(fd, ours, info);
		if (err < 0) {
			close(ours);
			ours = err;
		}
	}
	if (like_fd >= 0)
		close(like_fd);
	return ours;
}

static int create_from_info(int fd, const struct bpf_map_info *info)
{
	union bpf_attr attr = {
		.map_type = info->type,
		.key_size = info->key_size,
		.value_size = info->value_size,
		.max_entries = info->max_entries,
		.map_flags = info->map_flags,
		.map_extra = info->map_extra,
		.btf_key_type_id = info->btf_key_type_id,
		.btf_value_type_id = info->btf_value_type_id,
	};
	int own_btf = -1, ours;
	uint32_t btf = btf_of(info, &own_btf);

	memcpy(attr.map_name, info->name, sizeof(attr.map_name));
	ours = create_by_kind(fd, info, &attr, btf);
	if (own_btf >= 0)
		close(own_btf);
	return ours;
}

/*
 * Returns the Linux kernel's number of the map that the caller's descriptor refers to, or 0 if it is not a map. `fd` is
 * the descriptor as text.
 */
static uint32_t map_id(const char *fd)
{
	char name[32], path[PROC_SIZE], line[128];
	uint32_t id = 0;
	FILE *f;

	snprintf(name, sizeof(name), "fdinfo/%.16s", fd);
	caller_proc(name, path);
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
	char path[PROC_SIZE];
	struct dirent *entry;
	int err = 0;
	DIR *dir;

	caller_proc("fd", path);
	dir = opendir(path);
	while (dir && !err && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && map_id(entry->d_name) == id)
			err = caller_replace(atoi(entry->d_name), ours);
	if (dir)
		closedir(dir);
	return err;
}

/*
 * Find the session map for a kernel map that the session has already adopted, from any process. Returns a descriptor or
 * a negative errno value.
 */
static int lookup_adopted(uint32_t was, bool *stays_kernel)
{
	struct gpubpf_writer w = { 0 };
	struct answer a;
	int fd;

	gpubpf_put_u32(&w, was);
	fd = ask(GPUBPF_BPF_MAP_BY_KERNEL_ID, &w, &a);
	*stays_kernel = gpubpf_get_u32(&a.payload.r);
	if (!fd) {
		fd = a.payload.fd < 0 ? -EMFILE : a.payload.fd;
		a.payload.fd = -1;
	}
	answer_close(&a);
	return fd;
}

static int find_adopted(uint32_t was)
{
	bool stays_kernel;

	return lookup_adopted(was, &stays_kernel);
}

int map_adopted_fd(uint32_t was)
{
	bool stays_kernel;
	int fd = lookup_adopted(was, &stays_kernel);

	if (fd < 0 || !stays_kernel)
		return fd;
	close(fd);
	return -ENOENT;
}

bool map_is_adopted(uint32_t was)
{
	int fd = find_adopted(was);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int map_adopt_fd(int fd, const struct bpf_map_info *info)
{
	int ours = find_adopted(info->id), err;

	if (ours < 0)
		ours = create_from_info(fd, info);
	if (ours < 0)
		return ours;
	err = stays_in_kernel(info) ? 0 : replace_all(info->id, ours);
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
	err = kernel_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, FIELD_END(info));
	return !err && !info->max_entries ? -EBADF : (int)err; /* the descriptor does not refer to a map */
}

void note_ring_mapped(int fd)
{
	struct bpf_map_info info;
	int ours;

	if (!kernel_map(fd, &info) || info.type != BPF_MAP_TYPE_RINGBUF)
		return;
	ours = map_adopted_fd(info.id);
	if (ours < 0) {
		is_ring_mapped(info.id, true);
		return;
	}
	caller_replace(fd, ours);
	close(ours);
}

int kernel_map_of_session(int fd)
{
	struct handle h = handle_of(fd, GPUBPF_BPF_MAP);
	struct gpubpf_writer w = { 0 };

	if (!h.id)
		return -EINVAL;
	gpubpf_put_u32(&w, h.id);
	return request_handle(GPUBPF_BPF_KERNEL, &w, -1);
}

void note_map_consumer(int fd)
{
	bool ours = handle_of(fd, GPUBPF_BPF_MAP).id;
	int theirs = ours ? kernel_map_of_session(fd) : caller_borrow(fd);
	struct gpubpf_writer w = { 0 };
	struct bpf_map_info info;
	struct answer a;

	if (theirs >= 0 && !map_info(theirs, &info) &&
	    (info.type == BPF_MAP_TYPE_QUEUE || info.type == BPF_MAP_TYPE_STACK)) {
		gpubpf_put_u32(&w, info.id);
		ask(GPUBPF_BPF_QUEUE_CONSUMED, &w, &a);
		answer_close(&a);
	}
	if (theirs >= 0 && ours)
		close(theirs);
	else if (theirs >= 0)
		caller_return_fd(theirs);
}

#define HIGH_FD 200                /* lowest descriptor number, as in client.c */

/*
 * Keep a duplicate of the session map's descriptor open until this process ends. Until the caller's program is loaded,
 * no other object refers to the map.
 */
static void keep_open(int ours, uint32_t id)
{
	static _Atomic uint32_t last;

	if (atomic_exchange(&last, id) != id)
		fcntl(ours, F_DUPFD_CLOEXEC, HIGH_FD);
}

int64_t map_taken(int fd)
{
	int64_t map = handle_of(fd, GPUBPF_BPF_MAP).id;
	struct bpf_map_info info;
	int theirs, ours;

	if (map)
		return map;
	theirs = caller_borrow(fd);
	if (theirs < 0)
		return theirs;
	ours = map_info(theirs, &info);
	if (!ours)
		ours = map_adopt_fd(theirs, &info);
	caller_return_fd(theirs);
	if (ours < 0)
		return ours;
	map = handle_of_own_fd(ours, GPUBPF_BPF_MAP).id;
	if (stays_in_kernel(&info))
		keep_open(ours, info.id);
	close(ours);
	return map;
}
