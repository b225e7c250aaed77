/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Predicts the Linux kernel's answers. The supervisor does not see the result of a call that it passes on. If that
 * result decides whether the session or the Linux kernel handles the call, the supervisor first queries the kernel. It
 * can query object numbers, which are the same for all processes, and the permission to create maps and programs.
 */
#include "supervise.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(cap) (1ull << (cap))
#define MAY_LOAD (BIT(CAP_BPF) | BIT(CAP_SYS_ADMIN))
#define MAY_PROBE (BIT(CAP_PERFMON) | BIT(CAP_SYS_ADMIN))
/* Bytes of the attribute that this code knows, for MAP_CREATE and for the GET_NEXT_ID commands. */
#define MAP_END (offsetof(union bpf_attr, map_extra) + sizeof(((union bpf_attr *)0)->map_extra))
#define NEXT_ID_END (offsetof(union bpf_attr, next_id) + sizeof(uint32_t))

static bool needs_rights(int cmd)
{
	return cmd == BPF_MAP_CREATE || cmd == BPF_PROG_LOAD || cmd == BPF_OBJ_GET || cmd == BPF_BTF_GET_FD_BY_ID ||
	       cmd == BPF_MAP_GET_FD_BY_ID || cmd == BPF_PROG_GET_NEXT_ID || cmd == BPF_MAP_GET_NEXT_ID ||
	       cmd == BPF_BTF_GET_NEXT_ID || cmd == BPF_LINK_GET_NEXT_ID;
}

static long direct_bpf(int cmd, const void *attr, size_t size)
{
	return kernel_call(SYS_bpf, (const long[6]){ cmd, (long)attr, (long)size });
}

long served_bpf(int cmd, const void *attr, size_t size)
{
	uint64_t effective;

	if (needs_rights(cmd) && !caller_has_all_rights(&effective))
		return -EPERM;
	return direct_bpf(cmd, attr, size);
}

/* Try to create a map of this type and size in the supervisor, without BTF and without references to other objects. */
static long try_map(union bpf_attr attr)
{
	long fd;

	attr.inner_map_fd = 0;
	attr.btf_fd = attr.btf_key_type_id = attr.btf_value_type_id = 0;
	fd = direct_bpf(BPF_MAP_CREATE, &attr, MAP_END);
	if (fd >= 0)
		close((int)fd);
	return fd;
}

static long try_program(uint32_t type)
{
	static const struct bpf_insn minimal[] = { { .code = BPF_ALU64 | BPF_MOV | BPF_K },
						   { .code = BPF_JMP | BPF_EXIT } };
	union bpf_attr attr = {
		.prog_type = type,
		.insn_cnt = 2,
		.insns = (uintptr_t)minimal,
		.license = (uintptr_t)"GPL",
	};
	long fd = direct_bpf(BPF_PROG_LOAD, &attr, sizeof(attr));

	if (fd >= 0)
		close((int)fd);
	return fd;
}

static bool refuses_us;

static void try_once(void)
{
	union bpf_attr attr = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1 };

	refuses_us = try_map(attr) == -EPERM;
}

/*
 * Returns true if the Linux kernel refuses maps even to the supervisor. Capabilities belong to a user namespace, and
 * only the kernel knows whether they are sufficient.
 */
static bool refuses_everyone(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, try_once);
	return refuses_us;
}

/*
 * Returns true if the Linux kernel would refuse the call of this caller. Without capabilities, the permission depends
 * on the type of the map or program. Then the supervisor tries the call, if it has no more capabilities than the
 * caller.
 */
static bool refuses(const struct call *c)
{
	uint64_t effective;
	bool like_us = caller_has_all_rights(&effective);

	if (refuses_everyone())
		return true;
	if (effective & MAY_LOAD)
		return false;
	if (!like_us)
		return true;
	if (c->cmd == BPF_PROG_LOAD)
		return try_program(c->attr.prog_type) == -EPERM;
	return c->cmd == BPF_MAP_CREATE && try_map(c->attr) == -EPERM;
}

static long next_id(struct call *c)
{
	union bpf_attr attr = c->attr;
	long ret = served_bpf(c->cmd, &attr, NEXT_ID_END);

	return ret ? ret : caller_write(c->user + offsetof(union bpf_attr, next_id), &attr.next_id, sizeof(attr.next_id));
}

