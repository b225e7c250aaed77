/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Support for loaders that do not know gpubpf. A session handles their bpf(2), perf_event_open(2) and ioctl(2) calls
 * for GPU programs (core/wire/loader.h, core/session/loaders). The Linux kernel handles all other calls unchanged. The
 * file that a descriptor refers to identifies the session object (handle.c). So this code has no table of descriptors,
 * and need not intercept fork(2), dup(2) and close(2).
 *
 * The same code runs in one of two places. The library libgpubpf-bpf.so runs it in the loader's process and interposes
 * libc functions (hooks/preload). If that library cannot be loaded, gpubpf-supervise runs this code in a separate
 * process (hooks/supervise) and intercepts system calls. The functions of caller.h hide the differences.
 *
 * - Dispatch: bpf.c calls map.c, map_fd_values.c, map_adopt.c, prog.c, object.c and pin.c for bpf(2), by commands.def.
 * - Events: perf.c and uprobe.c handle perf_event_open(2) and ioctl(2).
 * - Files: file.c emulates files that libbpf reads before these calls.
 * - Memory: memory.c handles mmap and polling.
 * - Names: pin.c handles the names in the session's folder.
 * - Session: client.c connects to the session, handle.c identifies descriptors.
 * - System calls: kernel.c makes direct system calls.
 * - Callers: caller.c has the functions of caller.h, and own_process.c has their operations for this process.
 *
 * In these files a session object is an object that the session holds. A kernel object (kernel map, kernel program)
 * belongs to the Linux kernel. The session adopts a kernel map when a GPU program refers to it.
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

#define PMU_TYPE 0x6770            /* PMU type of emulated kprobes; libbpf reads it from a file (file.c) */
#define FIELD_END(field) (offsetof(union bpf_attr, field) + sizeof(((union bpf_attr *)0)->field))

/*
 * A command of bpf(2) that no Linux kernel knows. Its argument is the path of a session's socket. It returns 0 if that
 * session's supervisor already supervises the process.
 */
#define SUPERVISED 0x67707562

/* -- client.c -- */
/* An answer of the session, valid until answer_close(). */
struct answer {
	struct gpubpf_payload payload;
	struct gpubpf_packet packet;
	void *buffer;
};
/*
 * Send a request. Returns the session's result, which is 0 or a negative errno value, or -EOPNOTSUPP without a session.
 * The answer is in a->payload; close it with answer_close(). The memory of w is freed in all cases.
 */
int ask(uint32_t op, struct gpubpf_writer *w, struct answer *a);
void answer_close(struct answer *a);
/*
 * Send a request with descriptor `given` (-1: none), whose answer is a descriptor of a session object. Returns that
 * descriptor or a negative errno value.
 */
int request_handle(uint32_t op, struct gpubpf_writer *w, int given);
bool have_session(void);

/* -- handle.c -- */
/*
 * The session object that a descriptor refers to. `id` is its number, or 0 if it is not a session object of the
 * requested kind. For a map, `key` and `value` are the sizes in bytes. If `pipe` is true, the descriptor is a pipe and
 * can be polled.
 */
struct handle {
	uint32_t id, key, value;
	uint32_t of; /* kind of the objects in the values of a map of objects, as in core/wire/loader.h */
	bool pipe;
};
struct handle handle_of(int fd, enum gpubpf_bpf_kind kind);        /* for a descriptor of the caller */
struct handle handle_of_own_fd(int fd, enum gpubpf_bpf_kind kind); /* for a descriptor of this process */
bool is_open(int fd);                                              /* is fd an open descriptor of the caller? */

/* -- commands: they return a result of bpf(2), a negative errno value, or PASSED -- */
#define GPUBPF_COMMAND(number, name, function, ways, meaning) long function(struct call *c);
#include "commands.def"
/* attr: address of the attribute in the caller's memory */
long bpf_call(int cmd, uint64_t attr, unsigned int size);
bool bpf_may_block(int cmd);  /* is the command only passed to the Linux kernel, so that it may block? */
bool bpf_returns_fd(int cmd); /* is a non-negative result of the command a file descriptor? */
/* copy.c: write a member of the caller's attribute. Returns 0 or -EFAULT. */
#define GIVE_BACK(c, field, value) give_back(c, offsetof(union bpf_attr, field), &(__typeof__((c)->attr.field)){ value }, \
					     sizeof((c)->attr.field))
int give_back(const struct call *c, size_t at, const void *value, size_t size);
/*
 * Returns a malloc'd copy of `size` bytes at address `from` in the caller. On failure returns NULL and stores -EFAULT
 * or -ENOMEM in *err.
 */
void *copied(uint64_t from, size_t size, int *err);

/*
 * map_adopt.c: returns the session's number of the map that the caller's descriptor refers to, or a negative errno
 * value. If it is a kernel map, the session first adopts it: the session creates a session map with the same contents.
 */
int64_t map_taken(int fd);
/*
 * Adopt the kernel map that descriptor `fd` of this process refers to. Replaces all descriptors of the caller for that
 * kernel map. Returns a descriptor of the session map, or a negative errno value.
 */
int map_adopt_fd(int fd, const struct bpf_map_info *info);
bool map_is_adopted(uint32_t was); /* has the session adopted kernel map number `was` from any process? */
/*
 * Returns a descriptor of the session map that replaces kernel map number `was`. Returns a negative errno value if
 * there is none, or if the kernel map stays in use.
 */
