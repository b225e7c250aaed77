/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgpubpf-bpf.so, in the process of a loader that knows nothing of us: its bpf(2), perf_event_open(2) and ioctl(2) calls
 * for programs that are for a GPU are answered by a session (core/wire/loader.h, core/bpf), all others by the Linux kernel
 * as if nothing had been. A descriptor tells itself whose it is, so there are no tables here, and fork(2), dup(2) and
 * close(2) are nobody's matter.
 *
 *   entry.c    what we export         ask.c   the connection, handles
 *   bpf.c      bpf(2) by commands.def, but for: map.c, prog.c, object.c
 *   perf.c     perf_event_open(2), ioctl(2)   file.c  what libbpf reads before it calls these
 *   memory.c   what is mapped and waited for    pin.c   names in the session's folder
 */
#ifndef GPUBPF_HOOKS_BPF_LOADER_H
#define GPUBPF_HOOKS_BPF_LOADER_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/wire/loader.h"

#define PMU_TYPE 0x6770            /* of the kprobe PMU, where the kernel has none: told to libbpf, and told by it */

/* one call of bpf(2) */
struct call {
	int cmd;
	union bpf_attr attr;           /* as much of it as came, else zeros */
	void *user;                    /* the caller's, of */
	unsigned int size;             /* bytes */
};

/* -- the kernel: 0 or more, or -errno -- */
long kernel_call(long nr, const long arg[6]);
long kernel_bpf(int cmd, const void *attr, size_t size);
long pass(struct call *c);         /* as it came */

/* -- ask.c -- */
/* Of the session's answer, while it is open */
struct answer {
	struct gpubpf_payload payload;
	struct gpubpf_packet packet;
	void *buffer;
};
/* 0 or -errno as the session answered; -EOPNOTSUPP: there is none. What it says is in a->payload, to be closed. w is finished. */
int ask(uint32_t op, struct gpubpf_writer *w, struct answer *a);
void answer_close(struct answer *a);
/* Ask for a handle, with a descriptor (-1: none): its descriptor or -errno. */
int ask_handle(uint32_t op, struct gpubpf_writer *w, int given);
bool have_session(void);
/* What a descriptor of ours is: its number, 0: it is none of that kind; and of a map the bytes of a key and a value. A pipe
 * can be waited for; values of a map that is one are descriptors. */
struct handle {
	uint32_t id, key, value;
	bool pipe;
};
struct handle handle_of(int fd, enum gpubpf_bpf_kind kind);

/* -- commands: a result as bpf(2) has it, or -errno -- */
#define GPUBPF_COMMAND(number, name, function, meaning) long function(struct call *c);
#include "commands.def"
long bpf_call(int cmd, void *attr, unsigned int size);

/* map.c: the number of the map that a descriptor is; one of the kernel's becomes ours, with what it holds. -errno */
int64_t map_taken(int fd);
/* object.c: the number of the BTF that a descriptor is, or -errno. One of the kernel's is copied for the session, which has
 * it as long as *own (-1: none), to be closed by the caller, or what names it is open. */
int64_t btf_taken(int fd, int *own);
/* prog.c: has this process loaded a program for a GPU? */
bool has_programs(void);

/* perf.c */
void perf_array_named(bool ours);  /* whose a PERF_EVENT_ARRAY is, whose buffers are opened next */
long perf_event_open_call(const long arg[6]);
bool perf_ioctl(int fd, unsigned long request, long arg, int *result);

/* memory.c */
bool own_mmap(void *at, size_t size, int prot, int flags, int fd, uint64_t offset, long *result);
bool own_bell(int fd);             /* a pipe of ours, waited for by its edges */
int kernel_array(int fd);          /* the kernel's that has the values of this map of ours, owned; or -errno */

/* pin.c: what statfs(2) says of a name that may be ours. */
struct statfs;
void own_statfs(const char *path, struct statfs *buf);

/* file.c: NULL: it is not ours. */
FILE *own_file(const char *path);

#endif
