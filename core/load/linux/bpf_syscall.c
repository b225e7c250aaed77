/* SPDX-License-Identifier: Apache-2.0 */
#include "bpf_syscall.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/wire/files/file_size.h"

#define FIRST_ID 1          /* id of the first map and the first program in bpf_map_info and bpf_prog_info */

static _Thread_local struct gpubpf_sys *active;

/* Returns a new file descriptor of `size` bytes, or -errno. *ino receives its inode number. */
static int handle_create(const char *name, uint64_t size, ino_t *ino)
{
	struct stat st;
	int fd;

	if (!gpubpf_file_size_allowed(size))
		return -EFBIG;
	fd = memfd_create(name, MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, size) < 0 || fstat(fd, &st) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	*ino = st.st_ino;
	return fd;
}

static bool handle_ino(int fd, ino_t *ino)
{
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	*ino = st.st_ino;
	return true;
}

/* Searches the newest maps first, because a new map may reuse the inode number of a closed descriptor. */
const struct gpubpf_sys_map *gpubpf_sys_map(const struct gpubpf_sys *sys, int fd)
{
	ino_t ino;

	if (!handle_ino(fd, &ino))
		return NULL;
	for (uint32_t i = sys->nmaps; i-- > 0;)
		if (sys->maps[i].ino == ino)
			return &sys->maps[i];
	return NULL;
}

const struct gpubpf_sys_prog *gpubpf_sys_prog(const struct gpubpf_sys *sys, int fd)
{
	ino_t ino;

	if (!handle_ino(fd, &ino))
		return NULL;
	for (uint32_t i = sys->nprogs; i-- > 0;)
		if (sys->progs[i].ino == ino)
			return &sys->progs[i];
	return NULL;
}

/* Appends a zeroed element to an array of n elements. Returns the new array, or NULL if memory runs out. */
static void *grow(void *array, uint32_t n, size_t size)
{
	char *p = reallocarray(array, n + 1, size);

	if (p)
		memset(p + n * size, 0, size);
	return p;
}

/* Returns a copy of n records. Each record has `have` bytes, and is truncated or zero-padded to `want` bytes. */
static void *copy_records(uint64_t from, uint32_t n, uint32_t have, uint32_t want)
{
	const char *src = (const char *)(uintptr_t)from;
	char *dst = calloc(n ? n : 1, want);

	for (uint32_t i = 0; dst && i < n; i++)
		memcpy(dst + (size_t)i * want, src + (size_t)i * have, have < want ? have : want);
	return dst;
}

static int map_create(struct gpubpf_sys *sys, const union bpf_attr *attr)
{
	bool of_maps = gpubpf_map_type_has(attr->map_type, GPUBPF_MAP_OF_MAPS);
	const struct gpubpf_sys_map *inner = of_maps ? gpubpf_sys_map(sys, attr->inner_map_fd) : NULL;
	uint32_t number = inner ? inner - sys->maps + 1 : 0;
	struct gpubpf_sys_map *map = grow(sys->maps, sys->nmaps, sizeof(*map));
	int fd;

	if (!map)
		return -ENOMEM;
	sys->maps = map;
	map += sys->nmaps;
	memcpy(map->name, attr->map_name, sizeof(map->name));
	map->type = attr->map_type;
	map->key_size = attr->key_size;
	map->value_size = attr->value_size;
	map->max_entries = attr->max_entries;
	map->flags = attr->map_flags;
	map->extra = attr->map_extra;
	map->btf_key = attr->btf_key_type_id;
	map->btf_value = attr->btf_value_type_id;
	map->inner = number;
	fd = handle_create("gpubpf-map", attr->map_type == BPF_MAP_TYPE_ARRAY ? attr->value_size : 0, &map->ino);
	if (fd >= 0)
		sys->nmaps++;
	return fd;
}

/*
 * Records an initial element of a map of maps or of programs, which libbpf stores from the map's definition. The
 * element is recorded by its index. A program that is not loaded has no file descriptor and gets GPUBPF_SYS_NONE.
 */
