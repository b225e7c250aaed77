/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that enumerate and describe objects, and commands on BTF and links. */
#include "loader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- enumeration by number: kernel objects precede session objects -- */

static enum gpubpf_bpf_kind kind_of(int cmd)
{
	switch (cmd) {
	case BPF_PROG_GET_NEXT_ID:
	case BPF_PROG_GET_FD_BY_ID:
		return GPUBPF_BPF_PROG;
	case BPF_MAP_GET_NEXT_ID:
	case BPF_MAP_GET_FD_BY_ID:
		return GPUBPF_BPF_MAP;
	case BPF_BTF_GET_NEXT_ID:
	case BPF_BTF_GET_FD_BY_ID:
		return GPUBPF_BPF_BTF;
	}
	return GPUBPF_BPF_LINK;
}

static int next_session_id(struct call *c, uint32_t after)
{
	struct gpubpf_writer w = { 0 };
	struct answer a;
	uint32_t id;
	int err;

	gpubpf_put_u32(&w, kind_of(c->cmd));
	gpubpf_put_u32(&w, after);
	err = ask(GPUBPF_BPF_NEXT_ID, &w, &a);
	id = gpubpf_get_u32(&a.payload.r);
	if (!err)
		err = GIVE_BACK(c, next_id, id);
	answer_close(&a);
	return err;
}

/*
 * Get the next kernel object, except adopted maps. An adopted map is listed once, under its session number, although
 * its kernel map may still exist.
 */
static long next_kernel_id(struct call *c)
{
	union bpf_attr attr = c->attr;
	long ret = pass(c);
	bool skipped = false;

	if (ret || kind_of(c->cmd) != GPUBPF_BPF_MAP ||
	    caller_read(&attr.next_id, c->user + offsetof(union bpf_attr, next_id), sizeof(attr.next_id)) < 0)
		return ret;
	while (!ret && map_is_adopted(attr.next_id)) {
		skipped = true;
		attr.start_id = attr.next_id;
		ret = kernel_bpf(c->cmd, &attr, FIELD_END(next_id));
	}
	return ret || !skipped ? ret : GIVE_BACK(c, next_id, attr.next_id);
}

long next_id(struct call *c)
{
	/* the Linux kernel refuses start ids from INT_MAX on */
	bool theirs = c->attr.start_id < GPUBPF_BPF_FIRST_ID || c->attr.start_id >= INT_MAX;
	long ret = theirs ? next_kernel_id(c) : -ENOENT, ours;

	if (ret != -ENOENT && ret != -EPERM)
		return ret;
	ours = next_session_id(c, theirs ? GPUBPF_BPF_FIRST_ID - 1 : c->attr.start_id);
	return ours == -EOPNOTSUPP ? ret : ours;
}

/* Return the same error as for the link of a kprobe, which is detached by closing it. */
long link_detach(struct call *c)
{
	return handle_of((int)c->attr.link_detach.link_fd, GPUBPF_BPF_LINK).id ? -EOPNOTSUPP : pass(c);
}

long fd_by_id(struct call *c)
{
	struct gpubpf_writer w = { 0 };
	int ours;

	if (!c->attr.start_id && !c->attr.open_flags)
		/* no object has id 0, but the Linux kernel returns ENOENT only to a privileged caller */
		return -ENOENT;
	if (c->attr.start_id < GPUBPF_BPF_FIRST_ID) {
		ours = kind_of(c->cmd) == GPUBPF_BPF_MAP ? map_adopted_fd(c->attr.map_id) : -ENOENT;
		return ours < 0 ? pass(c) : ours;
	}
	gpubpf_put_u32(&w, kind_of(c->cmd));
	gpubpf_put_u32(&w, c->attr.start_id);
	return request_handle(GPUBPF_BPF_FD_BY_ID, &w, -1);
}

/* -- description -- */

static int copy_out(uint64_t pointer, uint64_t room, const void *data, size_t size)
{
	return pointer ? caller_write(pointer, data, size < room ? size : room) : 0;
}

/* Fill the buffers that the caller's structure points to. Set the lengths in *info to the available sizes. */
static int fill_prog(struct bpf_prog_info *info, const struct bpf_prog_info *asked, const void *insns, size_t size,
		     const uint32_t *maps, size_t maps_size)
{
	int err;

	info->xlated_prog_insns = asked->xlated_prog_insns;
	info->map_ids = asked->map_ids;
	err = copy_out(asked->xlated_prog_insns, asked->xlated_prog_len, insns, size);
	return err ? err : copy_out(asked->map_ids, (uint64_t)asked->nr_map_ids * sizeof(*maps), maps, maps_size);
}

static int fill_btf(struct bpf_btf_info *info, const struct bpf_btf_info *asked, const void *data, size_t size)
{
	int err;

	info->btf = asked->btf;
	info->name = asked->name;
	err = copy_out(asked->btf, asked->btf_size, data, size);
	return err ? err : copy_out(asked->name, asked->name_len, "", 1);
}

static int read_info(struct call *c, struct gpubpf_reader *r)
{
	union {
		struct bpf_map_info map;
		struct bpf_prog_info prog;
		struct bpf_link_info link;
		struct bpf_btf_info btf;
	} info = { 0 }, asked = { 0 };
	uint32_t kind = gpubpf_get_u32(r), len = c->attr.info.info_len;
	size_t size, extra_size, ids_size;
	const void *data = gpubpf_get_bytes(r, &size), *extra = gpubpf_get_bytes(r, &extra_size);
	const void *ids = gpubpf_get_bytes(r, &ids_size);
	int err;

	if (r->failed || size > sizeof(info))
		return -EIO;
	if (!c->attr.info.info)
		return -EFAULT;
	memcpy(&info, data, size);
	err = caller_read(&asked, c->attr.info.info, len < sizeof(asked) ? len : sizeof(asked));
	if (!err && kind == GPUBPF_BPF_PROG)
		err = fill_prog(&info.prog, &asked.prog, extra, extra_size, ids, ids_size);
	else if (!err && kind == GPUBPF_BPF_BTF)
		err = fill_btf(&info.btf, &asked.btf, extra, extra_size);
	len = len < size ? len : (uint32_t)size;
	if (!err)
		err = caller_write(c->attr.info.info, &info, len);
	return err ? err : GIVE_BACK(c, info.info_len, len);
}

