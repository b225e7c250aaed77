/* SPDX-License-Identifier: Apache-2.0 */
/* What objects there are, what they are, and BTF and links. */
#include "loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- numbers: the kernel's first -- */

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

static int next_of_ours(struct call *c, uint32_t after)
{
	union bpf_attr *user = c->user;
	struct gpubpf_writer w = {0};
	struct answer a;
	uint32_t id;
	int err;

	gpubpf_put_u32(&w, kind_of(c->cmd));
	gpubpf_put_u32(&w, after);
	err = ask(GPUBPF_BPF_NEXT_ID, &w, &a);
	id = gpubpf_get_u32(&a.payload.r);
	if (!err)
		user->next_id = id;
	answer_close(&a);
	return err;
}

long next_id(struct call *c)
{
	bool theirs = c->attr.start_id < GPUBPF_BPF_FIRST_ID;
	long ret = theirs ? pass(c) : -ENOENT, ours;

	if (ret != -ENOENT && ret != -EPERM)
		return ret;
	ours = next_of_ours(c, theirs ? GPUBPF_BPF_FIRST_ID - 1 : c->attr.start_id);
	return ours == -EOPNOTSUPP ? ret : ours;
}

long fd_by_id(struct call *c)
{
	struct gpubpf_writer w = {0};

	if (c->attr.start_id < GPUBPF_BPF_FIRST_ID)
		return pass(c);
	gpubpf_put_u32(&w, kind_of(c->cmd));
	gpubpf_put_u32(&w, c->attr.start_id);
	return ask_handle(GPUBPF_BPF_FD_BY_ID, &w, -1);
}

/* -- what they are -- */

static uint32_t copy_out(uint64_t pointer, uint32_t room, const void *data, size_t size)
{
	if (pointer && room && size)
		memcpy((void *)(uintptr_t)pointer, data, size < room ? size : room);
	return (uint32_t)size;
}

/* What the caller's struct points to is filled, and what it says of lengths becomes what there is. */
static void fill_prog(struct bpf_prog_info *info, const struct bpf_prog_info *asked, const void *insns, size_t size,
		      const uint32_t *maps, size_t maps_size)
{
	info->xlated_prog_insns = asked->xlated_prog_insns;
	info->map_ids = asked->map_ids;
	copy_out(asked->xlated_prog_insns, asked->xlated_prog_len, insns, size);
	copy_out(asked->map_ids, asked->nr_map_ids * sizeof(*maps), maps, maps_size);
}

static void fill_btf(struct bpf_btf_info *info, const struct bpf_btf_info *asked, const void *data, size_t size)
{
	info->btf = asked->btf;
	info->name = asked->name;
	copy_out(asked->btf, asked->btf_size, data, size);
	copy_out(asked->name, asked->name_len, "", 1);
}

static int read_info(struct call *c, struct gpubpf_reader *r)
{
	union {
		struct bpf_map_info map;
		struct bpf_prog_info prog;
		struct bpf_link_info link;
		struct bpf_btf_info btf;
	} info = { 0 }, asked = { 0 };
	union bpf_attr *user = c->user;
	uint32_t kind = gpubpf_get_u32(r), len = c->attr.info.info_len;
	size_t size, extra_size, ids_size;
	const void *data = gpubpf_get_bytes(r, &size), *extra = gpubpf_get_bytes(r, &extra_size);
	const void *ids = gpubpf_get_bytes(r, &ids_size);
	void *out = (void *)(uintptr_t)c->attr.info.info;

	if (r->failed || size > sizeof(info))
		return -EIO;
	if (!out)
		return -EFAULT;
	memcpy(&info, data, size);
	memcpy(&asked, out, len < sizeof(asked) ? len : sizeof(asked));
	if (kind == GPUBPF_BPF_PROG)
		fill_prog(&info.prog, &asked.prog, extra, extra_size, ids, ids_size);
	else if (kind == GPUBPF_BPF_BTF)
		fill_btf(&info.btf, &asked.btf, extra, extra_size);
	len = len < size ? len : (uint32_t)size;
	memcpy(out, &info, len);
	user->info.info_len = len;
	return 0;
}

