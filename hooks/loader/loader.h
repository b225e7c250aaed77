/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Support for loaders that do not know gpubpf. A session handles their bpf(2), perf_event_open(2) and ioctl(2) calls
 * for GPU programs (core/wire/loader.h, core/session/loaders). The Linux kernel handles all others unchanged. A descriptor itself
 * identifies its kind, so no tables are needed, and fork(2), dup(2) and close(2) need no interception.
 *
 * The same code runs in one of two places. In the loader's process it is libgpubpf-bpf.so, which interposes libc
 * functions (hooks/preload). Where that library cannot be loaded, gpubpf-supervise runs it in a separate process
 * (hooks/supervise) and intercepts system calls. The differences are hidden by caller.h.
 *
 *   bpf.c dispatches bpf(2) by commands.def, except: map.c, map_fd_values.c, map_adopt.c, prog.c, object.c.
 *   perf.c and uprobe.c handle perf_event_open(2) and ioctl(2).
 *   file.c emulates files that libbpf reads before these calls.
 *   memory.c handles mmap and polling, pin.c has the names in the session's folder.
 *   client.c connects to the session, handle.c identifies descriptors, kernel.c makes direct system calls.
 *   caller.c has the functions of caller.h, and own_process.c their operations for this process.
 *
 * In these files a session object is one that the session holds; a kernel object belongs to the Linux kernel. The
 * session adopts a kernel map when a GPU program refers to it.
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

#define PMU_TYPE 0x6770            /* type of the kprobe PMU if the kernel lacks one; libbpf reads and passes it */
#define FIELD_END(field) (offsetof(union bpf_attr, field) + sizeof(((union bpf_attr *)0)->field))

/* A command of bpf(2) with a session's path. Its supervisor returns 0, no kernel does: the process is supervised
 * already. */
#define SUPERVISED 0x67707562

/* -- client.c -- */
/* The session's answer, while it is open. */
struct answer {
	struct gpubpf_payload payload;
	struct gpubpf_packet packet;
	void *buffer;
};
/* Send a request. Returns 0 or -errno as the session answered, or -EOPNOTSUPP without a session. The answer is in
 * a->payload; close it with answer_close(). Always finishes w. */
int ask(uint32_t op, struct gpubpf_writer *w, struct answer *a);
void answer_close(struct answer *a);
/* Request a handle, passing a descriptor (-1: none). Returns the handle's descriptor or -errno. */
int request_handle(uint32_t op, struct gpubpf_writer *w, int given);
bool have_session(void);

/* -- handle.c -- */
/* A session object behind a descriptor: its number, or 0 if it is none of that kind; for maps also key and value
 * sizes in bytes. A pipe can be polled. */
struct handle {
	uint32_t id, key, value;
	uint32_t of;               /* kind of objects that the values name, as in core/wire/loader.h */
	bool pipe;
};
struct handle handle_of(int fd, enum gpubpf_bpf_kind kind);     /* a descriptor of the caller */
struct handle handle_of_own_fd(int fd, enum gpubpf_bpf_kind kind);    /* a descriptor of this process */
bool is_open(int fd);                                           /* is it an open descriptor of the caller? */

/* -- commands: return a result of bpf(2), -errno, or PASSED -- */
#define GPUBPF_COMMAND(number, name, function, ways, meaning) long function(struct call *c);
#include "commands.def"
/* attr is an address in the caller */
long bpf_call(int cmd, uint64_t attr, unsigned int size);
bool bpf_may_block(int cmd);            /* does the command only forward, and maybe block? */
bool bpf_returns_fd(int cmd); /* is a non-negative result of the command a descriptor? */
/* copy.c: write a member of the caller's attribute. 0 or -EFAULT. */
#define GIVE_BACK(c, field, value) give_back(c, offsetof(union bpf_attr, field), &(__typeof__((c)->attr.field)){ value }, \
					     sizeof((c)->attr.field))
int give_back(const struct call *c, size_t at, const void *value, size_t size);
/* A malloc'd copy of bytes of the caller; NULL and *err: -EFAULT or -ENOMEM. */
void *copied(uint64_t from, size_t size, int *err);

/* map_adopt.c: the session number of the map behind the caller's descriptor. The session adopts a kernel map with its
 * contents. Returns -errno on failure. */
