/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Support for loaders that do not know gpubpf. A session handles their bpf(2), perf_event_open(2) and ioctl(2) calls
 * for GPU programs (core/wire/loader.h, core/session/loaders). The Linux kernel handles all others unchanged. The file
 * behind a descriptor says which session object it is (handle.c). So this code has no table of descriptors, and need
 * not intercept fork(2), dup(2) and close(2).
 *
 * The same code runs in one of two places. libgpubpf-bpf.so runs it in the loader's process and interposes libc
 * functions (hooks/preload). Where that library cannot be loaded, gpubpf-supervise runs it in a separate process
 * (hooks/supervise) and intercepts system calls. caller.h hides the differences.
 *
 *   bpf.c dispatches bpf(2) by commands.def to map.c, map_fd_values.c, map_adopt.c, prog.c, object.c and pin.c.
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

#define PMU_TYPE 0x6770            /* PMU type of emulated kprobes, which libbpf reads (file.c) and passes */
#define FIELD_END(field) (offsetof(union bpf_attr, field) + sizeof(((union bpf_attr *)0)->field))

/* A command of bpf(2), with the path of a session's socket, that no kernel knows. It returns 0 if that session's
 * supervisor already supervises the process. */
#define SUPERVISED 0x67707562

/* -- client.c -- */
/* The session's answer, until answer_close(). */
struct answer {
	struct gpubpf_payload payload;
	struct gpubpf_packet packet;
	void *buffer;
};
/* Send a request. Returns the session's result, 0 or -errno, or -EOPNOTSUPP without a session. The answer is in
 * a->payload; close it with answer_close(). Frees the memory of w in any case. */
int ask(uint32_t op, struct gpubpf_writer *w, struct answer *a);
void answer_close(struct answer *a);
/* Send a request whose answer is a handle, with descriptor `given` (-1: none). Returns the handle's descriptor or
 * -errno. */
int request_handle(uint32_t op, struct gpubpf_writer *w, int given);
bool have_session(void);

/* -- handle.c -- */
/* The session object behind a descriptor. id: its number, 0 if it is no session object of the requested kind. key,
 * value: sizes in bytes, of a map. A descriptor that is a pipe can be polled. */
struct handle {
	uint32_t id, key, value;
	uint32_t of; /* kind of the objects in a map's values, as in core/wire/loader.h */
	bool pipe;
};
struct handle handle_of(int fd, enum gpubpf_bpf_kind kind);        /* a descriptor of the caller */
struct handle handle_of_own_fd(int fd, enum gpubpf_bpf_kind kind); /* a descriptor of this process */
bool is_open(int fd);                                              /* is it an open descriptor of the caller? */

/* -- commands: return a result of bpf(2), -errno, or PASSED -- */
#define GPUBPF_COMMAND(number, name, function, ways, meaning) long function(struct call *c);
#include "commands.def"
/* attr: address in the caller */
long bpf_call(int cmd, uint64_t attr, unsigned int size);
bool bpf_may_block(int cmd);  /* does this code only pass the command on, so that it may block? */
bool bpf_returns_fd(int cmd); /* is a non-negative result of the command a descriptor? */
/* copy.c: write a member of the caller's attribute. 0 or -EFAULT. */
#define GIVE_BACK(c, field, value) give_back(c, offsetof(union bpf_attr, field), &(__typeof__((c)->attr.field)){ value }, \
					     sizeof((c)->attr.field))
int give_back(const struct call *c, size_t at, const void *value, size_t size);
/* Copy `size` bytes of the caller at `from`; malloc'd. NULL: *err is -EFAULT or -ENOMEM. */
void *copied(uint64_t from, size_t size, int *err);

/* map_adopt.c: the session's number of the map behind the caller's descriptor, or -errno. If it is a kernel map, the
 * session first adopts it: it creates a session map with the same contents. */
int64_t map_taken(int fd);
/* Adopt the kernel map `fd`, a descriptor of this process: a descriptor of the session map, or -errno. Replaces all
 * descriptors of the caller that refer to the kernel map. */
int map_adopt_fd(int fd, const struct bpf_map_info *info);
bool map_is_adopted(uint32_t was); /* has the session adopted kernel map `was`, from any process? */
/* A descriptor of the session map that replaces kernel map `was`; -errno if the kernel map stays in use. */
int map_adopted_fd(uint32_t was);
/* The caller is about to map fd. If it is a kernel ring buffer that the session adopted, replaces it by the session's.
 * Otherwise records stay in the kernel's ring buffer from now on. */
