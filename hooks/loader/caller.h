/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller is who makes the intercepted system call: this process (own_process.c), or a thread of another process
 * that a supervisor serves (hooks/supervise/caller.c). Each thread of the supervisor serves one caller at a time. This
 * code copies the caller's data before it inspects them. caller.c passes each call to the operations for that caller.
 */
#ifndef GPUBPF_HOOKS_BPF_CALLER_H
#define GPUBPF_HOOKS_BPF_CALLER_H

#include <limits.h>
#include <linux/bpf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_SIZE 300              /* bytes of a path in /proc */
#define PASSED LONG_MIN            /* the Linux kernel handles the call afterwards, with an unknown result */

/* one call of bpf(2) */
struct call {
	int cmd;
	union bpf_attr attr; /* copy of what the caller passed; the rest is zero */
	uint64_t user;       /* address of the attribute in the caller */
	unsigned int size;   /* bytes of the attribute in the caller */
	bool is_predicted;   /* the result of pass() is a prediction */
};

/* State of a loader's process; children inherit it. */
struct caller_state {
	atomic_bool loaded;                /* the process has loaded a GPU program */
	atomic_bool next_array_is_session; /* perf buffers opened next belong to a session PERF_EVENT_ARRAY */
	atomic_bool kernel_buffers; /* perf buffers were opened for a kernel array before a GPU program used it */
};
struct caller_state *caller_state(void);

/* Copy from or to the caller's memory: 0 or -EFAULT. */
int caller_read(void *to, uint64_t from, size_t size);
int caller_write(uint64_t to, const void *from, size_t size);
/* Copy a NUL-terminated string from the caller's memory: 0, -EFAULT or -ENAMETOOLONG. */
int caller_text(char *to, uint64_t from, size_t room);

/* caller_proc() writes the path of `what` in the caller's /proc folder, caller_link() that of a descriptor's link.
 * caller_borrow() duplicates a descriptor of the caller into this process, and returns the copy or -errno; end its use
 * by caller_return_fd(). caller_replace() replaces a descriptor of the caller by one of this process. 0 or -errno. */
void caller_proc(const char *what, char path[PROC_SIZE]);
void caller_link(int fd, char path[PROC_SIZE]);
int caller_borrow(int fd);
void caller_return_fd(int borrowed);
int caller_replace(int fd, int by);
/* caller_lend() installs a descriptor of this process in the caller, for a mapping: its number there or -errno.
 * caller_close_lent() closes it there. */
int caller_lend(int fd);
void caller_close_lent(int lent);

/* Translate a path of the caller to one of this process. 0 or -ENAMETOOLONG. */
int caller_path(const char *path, char out[PATH_MAX]);

/* mmap(2) in the caller: its result or -errno */
long caller_mmap(const long arg[6]);

/* Pass the call to the Linux kernel. Returns the kernel's result, and output is in the caller's memory; or PASSED.
 * Where the caller may not create such objects, a supervisor returns a predicted -EPERM instead of PASSED. */
long pass(struct call *c);
/* pass() for the creation of a map of maps. If possible this process creates it and returns its own descriptor. */
long pass_map_of(struct call *c);
/* pass() for a command that this code does not know: a supervisor returns PASSED at once. */
long pass_unknown(int cmd, uint64_t attr, unsigned int size);
/* pass() for perf_event_open(2) of a kprobe at `function`; PASSED: the kernel does not refuse it */
struct perf_event_attr;
long pass_perf(const long arg[6], const struct perf_event_attr *attr, const char *function);

/* pass() for perf_event_open(2) of a uprobe. Returns a descriptor of this process, which is then installed in the
 * caller. */
long pass_uprobe(const long arg[6], const struct perf_event_attr *attr);

/* System calls of this process, not of the caller: 0 or more, or -errno. kernel_bpf() returns -EPERM if the caller
 * lacks the right for the command. kernel_call() is in kernel.c. */
long kernel_call(long nr, const long arg[6]);
long kernel_bpf(int cmd, const void *attr, size_t size);

/* The functions above, for one kind of caller. All are mandatory. */
struct caller_ops {
	struct caller_state *(*state)(void);
	int (*read)(void *to, uint64_t from, size_t size);
	int (*write)(uint64_t to, const void *from, size_t size);
	int (*text)(char *to, uint64_t from, size_t room);
	void (*proc)(const char *what, char path[PROC_SIZE]);
	void (*link)(int fd, char path[PROC_SIZE]);
	int (*borrow)(int fd);
	void (*return_fd)(int borrowed);
	int (*replace)(int fd, int by);
	int (*lend)(int fd);
	void (*close_lent)(int lent);
	int (*path)(const char *path, char out[PATH_MAX]);
	long (*mmap)(const long arg[6]);
	long (*pass)(struct call *c);
	long (*pass_map_of)(struct call *c);
	long (*pass_unknown)(int cmd, uint64_t attr, unsigned int size);
	long (*pass_perf)(const long arg[6], const struct perf_event_attr *attr, const char *function);
	long (*pass_uprobe)(const long arg[6], const struct perf_event_attr *attr);
	long (*bpf)(int cmd, const void *attr, size_t size);
};

extern const struct caller_ops caller_own_process; /* own_process.c: initial operations of caller.c */
/* Replace the operations. The supervisor calls it once, before it has threads. */
void caller_set_ops(const struct caller_ops *ops);

#endif
