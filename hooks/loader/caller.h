/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller is the thread that makes the intercepted system call. It is either a thread of this process
 * (own_process.c), or a thread of another process that a supervisor serves (hooks/supervise/caller.c). Each thread of
 * the supervisor serves one caller at a time. Code that includes this header copies the caller's data before it
 * inspects them. caller.c passes each function call to the operations for that caller.
 */
#ifndef GPUBPF_HOOKS_BPF_CALLER_H
#define GPUBPF_HOOKS_BPF_CALLER_H

#include <limits.h>
#include <linux/bpf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_SIZE 300              /* size of the buffer for a path in /proc */
#define PASSED LONG_MIN            /* result unknown: the Linux kernel handles the call afterwards */

/* one intercepted call of bpf(2) */
struct call {
	int cmd;
	union bpf_attr attr; /* copy of the caller's attribute, filled up with zeros */
	uint64_t user;       /* address of the attribute in the caller's memory */
	unsigned int size;   /* bytes of the caller's attribute */
	bool is_predicted;   /* the result of pass() is a prediction */
};

/* State of a loader's process, which its child processes inherit. */
struct caller_state {
	atomic_bool loaded; /* the process has loaded a GPU program */
	/* perf buffers that the process opens next belong to a session PERF_EVENT_ARRAY */
	atomic_bool next_array_is_session;
	/* perf buffers were opened for an array of the Linux kernel before a GPU program used that array */
	atomic_bool kernel_buffers;
};
struct caller_state *caller_state(void);

/* Copy data from or to the caller's memory. Returns 0 or -EFAULT. */
int caller_read(void *to, uint64_t from, size_t size);
int caller_write(uint64_t to, const void *from, size_t size);
/* Copy a NUL-terminated string from the caller's memory. Returns 0, -EFAULT or -ENAMETOOLONG. */
int caller_text(char *to, uint64_t from, size_t room);

/*
 * Functions on files and descriptors of the caller. caller_proc() writes the path of file `what` in the caller's /proc
 * folder. To get the path of the link for a descriptor, use caller_link().
 *
 * A duplicate of the caller's descriptor in this process is the result of caller_borrow(), or a negative errno value.
 * Release the duplicate with caller_return_fd().
 *
 * To replace a descriptor of the caller by a descriptor of this process, use caller_replace(). It returns 0 or a
 * negative errno value.
 */
void caller_proc(const char *what, char path[PROC_SIZE]);
void caller_link(int fd, char path[PROC_SIZE]);
int caller_borrow(int fd);
void caller_return_fd(int borrowed);
int caller_replace(int fd, int by);
/*
 * caller_lend() installs a descriptor of this process in the caller, so that the caller can map it. Returns its number
 * in the caller, or a negative errno value. caller_close_lent() closes that number in the caller.
 */
int caller_lend(int fd);
void caller_close_lent(int lent);

/* Translate a path of the caller into a path of this process. Returns 0 or -ENAMETOOLONG. */
int caller_path(const char *path, char out[PATH_MAX]);

/* Execute mmap(2) in the caller. Returns its result or a negative errno value. */
long caller_mmap(const long arg[6]);

/*
 * Pass the call to the Linux kernel. Returns the kernel's result after the kernel has written its output to the
 * caller's memory. In a supervisor, the kernel handles the call later, and the result is PASSED. If the caller may not
 * create such objects, the supervisor returns a predicted -EPERM instead.
 */
long pass(struct call *c);
/*
 * Like pass(), for the creation of a map of maps. If possible, this process creates the map and returns its own
 * descriptor.
 */
long pass_map_of(struct call *c);
/* Like pass(), for a command that this code does not know. A supervisor returns PASSED at once. */
long pass_unknown(int cmd, uint64_t attr, unsigned int size);
/*
 * Like pass(), for perf_event_open(2) of a kprobe at `function`. PASSED means that the Linux kernel does not refuse the
 * call.
 */
struct perf_event_attr;
long pass_perf(const long arg[6], const struct perf_event_attr *attr, const char *function);

/*
 * Like pass(), for perf_event_open(2) of a uprobe. Returns a descriptor of this process, which is then installed in the
 * caller.
 */
long pass_uprobe(const long arg[6], const struct perf_event_attr *attr);

/*
 * System calls of this process, not of the caller. They return the result, or a negative errno value. The value -EPERM
 * of kernel_bpf() may mean that the caller does not have the right to use the command. File kernel.c has kernel_call().
 */
long kernel_call(long nr, const long arg[6]);
long kernel_bpf(int cmd, const void *attr, size_t size);

/* The functions above, for one kind of caller. All operations are mandatory. */
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

extern const struct caller_ops caller_own_process; /* own_process.c: the initial operations */
/* Replace the operations. The supervisor calls this once, before it starts threads. */
void caller_set_ops(const struct caller_ops *ops);

#endif
