/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the session object that a descriptor refers to. The name of the descriptor's file contains the object's number
 * (core/wire/loader.h).
 */
#include "loader.h"

#include <string.h>
#include <unistd.h>

static struct handle handle_at(const char *path, enum gpubpf_bpf_kind kind)
{
	char is[512], kinds[16];
	const char *name;
	struct handle h = { 0 };
	ssize_t n = readlink(path, is, sizeof(is) - 1);

	if (n < 0)
		return h;
	is[n] = 0;
	name = strrchr(is, '/');
	h.pipe = name && strncmp(name, "/memfd:", 7);
	/* any process can create a file with such a name, so validate the values in it */
	if (!name ||
	    sscanf(name + (h.pipe ? 1 : 7), "gpubpf-%15[a-z]:%u:%u:%u:%u", kinds, &h.id, &h.key, &h.value, &h.of) != 5 ||
	    strcmp(kinds, gpubpf_bpf_kinds[kind]) || h.key > GPUBPF_BPF_MAX || h.value > GPUBPF_BPF_MAX ||
	    h.of > GPUBPF_BPF_KINDS)
		return (struct handle){ 0 };
	return h;
}

struct handle handle_of(int fd, enum gpubpf_bpf_kind kind)
{
	char path[PROC_SIZE];

	if (fd < 0)
		return (struct handle){ 0 };
	caller_link(fd, path);
	return handle_at(path, kind);
}

struct handle handle_of_own_fd(int fd, enum gpubpf_bpf_kind kind)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return handle_at(path, kind);
}

bool is_open(int fd)
{
	char path[PROC_SIZE], is[8];

	caller_link(fd, path);
	return fd >= 0 && readlink(path, is, sizeof(is)) >= 0;
}
