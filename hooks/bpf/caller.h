/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who called: this process itself (own.c), or a thread of another that a supervisor answers (hooks/supervise/caller.c), one
 * at a time in each thread of the supervisor's. What comes from there is copied before it is looked at.
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
#define PASSED LONG_MIN            /* the Linux kernel is to answer, when we are done, and nobody here learns what */

/* one call of bpf(2) */
struct call {
	int cmd;
	union bpf_attr attr;           /* as much of it as came, else zeros */
	uint64_t user;                 /* the caller's, of */
	unsigned int size;             /* bytes */
	bool foreseen;                 /* pass() said what the Linux kernel would */
};

/* What is known of a loader's process; children begin with it */
struct caller_state {
	atomic_bool loaded;            /* a program for a GPU */
	atomic_bool array_is_ours;     /* the PERF_EVENT_ARRAY whose buffers are opened next */
	atomic_bool kernel_buffers;    /* some were opened for one of the kernel's, before any program for a GPU named it */
};
struct caller_state *caller_state(void);

/* Memory: 0 or -EFAULT. */
int caller_read(void *to, uint64_t from, size_t size);
int caller_write(uint64_t to, const void *from, size_t size);
/* A string with its end: 0, -EFAULT, -ENAMETOOLONG. */
int caller_text(char *to, uint64_t from, size_t room);

/* Descriptors: what is in its folder of /proc, and there the name of one; one of this process's for it, to be given back, or -errno; and make it be another,
 * of this process's: 0 or -errno. */
void caller_proc(const char *what, char path[PROC_SIZE]);
void caller_link(int fd, char path[PROC_SIZE]);
int caller_borrow(int fd);
void caller_give_back(int borrowed);
int caller_replace(int fd, int by);
/* A descriptor of this process's becomes one of the caller's, for a mapping: its number or -errno. And it is closed there. */
int caller_lend(int fd);
void caller_take_back(int lent);

/* What the caller calls path, as this process does. 0 or -ENAMETOOLONG. */
int caller_path(const char *path, char out[PATH_MAX]);

/* mmap(2) in the caller: its result or -errno */
long caller_mmap(const long arg[6]);

/* The Linux kernel, for the caller: what it answers, or PASSED. A result that is no PASSED and no descriptor is in the caller's
 * memory. Where the answer would be told to nobody, -EPERM is foreseen: the caller may not make such objects. */
long pass(struct call *c);
/* The same of a map of maps, which this process makes where it may: its own descriptor. */
long pass_map_of(struct call *c);
/* The same of a call that nobody here knows: PASSED at once. */
long pass_unknown(int cmd, uint64_t attr, unsigned int size);
/* perf_event_open(2) of a kprobe of that function; PASSED is no refusal */
struct perf_event_attr;
long pass_perf(const long arg[6], const struct perf_event_attr *attr, const char *function);

/* The same of a uprobe: a result is this process's own descriptor, or one that the caller is given for it. */
long pass_uprobe(const long arg[6], const struct perf_event_attr *attr);

/* The Linux kernel, for us: 0 or more, or -errno. What would take a right that the caller has not is -EPERM. */
long kernel_call(long nr, const long arg[6]);
long kernel_bpf(int cmd, const void *attr, size_t size);

#endif