void note_ring_mapped(int fd);
int map_info(int fd, struct bpf_map_info *info); /* info for a descriptor of this process */
/* kernel_map_of_session() returns the kernel map that kernel programs use in place of the session map `fd`, to be
 * closed by the caller, or -errno. note_map_consumer() reports that a kernel program pops values of the map; it
 * matters only for a queue or a stack. */
int kernel_map_of_session(int fd);
void note_map_consumer(int fd);
/* map.c: session_map_create() creates a session map and returns its descriptor or -errno. btf: number of its BTF. like:
 * number of a session map like its elements, or 0. was: number of the kernel map that it replaces, or 0. given:
 * descriptor of a kernel map (-1: none), whose relation to the new map is `as`. session_map_create_requested() is for
 * the caller's MAP_CREATE. */
int session_map_create(const union bpf_attr *attr, uint32_t btf, uint32_t like, uint32_t was, int given,
		       enum gpubpf_bpf_relation as);
int session_map_create_requested(const union bpf_attr *attr, uint32_t like);
/* session_map_elem() executes an element command on a session map, with key and value in this process's memory.
 * map_put() stores an element. */
int session_map_elem(struct handle map, uint32_t cmd, const void *key, void *value, uint64_t flags);
int map_put(struct handle map, const void *key, const void *value);
int session_map_freeze(uint32_t map);

/* map_fd_values.c: maps of maps and of programs */
bool is_map_of_maps(uint32_t type);
bool is_named(uint32_t type);
long map_create_of_maps(struct call *c);
/* The session's number of the object behind `fd`, a descriptor in a value of the map. A kernel map is adopted first. 0:
 * neither a session object nor a map. */
uint32_t number_in(struct handle map, int fd);
/* If `map` is a kernel map and the value refers to a session object, the session adopts the map. Returns whether. */
bool adopt_for_value(int map, uint64_t value);
/* find_inner_like() returns the number of a session map like the elements of the kernel map `from`; 0: the session
 * knows one. The caller closes *own (-1: none). copy_descriptor_values() copies the contents of `from` to the session
 * map `to`. */
uint32_t find_inner_like(int from, const struct bpf_map_info *info, int *own);
int copy_descriptor_values(int from, int to, const struct bpf_map_info *info);
/* object.c: btf_adopt() returns the session's number of the BTF behind the caller's descriptor, or -errno. It copies
 * BTF of the kernel to the session, which holds the copy while *own (-1: none) or an object that uses it is open. The
 * caller closes *own. btf_copy() does the same for a descriptor of this process. */
int64_t btf_adopt(int fd, int *own);
bool kernel_map(int fd, struct bpf_map_info *info); /* is the caller's descriptor a kernel map? fills *info */
int64_t btf_copy(int fd, int *own);

/* perf.c: the kernel's type number of a PMU, read from the file `type` and cached in *known; 0: the kernel has none. */
uint32_t kernel_pmu(const char *type, uint32_t *known);
long perf_event_open_call(const long arg[6]);
bool is_perf_request(unsigned long request);
bool perf_ioctl(int fd, unsigned long request, long arg, int *result);

/* uprobe.c: note_uprobe_opened() records the kernel event that was opened last, a descriptor of this process. When a
 * GPU program is attached, uprobe_adopt() replaces the caller's event by the session's probe. The probe is at the GPU
 * kernel with the name of the probed function. 0 or -errno. */
struct perf_event_attr;
bool is_uprobe(const struct perf_event_attr *attr);
void note_uprobe_opened(int event, const struct perf_event_attr *attr);
int uprobe_adopt(int event);

/* memory.c */
bool session_mmap(const long arg[6], long *result);
bool is_map_mapped_writable(uint32_t map); /* has a caller mapped the session map writable? */
bool is_session_pipe(int fd);              /* is it a session pipe, to be polled edge-triggered? */

/* pin.c: makes the session's folder look like a BPF file system in the result of statfs(2). False: another folder. */
struct statfs;
bool adapt_statfs(const char *path, struct statfs *buf);

/* file.c: contents of the file at `path` if it is emulated, else NULL. */
const char *emulated_file(const char *path);

#endif