static bool is_kernel_map(int fd)
{
	char path[64], is[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, is, sizeof(is) - 1);
	is[n < 0 ? 0 : n] = 0;
	return !strcmp(is, "anon_inode:bpf-map");
}

/* Whoever is about to open buffers for one, as libbpf, asks what it is first. */
static long name_perf_array(const struct call *c, long ret, bool ours)
{
	const struct bpf_map_info *info = (const void *)(uintptr_t)c->attr.info.info;

	if (!ret && info->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY &&
	    (ours || is_kernel_map((int)c->attr.info.bpf_fd)))
		perf_array_named(ours);
	return ret;
}

long object_info(struct call *c)
{
	struct gpubpf_writer w = {0};
	struct handle h = {0};
	struct answer a;
	int err;

	for (int kind = 0; kind < GPUBPF_BPF_KINDS && !h.id; kind++)
		h = handle_of((int)c->attr.info.bpf_fd, kind);
	if (!h.id)
		return name_perf_array(c, pass(c), false);
	gpubpf_put_u32(&w, h.id);
	err = ask(GPUBPF_BPF_INFO, &w, &a);
	if (!err)
		err = read_info(c, &a.payload.r);
	answer_close(&a);
	return h.pipe ? name_perf_array(c, err, true) : err;
}

/* -- BTF -- */

static int load_btf(const void *data, size_t size)
{
	struct gpubpf_writer w = {0};

	gpubpf_put_bytes(&w, data, size);
	return ask_handle(GPUBPF_BPF_BTF_LOAD, &w, -1);
}

long btf_load(struct call *c)
{
	const void *data = (const void *)(uintptr_t)c->attr.btf;
	long ret = pass(c), ours;

	if (ret != -EPERM || !data)
		return ret;
	ours = load_btf(data, c->attr.btf_size);
	return ours == -EOPNOTSUPP ? ret : ours;
}

static int take_btf(int fd)
{
	struct bpf_btf_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd, .info_len = sizeof(info), .info = (uintptr_t)&info } };
	const size_t size = offsetof(union bpf_attr, info) + sizeof(attr.info);
	long err = kernel_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, size);
	void *data = NULL;

	if (!err && !info.btf_size)
		err = -EBADF; /* a map, say */
	if (!err && !(data = malloc(info.btf_size)))
		err = -ENOMEM;
	if (!err) {
		info = (struct bpf_btf_info){ .btf = (uintptr_t)data, .btf_size = info.btf_size };
		attr.info.info_len = sizeof(info);
		err = kernel_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, size);
	}
	if (!err)
		err = load_btf(data, info.btf_size);
	free(data);
	return (int)err;
}

int64_t btf_taken(int fd, int *own)
{
	int64_t btf = handle_of(fd, GPUBPF_BPF_BTF).id;

	*own = btf ? -1 : take_btf(fd);
	return btf ? btf : *own < 0 ? *own : (int64_t)handle_of(*own, GPUBPF_BPF_BTF).id;
}

/* -- links -- */

long link_create(struct call *c)
{
	uint32_t prog = handle_of((int)c->attr.link_create.prog_fd, GPUBPF_BPF_PROG).id;
	int target = (int)c->attr.link_create.target_fd;
	uint32_t perf = handle_of(target, GPUBPF_BPF_PERF).id;
	struct gpubpf_writer w = {0};

	if (!prog && !perf)
		return pass(c);
	if (!prog || !perf)
		return fcntl(target, F_GETFD) < 0 ? -EBADF : -EINVAL;
	gpubpf_put_u32(&w, prog);
	gpubpf_put_u32(&w, perf);
	return ask_handle(GPUBPF_BPF_LINK_CREATE, &w, -1);
}