long served_pass(struct call *c)
{
	switch (c->cmd) {
	case BPF_PROG_GET_NEXT_ID:
	case BPF_MAP_GET_NEXT_ID:
	case BPF_BTF_GET_NEXT_ID:
	case BPF_LINK_GET_NEXT_ID:
		return next_id(c);
	case BPF_MAP_CREATE:
	case BPF_PROG_LOAD:
	case BPF_BTF_LOAD:
		c->is_predicted = refuses(c);
		return c->is_predicted ? -EPERM : PASSED;
	}
	return PASSED;
}

/* Returns true if the attribute has nonzero bytes after the members that this code knows. */
static bool has_unknown_bytes(const struct call *c)
{
	const uint8_t *attr = (const uint8_t *)&c->attr;

	for (size_t i = MAP_END; i < sizeof(c->attr); i++)
		if (attr[i])
			return true;
	return c->size > sizeof(c->attr);
}

/*
 * Create a map of maps in the supervisor if possible. Only the creator knows the properties of the map's elements, and
 * can send them to the session.
 */
long served_pass_map_of(struct call *c)
{
	long ret = served_pass(c);
	union bpf_attr attr = c->attr;
	int inner = ret == PASSED && !has_unknown_bytes(c) ? caller_borrow((int)attr.inner_map_fd) : -1;
	int btf = inner >= 0 && attr.btf_fd ? caller_borrow((int)attr.btf_fd) : 0;

	if (inner >= 0 && btf >= 0) {
		attr.inner_map_fd = (uint32_t)inner;
		attr.btf_fd = (uint32_t)btf;
		ret = served_bpf(BPF_MAP_CREATE, &attr, MAP_END);
		ret = ret < 0 ? PASSED : ret; /* the caller's own call will fail in the same way */
	}
	if (inner >= 0)
		caller_return_fd(inner);
	if (btf > 0)
		caller_return_fd(btf);
	return ret;
}

long served_pass_unknown(int cmd, uint64_t attr, unsigned int size)
{
	(void)cmd, (void)attr, (void)size;
	return PASSED;
}

/*
 * Open a uprobe. If a GPU program may be attached to it later, the supervisor opens the uprobe with the caller's
 * arguments, since it must know the event's number.
 */
long served_pass_uprobe(const long arg[6], const struct perf_event_attr *asked)
{
	char given[PATH_MAX], path[PATH_MAX];
	int pid = (int)arg[1], group = (int)arg[3]; /* the Linux kernel uses only the low 32 bits of these arguments */
	struct perf_event_attr attr = *asked;
	uint64_t effective;
	long fd;

	if (!atomic_load(&caller_state()->loaded) || !pid || (pid > 0 && !caller_shares_pid_namespace()) ||
	    group != -1 || !(arg[4] & PERF_FLAG_FD_CLOEXEC) || !caller_has_all_rights(&effective) ||
	    caller_text(given, asked->uprobe_path, sizeof(given)) < 0 || caller_path(given, path) < 0)
		return PASSED;
	attr.size = sizeof(attr);
	attr.uprobe_path = (uintptr_t)path;
	fd = kernel_call(SYS_perf_event_open, (const long[6]){ (long)&attr, pid, (int)arg[2], group, arg[4] });
	return fd < 0 ? PASSED : fd; /* the caller's own call will fail in the same way */
}

/* Find out whether the Linux kernel refuses a kprobe: create a kprobe and close it. */
long served_pass_perf(const long arg[6], const struct perf_event_attr *asked, const char *function)
{
	struct perf_event_attr attr;
	uint64_t effective;
	long fd;

	(void)arg;
	if (!asked)
		return PASSED;
	caller_has_all_rights(&effective);
	if (!(effective & MAY_PROBE))
		return -EACCES;
	attr = *asked;
	attr.size = sizeof(attr);
	attr.kprobe_func = (uintptr_t)function;
	fd = kernel_call(SYS_perf_event_open, (const long[6]){ (long)&attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC });
	if (fd < 0)
		return fd;
	close((int)fd);
	return PASSED;
}
