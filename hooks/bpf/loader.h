/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loaders that know nothing of us: their bpf(2), perf_event_open(2) and ioctl(2) calls for programs that are for a GPU are
 * answered by a session (core/wire/loader.h, core/bpf), all others by the Linux kernel as if nothing had been. A descriptor
 * tells itself whose it is, so there are no tables here, and fork(2), dup(2) and close(2) are nobody's matter.
 *
 * Answered in one of two places, by the same code: in the loader's process, by libgpubpf-bpf.so, which libc's functions lead
 * to; or, where no library of ours can be, in gpubpf-supervise beside it (hooks/supervise), which sees its system calls.
 * What differs between them is caller.h.
 *
 *   bpf.c      bpf(2) by commands.def, but for: map.c, named.c, take.c, prog.c, object.c
 *   perf.c, uprobe.c  perf_event_open(2), ioctl(2)   file.c  what libbpf reads before it calls these
 *   memory.c   what is mapped and waited for    pin.c   names in the session's folder
 *   ask.c      the connection to the session     handle.c  what a descriptor is      kernel.c  system calls of our own
 * and of the library alone: entry.c, what we export; own.c, caller.h; exec.c, programs that it does not reach.
 */
#ifndef GPUBPF_HOOKS_BPF_LOADER_H
#define GPUBPF_HOOKS_BPF_LOADER_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "caller.h"
#include "core/wire/loader.h"

#define PMU_TYPE 0x6770            /* of the kprobe PMU, where the kernel has none: told to libbpf, and told by it */
#define FIELD_END(field) (offsetof(union bpf_attr, field) + sizeof(((union bpf_attr *)0)->field))

/* A command of bpf(2), with a session's path, to which its supervisor, and no kernel, answers 0: it is there already */
#define SUPERVISED 0x67707562

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

/* -- handle.c -- */
/* What a descriptor of ours is: its number, 0: it is none of that kind; and of a map the bytes of a key and a value. A pipe
 * can be waited for. */
struct handle {
	uint32_t id, key, value;
	uint32_t of;               /* what values are, as core/wire/loader.h has it */
	bool pipe;
};
struct handle handle_of(int fd, enum gpubpf_bpf_kind kind);     /* the caller's */
struct handle own_handle(int fd, enum gpubpf_bpf_kind kind);    /* this process's */
bool is_open(int fd);                                           /* a descriptor of the caller's at all? */

/* -- commands: a result as bpf(2) has it, -errno, or PASSED -- */
#define GPUBPF_COMMAND(number, name, function, ways, meaning) long function(struct call *c);
#include "commands.def"
/* attr is the caller's address */
long bpf_call(int cmd, uint64_t attr, unsigned int size);
bool bpf_waits(int cmd);            /* does it do nothing but hand on, what may take long? */
bool bpf_gives_descriptor(int cmd); /* is a result of the command, 0 or more, one? */
/* The caller's attribute, changed there. 0 or -EFAULT. */
#define GIVE_BACK(c, field, value) give_back(c, offsetof(union bpf_attr, field), &(__typeof__((c)->attr.field)){ value }, \
					     sizeof((c)->attr.field))
int give_back(const struct call *c, size_t at, const void *value, size_t size);
/* A copy of the caller's bytes, to be freed; NULL and *err: -EFAULT or -ENOMEM. */
void *copied(uint64_t from, size_t size, int *err);

/* take.c: the number of the map that the caller's descriptor is; one of the kernel's becomes ours, with what it holds. -errno */
int64_t map_taken(int fd);
/* One of the kernel's, this process's descriptor, as ours: such a one or -errno; all of the caller's that are it are replaced. */
int map_ours(int fd, const struct bpf_map_info *info);
bool map_became_ours(uint32_t was);      /* is the map that has this number of the kernel's one of ours since, in whatever process? */
/* The map that a loader gets instead of the kernel's with this number: ours, or -errno where the kernel's is right. */
int map_instead(uint32_t was);
/* The caller is about to map it: a ring buffer of the kernel's becomes ours if it has been replaced; else its records stay there. */
void ring_is_mapped(int fd);
int map_info(int fd, struct bpf_map_info *info); /* of this process's descriptor */
/* The kernel's that its programs have for this map of ours, owned; or -errno. And: a program of the kernel's takes values out
 * of the caller's map, if it is a queue or a stack. */
int map_of_kernel(int fd);
void map_is_taken(int fd);
/* map.c: a map of ours: its descriptor or -errno. btf: the number of its BTF, like: of one that its elements are like, 0: none;
 * was: the number that it had as the kernel's; given: one of the kernel's, -1: none, and what that is to it. And one that the
 * caller asked for. */
int map_make(const union bpf_attr *attr, uint32_t btf, uint32_t like, uint32_t was, int given, enum gpubpf_bpf_given as);
int map_make_asked(const union bpf_attr *attr, uint32_t like);
/* A command for a map of ours, in this process's memory; an element */
int map_elem_ours(struct handle map, uint32_t cmd, const void *key, void *value, uint64_t flags);
int map_put(struct handle map, const void *key, const void *value);
int map_freeze_ours(uint32_t map);

/* named.c: maps of maps and of programs */
bool is_of_maps(uint32_t type);
bool is_named(uint32_t type);
long map_create_of(struct call *c);
/* The number of what the caller's descriptor in a value of the map is, 0: none of ours. A map of the kernel's becomes ours. */
uint32_t number_in(struct handle map, int fd);
/* Is it a map of the kernel's of which a value is to be something of ours? Then it becomes ours. */
bool named_taken(int map, uint64_t value);
/* What the map's elements are like as a map of ours, of which *own is to be closed (-1: none); 0: the session knows. And what
 * stands in it, put into ours. */
uint32_t named_like(int from, const struct bpf_map_info *info, int *own);
int named_copy(int from, int to, const struct bpf_map_info *info);
/* object.c: the number of the BTF that the caller's descriptor is, or -errno. One of the kernel's is copied for the session,
 * which has it as long as *own (-1: none), to be closed by who called, or what names it is open. And one of this process's. */
int64_t btf_taken(int fd, int *own);
bool kernel_map(int fd, struct bpf_map_info *info); /* is the caller's descriptor a map of the kernel's? fills info then */
int64_t btf_copied(int fd, int *own);

/* perf.c. The Linux kernel's number of a kind of probes, by the file that tells it; 0: it has none. */
uint32_t kernel_pmu(const char *type, uint32_t *known);
long perf_event_open_call(const long arg[6]);
bool is_perf_request(unsigned long request);
bool perf_ioctl(int fd, unsigned long request, long arg, int *result);

/* uprobe.c: one of the kernel's was opened, this process's descriptor; and the caller's becomes ours, for the kernel that its function names: 0 or -errno. */
struct perf_event_attr;
bool is_uprobe(const struct perf_event_attr *attr);
void uprobe_opened(int event, const struct perf_event_attr *attr);
int uprobe_taken(int event);

/* memory.c */
bool own_mmap(const long arg[6], long *result);
bool map_is_written(uint32_t map); /* has a caller a map of ours mapped to write it? */
bool own_bell(int fd);             /* a pipe of ours, waited for by its edges */

/* pin.c: what statfs(2) says of a name that may be ours. */
struct statfs;
bool own_statfs(const char *path, struct statfs *buf);

/* file.c: what is in it; NULL: it is not ours. */
const char *own_file(const char *path);

#endif