int64_t map_taken(int fd);
/* The session map for a kernel map, which is a descriptor of this process; a descriptor or -errno. Replaces all
 * descriptors of the caller that refer to the kernel map. */
int map_adopt_fd(int fd, const struct bpf_map_info *info);
bool map_is_adopted(uint32_t was);      /* has the session adopted the kernel map with this number, in any process? */
/* The session map that replaces the kernel map with this number; -errno if the kernel map is the right one. */
int map_adopted_fd(uint32_t was);
/* The caller is about to map it. A kernel ring buffer that was replaced becomes the session's; otherwise its records
 * stay there. */
void note_ring_mapped(int fd);
int map_info(int fd, struct bpf_map_info *info); /* info for a descriptor of this process */
/* The kernel map that kernel programs use in place of this session map, owned by the caller, or -errno. Report by
 * note_map_consumer() that a kernel program consumes values of the caller's map; it counts only for a queue or a stack. */
int kernel_map_of_session(int fd);
void note_map_consumer(int fd);
/* map.c: create a session map and return its descriptor or -errno. The number of its BTF is `btf`. A map like its
 * elements has the number `like`, or 0. It was the kernel map `was`. The descriptor `given` is a kernel map (-1:
 * none), and `as` its relation to the new map. A caller's MAP_CREATE uses session_map_create_requested(). */
int session_map_create(const union bpf_attr *attr, uint32_t btf, uint32_t like, uint32_t was, int given, enum gpubpf_bpf_relation as);
int session_map_create_requested(const union bpf_attr *attr, uint32_t like);
/* Execute a command on a session map, with key and value in this process's memory; store an element. */
int session_map_elem(struct handle map, uint32_t cmd, const void *key, void *value, uint64_t flags);
int map_put(struct handle map, const void *key, const void *value);
int session_map_freeze(uint32_t map);

/* map_fd_values.c: maps of maps and of programs */
bool is_map_of_maps(uint32_t type);
bool is_named(uint32_t type);
long map_create_of_maps(struct call *c);
/* The session number of the object behind a descriptor in a value of the map; 0: not a session object. A kernel map
 * is adopted. */
uint32_t number_in(struct handle map, int fd);
/* Is it a kernel map, and the value a session object? Then the session adopts the map. */
bool adopt_for_value(int map, uint64_t value);
/* The function find_inner_like() returns a session map like the map's elements; close *own later (-1: none). It returns 0
 * if the session knows. The function copy_descriptor_values() copies the contents to the session map. */
uint32_t find_inner_like(int from, const struct bpf_map_info *info, int *own);
int copy_descriptor_values(int from, int to, const struct bpf_map_info *info);
/* object.c: the session number of the BTF behind the caller's descriptor, or -errno. Kernel BTF is copied to the
 * session, which keeps it while *own (-1: none) or an object that uses it is open. The caller closes *own. And
 * btf_copy() takes a descriptor of this process. */
int64_t btf_adopt(int fd, int *own);
bool kernel_map(int fd, struct bpf_map_info *info); /* is the caller's descriptor a kernel map? If so, fills info */
int64_t btf_copy(int fd, int *own);

/* perf.c. The kernel's number of a PMU, read from the file `type`; 0: none. */
uint32_t kernel_pmu(const char *type, uint32_t *known);
long perf_event_open_call(const long arg[6]);
bool is_perf_request(unsigned long request);
bool perf_ioctl(int fd, unsigned long request, long arg, int *result);

/* uprobe.c: record with note_uprobe_opened() a kernel event, a descriptor of this process. Later uprobe_adopt() replaces
 * the caller's event by the session's probe of the GPU kernel that the function names, and returns 0 or -errno. */
struct perf_event_attr;
bool is_uprobe(const struct perf_event_attr *attr);
void note_uprobe_opened(int event, const struct perf_event_attr *attr);
int uprobe_adopt(int event);

/* memory.c */
bool session_mmap(const long arg[6], long *result);
bool is_map_mapped_writable(uint32_t map); /* has a caller mapped the session map writable? */
bool is_session_pipe(int fd);             /* a session pipe, to be polled edge-triggered */

/* pin.c: adapts the result of statfs(2) for a name that the session may own. */
struct statfs;
bool adapt_statfs(const char *path, struct statfs *buf);

/* file.c: contents of an emulated file, or NULL. */
const char *emulated_file(const char *path);

#endif
