/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caller is this process itself (own_process.c) or a thread of another process that a supervisor serves
 * (hooks/supervise/caller.c). Each thread of the supervisor serves one caller at a time. Data of the caller is copied
 * before it is inspected. caller.c passes each call to the operations of the caller.
 */
#ifndef GPUBPF_HOOKS_BPF_CALLER_H
#define GPUBPF_HOOKS_BPF_CALLER_H

#include <limits.h>
#include <linux/bpf.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROC_SIZE 300              /* of a name in /proc */
#define PASSED LONG_MIN            /* the Linux kernel handles the call afterwards, and its result stays unknown here */

/* one call of bpf(2) */
struct call {
	int cmd;
	union bpf_attr attr;           /* the part that the caller passed, the rest is zero */
	uint64_t user;                 /* its address in the caller, */
	unsigned int size;             /* and its size in bytes */
	bool is_predicted;                 /* pass() predicted the kernel's answer */
};

/* State of a loader's process; children inherit it. */
struct caller_state {
	atomic_bool loaded;            /* it has loaded a GPU program */
	atomic_bool next_array_is_session;     /* next buffers belong to a session PERF_EVENT_ARRAY */
	atomic_bool kernel_buffers;    /* some buffers were opened for a kernel array, before a GPU program named it */
};
struct caller_state *caller_state(void);

/* Memory of the caller: 0 or -EFAULT. */
int caller_read(void *to, uint64_t from, size_t size);
int caller_write(uint64_t to, const void *from, size_t size);
/* A NUL-terminated string: 0, -EFAULT, -ENAMETOOLONG. */
int caller_text(char *to, uint64_t from, size_t room);

/* The function caller_proc() forms a path in the caller's /proc folder, and caller_link() that of a descriptor. A
 * descriptor of the caller is duplicated into this process by caller_borrow(), which returns -errno on failure.
 * Return it with caller_return_fd(). A descriptor of this process replaces the caller's by caller_replace(), which
 * returns 0 or -errno. */
void caller_proc(const char *what, char path[PROC_SIZE]);
void caller_link(int fd, char path[PROC_SIZE]);
int caller_borrow(int fd);
void caller_return_fd(int borrowed);
int caller_replace(int fd, int by);
/* Install a descriptor of this process in the caller, for a mapping: its number or -errno. And close it there. */
int caller_lend(int fd);
void caller_close_lent(int lent);

/* Translate a path of the caller to one of this process. 0 or -ENAMETOOLONG. */
int caller_path(const char *path, char out[PATH_MAX]);

/* mmap(2) in the caller: its result or -errno */
long caller_mmap(const long arg[6]);

/* Pass the call to the Linux kernel: returns its result, or PASSED. A result other than PASSED or a descriptor has
 * been written to the caller's memory. If the result would stay unknown, -EPERM is predicted: the caller may not
 * create such objects. */
long pass(struct call *c);
/* The same for a map of maps. This process creates it where possible and returns its own descriptor. */
long pass_map_of(struct call *c);
/* The same for an unknown call: PASSED at once. */
long pass_unknown(int cmd, uint64_t attr, unsigned int size);
/* perf_event_open(2) for a kprobe of that function; PASSED is not a refusal */
struct perf_event_attr;
long pass_perf(const long arg[6], const struct perf_event_attr *attr, const char *function);

/* The same for a uprobe: returns a descriptor of this process, which the caller gets. */
long pass_uprobe(const long arg[6], const struct perf_event_attr *attr);

/* System calls by this process: 0 or more, or -errno. A bpf(2) call that needs a right that the caller lacks fails with
 * -EPERM. kernel_call() is in kernel.c. */
long kernel_call(long nr, const long arg[6]);
long kernel_bpf(int cmd, const void *attr, size_t size);

/* The functions above, for one way to reach a caller. All are mandatory. */
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

extern const struct caller_ops caller_own_process;   /* own_process.c: what caller.c uses from the start */
/* Serve other callers from here on. The supervisor calls it once, before it has threads. */
void caller_set_ops(const struct caller_ops *ops);

#endif