static int map_put(struct gpubpf_sys *sys, const union bpf_attr *attr)
{
	int fd = *(const int *)(uintptr_t)attr->value;
	struct gpubpf_sys_map *map = (struct gpubpf_sys_map *)gpubpf_sys_map(sys, attr->map_fd);
	const struct gpubpf_sys_map *value = gpubpf_sys_map(sys, fd);
	const struct gpubpf_sys_prog *prog = gpubpf_sys_prog(sys, fd);
	bool progs = gpubpf_map_type_has(map->type, GPUBPF_MAP_PROGS);
	uint32_t what = progs ? prog ? prog - sys->progs : GPUBPF_SYS_NONE :
			value ? value - sys->maps :
				GPUBPF_SYS_NONE;
	struct gpubpf_map_element *grown;

	if ((what == GPUBPF_SYS_NONE && !progs) || map->key_size != sizeof(uint32_t))
		return -EINVAL;
	grown = grow(map->elements, map->nelements, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	map->elements = grown;
	grown[map->nelements++] = (struct gpubpf_map_element){
		*(const uint32_t *)(uintptr_t)attr->key,
		what,
	};
	return 0;
}

/* Reads or writes a map value. libbpf only accesses global data, which is one value at index 0. */
static int map_element(struct gpubpf_sys *sys, const union bpf_attr *attr, bool write)
{
	const struct gpubpf_sys_map *map = gpubpf_sys_map(sys, attr->map_fd);
	void *value = (void *)(uintptr_t)attr->value;
	ssize_t n;

	if (map && write && gpubpf_map_type_has(map->type, GPUBPF_MAP_OF_MAPS | GPUBPF_MAP_PROGS))
		return map_put(sys, attr);
	if (!map || map->type != BPF_MAP_TYPE_ARRAY || *(const uint32_t *)(uintptr_t)attr->key != 0)
		return -EINVAL;
	if (write && map->frozen)
		return -EPERM;
	n = write ? pwrite(attr->map_fd, value, map->value_size, 0) : pread(attr->map_fd, value, map->value_size, 0);
	return n < 0 ? -errno : n == (ssize_t)map->value_size ? 0 : -EIO;
}

static int map_freeze(struct gpubpf_sys *sys, const union bpf_attr *attr)
{
	struct gpubpf_sys_map *map;

	map = (struct gpubpf_sys_map *)gpubpf_sys_map(sys, attr->map_fd);
	if (!map)
		return -EBADF;
	map->frozen = true;
	return 0;
}

static int load_prog(struct gpubpf_sys *sys, const union bpf_attr *attr)
{
	struct gpubpf_sys_prog *prog = grow(sys->progs, sys->nprogs, sizeof(*prog));
	int fd;

	if (!prog)
		return -ENOMEM;
	sys->progs = prog;
	prog += sys->nprogs;
	fd = handle_create("gpubpf-prog", 0, &prog->ino);
	if (fd < 0)
		return fd;
	sys->nprogs++;
	prog->insns = copy_records(attr->insns, attr->insn_cnt, sizeof(*prog->insns), sizeof(*prog->insns));
	prog->funcs = copy_records(attr->func_info, attr->func_info_cnt, attr->func_info_rec_size, sizeof(*prog->funcs));
	prog->lines = copy_records(attr->line_info, attr->line_info_cnt, attr->line_info_rec_size, sizeof(*prog->lines));
	if (!prog->insns || !prog->funcs || !prog->lines) {
		close(fd);
		return -ENOMEM;
	}
	prog->ninsns = attr->insn_cnt;
	prog->nfuncs = attr->func_info_cnt;
	prog->nlines = attr->line_info_cnt;
	return fd;
}

static int load_btf(void)
{
	ino_t ino;

	return handle_create("gpubpf-btf", 0, &ino);
}

/* Writes the info of a map or program to libbpf's buffer, truncated to its length. */
static int get_object_info(struct gpubpf_sys *sys, const union bpf_attr *attr)
{
	const struct gpubpf_sys_map *map = gpubpf_sys_map(sys, attr->info.bpf_fd);
	const struct gpubpf_sys_prog *prog = gpubpf_sys_prog(sys, attr->info.bpf_fd);
	void *info = (void *)(uintptr_t)attr->info.info;
	uint32_t room = attr->info.info_len;
	struct bpf_map_info m = { 0 };
	struct bpf_prog_info p = { 0 };

	if (map) {
		m.id = map - sys->maps + FIRST_ID;
		m.type = map->type;
		m.key_size = map->key_size;
		m.value_size = map->value_size;
		m.max_entries = map->max_entries;
		m.map_flags = map->flags;
		m.map_extra = map->extra;
		m.btf_key_type_id = map->btf_key;
		m.btf_value_type_id = map->btf_value;
		memcpy(m.name, map->name, sizeof(m.name));
		memcpy(info, &m, room < sizeof(m) ? room : sizeof(m));
		return 0;
	}
	if (prog) {
		p.id = prog - sys->progs + FIRST_ID;
		p.type = BPF_PROG_TYPE_KPROBE;
		p.xlated_prog_len = prog->ninsns * sizeof(*prog->insns);
		memcpy(info, &p, room < sizeof(p) ? room : sizeof(p));
		return 0;
	}
	return -EBADF;
}

/*
 * Executes a bpf(2) command in this process. Returns 0, a file descriptor, or -errno. libbpf also loads trivial
 * programs, maps and BTF to probe the features of the Linux kernel. These loads succeed too, so libbpf finds every
 * feature.
 */
static int answer(struct gpubpf_sys *sys, int cmd, const void *from, size_t size)
{
	union bpf_attr attr = { 0 };

	memcpy(&attr, from, size < sizeof(attr) ? size : sizeof(attr));
	switch (cmd) {
	case BPF_MAP_CREATE:
		return map_create(sys, &attr);
	case BPF_MAP_LOOKUP_ELEM:
		return map_element(sys, &attr, false);
	case BPF_MAP_UPDATE_ELEM:
		return map_element(sys, &attr, true);
	case BPF_MAP_FREEZE:
		return map_freeze(sys, &attr);
	case BPF_PROG_LOAD:
		return load_prog(sys, &attr);
	case BPF_PROG_BIND_MAP:
		return 0;
	case BPF_BTF_LOAD:
		return load_btf();
	case BPF_OBJ_GET_INFO_BY_FD:
		return get_object_info(sys, &attr);
	}
	return -EOPNOTSUPP; /* pinning, links and ids, which libbpf does not need for loading */
}

/*
 * Replaces libc's syscall() in gpubpf's libbpf. If a caller passes fewer than six arguments, the others have undefined
 * values. The Linux kernel ignores them, as it does with libc's syscall().
 */
long gpubpf_libbpf_syscall(long nr, ...)
{
	long arg[6], ret;
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	if (active && nr == SYS_bpf)
		ret = answer(active, (int)arg[0], (const void *)arg[1], (uint32_t)arg[2]);
	else if (active && nr == SYS_perf_event_open)
		ret = -EOPNOTSUPP;
	else
		return syscall(nr, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

void gpubpf_sys_enter(struct gpubpf_sys *sys)
{
	active = sys;
}

void gpubpf_sys_leave(void)
{
	active = NULL;
}

void gpubpf_sys_finish(struct gpubpf_sys *sys)
{
	for (uint32_t i = 0; i < sys->nprogs; i++) {
		free(sys->progs[i].insns);
		free(sys->progs[i].funcs);
		free(sys->progs[i].lines);
	}
	for (uint32_t i = 0; i < sys->nmaps; i++)
		free(sys->maps[i].elements);
	free(sys->progs);
	free(sys->maps);
	memset(sys, 0, sizeof(*sys));
}