int map_adopted_fd(uint32_t was);
/*
 * Call before the caller maps fd. If fd is a kernel ring buffer that the session adopted, replaces fd by the session's
 * ring buffer. If the session has not adopted it, reports the mapping to the session. Then the kernel's ring buffer
 * stays in use even if the session adopts it later.
 */
void note_ring_mapped(int fd);
int map_info(int fd, struct bpf_map_info *info); /* get information on the map of a descriptor of this process */
/*
 * kernel_map_of_session() returns a descriptor of the kernel map that kernel programs use in place of the session map
 * `fd`. The caller of the function closes it. On failure it returns a negative errno value.
 *
 * note_map_consumer() reports that a kernel program pops values of the map. This matters only for a queue or a stack.
 */
int kernel_map_of_session(int fd);
void note_map_consumer(int fd);
/*
 * map.c: session_map_create() creates a session map and returns its descriptor, or a negative errno value. Argument
 * `btf` is the number of the map's BTF in the session, or 0. Argument `like` is, for a map of maps, the number of a
 * session map like its elements, or 0. Argument `was` is the number of the kernel map that the session map replaces, or
 * 0. Argument `given` is a descriptor of a kernel map (-1: none), whose relation to the new map is `as`.
 *
 * The caller's command MAP_CREATE is executed by session_map_create_requested().
 */
int session_map_create(const union bpf_attr *attr, uint32_t btf, uint32_t like, uint32_t was, int given,
		       enum gpubpf_bpf_relation as);
int session_map_create_requested(const union bpf_attr *attr, uint32_t like);
/*
 * session_map_elem() executes a command on an element of a session map. Key and value are in this process's memory.
 * map_put() stores an element.
 */
int session_map_elem(struct handle map, uint32_t cmd, const void *key, void *value, uint64_t flags);
int map_put(struct handle map, const void *key, const void *value);
int session_map_freeze(uint32_t map);

/* map_fd_values.c: maps of maps and of programs */
bool is_map_of_maps(uint32_t type);
bool is_named(uint32_t type);
long map_create_of_maps(struct call *c);
/*
 * Returns the session's number of the object that `fd` refers to; `fd` is a descriptor in a value of the map. If it is
 * a kernel map, the session adopts it first. Returns 0 if it is neither a session object nor a map.
 */
uint32_t number_in(struct handle map, int fd);
/*
 * If `map` is a kernel map and the value refers to a session object, let the session adopt the map. Returns true if the
 * session adopted it.
 */
bool adopt_for_value(int map, uint64_t value);
/*
 * Function find_inner_like() returns the number of a session map that is like the elements of the kernel map `from`. It
 * returns 0 if `from` has no element. Then the session uses the definition that GPUBPF_BPF_INNER sent when the map was
 * created. The caller closes *own (-1: none).
 *
 * To copy the contents of `from` to the session map `to`, use copy_descriptor_values().
 */
uint32_t find_inner_like(int from, const struct bpf_map_info *info, int *own);
int copy_descriptor_values(int from, int to, const struct bpf_map_info *info);
/*
 * object.c: btf_adopt() returns the session's number of the BTF that the caller's descriptor refers to, or a negative
 * errno value. It copies BTF of the Linux kernel to the session. The session keeps the copy while *own (-1: none) is
 * open, or while an object uses it. The caller closes *own. btf_copy() does the same for a descriptor of this process.
 */
int64_t btf_adopt(int fd, int *own);
bool kernel_map(int fd, struct bpf_map_info *info); /* is the caller's descriptor a kernel map? if so, fills *info */
int64_t btf_copy(int fd, int *own);

/*
 * perf.c: returns the Linux kernel's type number of a PMU, or 0 if the kernel does not have the PMU. The function reads
 * the number from the file `type` and caches it in *known.
 */
uint32_t kernel_pmu(const char *type, uint32_t *known);
long perf_event_open_call(const long arg[6]);
bool is_perf_request(unsigned long request);
bool perf_ioctl(int fd, unsigned long request, long arg, int *result);

/*
 * uprobe.c: note_uprobe_opened() records the kernel event that was opened last. `event` is a descriptor of this
 * process.
 *
 * When a GPU program is attached, uprobe_adopt() replaces the caller's event by the session's probe. The probe is at
 * the GPU kernel that has the name of the probed function. Returns 0 or a negative errno value.
 */
struct perf_event_attr;
bool is_uprobe(const struct perf_event_attr *attr);
void note_uprobe_opened(int event, const struct perf_event_attr *attr);
int uprobe_adopt(int event);

/* memory.c */
bool session_mmap(const long arg[6], long *result);
bool is_map_mapped_writable(uint32_t map); /* does any caller have a writable mapping of the session map? */
bool is_session_pipe(int fd);              /* is fd a session pipe, which must be polled edge-triggered? */
/* Returns the bytes of data of the ring buffer that the caller's descriptor refers to, or a negative errno value. */
long session_ring_size(int fd);

/*
 * pin.c: make the session's folder look like a BPF file system in the result of statfs(2). Returns false for another
 * folder.
 */
struct statfs;
bool adapt_statfs(const char *path, struct statfs *buf);

/* file.c: returns the contents of the file at `path` if the file is emulated, else NULL. */
const char *emulated_file(const char *path);

#endif
