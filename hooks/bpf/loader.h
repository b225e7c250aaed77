/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libgpubpf-bpf.so, in the process of a loader that knows nothing of us: its bpf(2), perf_event_open(2) and ioctl(2) calls
 * for programs that are for a GPU are answered by a session (core/wire/loader.h, core/bpf), all others by the Linux kernel
 * as if nothing had been. A descriptor tells itself whose it is, so there are no tables here, and fork(2), dup(2) and
 * close(2) are nobody's matter.
 *
 *   entry.c    what we export         ask.c   the connection, handles
 *   bpf.c      bpf(2) by commands.def, but for: map.c, named.c, prog.c, object.c
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
 * can be waited for. */
struct handle {
	uint32_t id, key, value;
	uint32_t of;               /* what values are, as core/wire/loader.h has it */
	bool pipe;
};
struct handle handle_of(int fd, enum gpubpf_bpf_kind kind);

/* -- commands: a result as bpf(2) has it, or -errno -- */
#define GPUBPF_COMMAND(number, name, function, meaning) long function(struct call *c);
#include "commands.def"
long bpf_call(int cmd, void *attr, unsigned int size);

/* map.c: the number of the map that a descriptor is; one of the kernel's becomes ours, with what it holds. -errno */
int64_t map_taken(int fd);
/* A map of ours: its descriptor or -errno. like: the number of one that its elements are like, 0: none; was: the number that it
 * had as the kernel's; values: of one of the kernel's, -1: its own. */
int map_make(const union bpf_attr *attr, uint32_t like, uint32_t was, int values);
int map_put(struct handle map, const void *key, const void *value); /* an element */
/* One of the kernel's as ours: its descriptor or -errno; all of this process's that are it are replaced. */
int map_ours(int fd, const struct bpf_map_info *info);
int map_info(int fd, struct bpf_map_info *info);

/* named.c: maps of maps and of programs */
bool is_of_maps(uint32_t type);
bool is_named(uint32_t type);
long map_create_of(struct call *c);
/* The number of what a descriptor in a value of the map is, 0: none of ours. A map of the kernel's becomes ours. */
uint32_t number_in(struct handle map, uint64_t value);
/* Is it a map of the kernel's of which a value is to be something of ours? Then it becomes ours. */
bool named_taken(int map, uint64_t value);
/* What the map's elements are like as a map of ours, of which *own is to be closed (-1: none); 0: the session knows. And what
 * stands in it, put into ours. */
uint32_t named_like(int from, const struct bpf_map_info *info, int *own);
int named_copy(int from, int to, const struct bpf_map_info *info);
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
