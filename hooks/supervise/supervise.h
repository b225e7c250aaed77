/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-supervise FILE ARG0 [ARG]... runs FILE in this process. Some system calls of FILE and its children cannot be
 * interposed by a library (static programs, Go). A separate process handles these by seccomp user notification,
 * without privileges or ptrace(2) stops. Calls for a GPU go to the session (hooks/loader), all others to the Linux
 * kernel.
 *
 *   main.c starts FILE and the supervisor, calls.def lists intercepted calls and their handlers.
 *   filter.c has the seccomp filter, answer.c handles the calls, serve.c has the threads that receive notifications.
 *   caller.c accesses memory and descriptors of callers (hooks/loader/caller.h), rights.c predicts the kernel's answers.
 *   inject.c makes the caller execute mmap(2) by ptrace(2): one call per mapping.
 *
 * A calling thread waits for the answer, so its arguments are stable unless another of its threads changes them.
 * Decisions use copies. A call that the Linux kernel then continues (CONTINUE) contains no descriptor that it could
 * mistake for a kernel object, even if the memory has changed.
 */
#ifndef GPUBPF_HOOKS_SUPERVISE_H
#define GPUBPF_HOOKS_SUPERVISE_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

#include "hooks/loader/caller.h"

/* A notification that a thread of the supervisor handles. */
struct notice {
	int listener;
	struct seccomp_notif *call;
	struct process *process; /* the caller's process; looked up on first use */
	bool stopped;            /* inject.c has stopped the thread and also writes the result */
	bool is_file;            /* the result is a descriptor of this process, to be installed in the caller */
};

/* The result of a call: its value, -errno, a descriptor (is_file), or PASSED. */
#define GPUBPF_SUPERVISED(name, select, function) long function(struct notice *n);
#include "calls.def"
long answer(struct notice *n);

/* filter.c. The listener's descriptor, or -errno and *why: the reason of the refusal. */
int filter_install(const char **why);
bool filter_needs_file_calls(void); /* does the kernel lack files that hooks/loader/file.c emulates? */

/* serve.c: runs until the last process with the filter has ended */
void serve(int listener);

/* caller.c */
extern __thread struct notice *now;
bool notice_is_valid(void);
int process_pidfd(void);                /* pidfd of the caller's process, or -errno */
void process_release(struct notice *n); /* after the notification was answered */
/* Does the caller have at least this process's capabilities? *effective receives the caller's capability mask. */
bool caller_has_all_rights(uint64_t *effective);
bool caller_shares_pid_namespace(void); /* are process ids the same in the caller's namespace? */

/* Operations of hooks/loader/caller.h that rights.c and inject.c implement */
long served_pass(struct call *c);
long served_pass_map_of(struct call *c);
long served_pass_unknown(int cmd, uint64_t attr, unsigned int size);
long served_pass_perf(const long arg[6], const struct perf_event_attr *attr, const char *function);
long served_pass_uprobe(const long arg[6], const struct perf_event_attr *attr);
long served_bpf(int cmd, const void *attr, size_t size);
long served_mmap(const long arg[6]);
void served_close_lent(int lent);

/* caller.c: all operations for supervised callers */
extern const struct caller_ops caller_served;

/* inject.c: resume the thread with this result of its call */
void inject_finish(struct notice *n, long result);

/* main.c: write a message to standard error, once */
void say_once(bool *said, const char *text);

#endif