bool kernel_map(int fd, struct bpf_map_info *info)
{
	union bpf_attr attr = { .info = { .info_len = sizeof(*info), .info = (uintptr_t)info } };
	char path[PROC_SIZE], is[32];
	int borrowed;
	ssize_t n;
	long err;

	caller_link(fd, path);
	n = readlink(path, is, sizeof(is) - 1);
	is[n < 0 ? 0 : n] = 0;
	borrowed = strcmp(is, "anon_inode:bpf-map") ? -1 : caller_borrow(fd);
	if (borrowed < 0)
		return false;
	memset(info, 0, sizeof(*info));
	attr.info.bpf_fd = (uint32_t)borrowed;
	err = kernel_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, FIELD_END(info));
	caller_return_fd(borrowed);
	return !err;
}

/*
 * Record whether the perf event array that the caller queried is a session map. Loaders such as libbpf next open perf
 * buffers for this array.
 */
static void set_perf_array_owner(bool ours)
{
	atomic_store(&caller_state()->next_array_is_session, ours);
}

long object_info(struct call *c)
{
	struct gpubpf_writer w = { 0 };
	struct bpf_map_info info;
	struct handle h = { 0 };
	struct answer a;
	int err;

	for (int kind = 0; kind < GPUBPF_BPF_KINDS && !h.id; kind++)
		h = handle_of((int)c->attr.info.bpf_fd, kind);
	if (!h.id) {
		if (atomic_load(&caller_state()->next_array_is_session) &&
		    kernel_map((int)c->attr.info.bpf_fd, &info) && info.type == BPF_MAP_TYPE_PERF_EVENT_ARRAY)
			set_perf_array_owner(false);
		return pass(c);
	}
	gpubpf_put_u32(&w, h.id);
	err = ask(GPUBPF_BPF_INFO, &w, &a);
	if (!err)
		err = read_info(c, &a.payload.r);
	answer_close(&a);
	if (!err && h.of == GPUBPF_BPF_BUFFER + 1)
		set_perf_array_owner(true);
	return err;
}

/* -- BTF -- */

static int load_btf(const void *data, size_t size)
{
	struct gpubpf_writer w = { 0 };

	gpubpf_put_bytes(&w, data, size);
	return request_handle(GPUBPF_BPF_BTF_LOAD, &w, -1);
}

long btf_load(struct call *c)
{
	long ret = pass(c), ours;
	void *data;
	int err;

	if (ret != -EPERM || !c->attr.btf)
		return ret;
	if (c->attr.btf_size > GPUBPF_BPF_MAX)
		return -E2BIG;
	data = copied(c->attr.btf, c->attr.btf_size, &err);
	if (!data)
		return err;
	ours = load_btf(data, c->attr.btf_size);
	free(data);
	return ours == -EOPNOTSUPP ? ret : ours;
}

static int copy_btf(int fd)
{
	struct bpf_btf_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(info), .info = (uintptr_t)&info } };
	long err = kernel_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, FIELD_END(info));
	uint32_t size = info.btf_size;
	void *data = NULL;

	if (!err && (!size || size > GPUBPF_BPF_MAX))
		err = -EBADF; /* the descriptor does not refer to BTF */
	if (!err && !(data = malloc(size)))
		err = -ENOMEM;
	if (!err) {
		info = (struct bpf_btf_info){ .btf = (uintptr_t)data, .btf_size = size };
		attr.info.info_len = sizeof(info);
		err = kernel_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, FIELD_END(info));
	}
	if (!err)
		err = load_btf(data, size);
	free(data);
	return (int)err;
}

int64_t btf_copy(int fd, int *own)
{
	*own = copy_btf(fd);
	return *own < 0 ? *own : (int64_t)handle_of_own_fd(*own, GPUBPF_BPF_BTF).id;
}

int64_t btf_adopt(int fd, int *own)
{
	int64_t btf = handle_of(fd, GPUBPF_BPF_BTF).id;
	int theirs = btf ? -1 : caller_borrow(fd);

	*own = -1;
	if (btf || theirs < 0)
		return btf ? btf : theirs;
	btf = btf_copy(theirs, own);
	caller_return_fd(theirs);
	return btf;
}

/* -- links -- */

long link_create(struct call *c)
{
	uint32_t prog = handle_of((int)c->attr.link_create.prog_fd, GPUBPF_BPF_PROG).id;
	int target = (int)c->attr.link_create.target_fd;
	uint32_t perf = handle_of(target, GPUBPF_BPF_PERF).id;
	struct gpubpf_writer w = { 0 };

	if (!prog && !perf)
		return pass(c);
	if (prog && !perf && !uprobe_adopt(target))
		perf = handle_of(target, GPUBPF_BPF_PERF).id;
	if (!prog || !perf)
		return is_open(target) ? -EINVAL : -EBADF;
	gpubpf_put_u32(&w, prog);
	gpubpf_put_u32(&w, perf);
	gpubpf_put_u64(&w, c->attr.link_create.perf_event.bpf_cookie);
	return request_handle(GPUBPF_BPF_LINK_CREATE, &w, -1);
}
