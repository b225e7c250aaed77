/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-supervise FILE ARG0 [ARG]... runs FILE in this process. A library cannot interpose some system calls of FILE
 * and its children, such as calls of static programs and of Go programs. A separate process handles these calls by
 * seccomp user notification, without privileges or ptrace(2) stops. Calls for a GPU go to the session (hooks/loader),
 * all others to the Linux kernel.
 *
 * File main.c starts FILE and the supervisor. File calls.def lists the intercepted calls and their handlers. File
 * filter.c has the seccomp filter. File serve.c has the threads that receive notifications, and answer.c handles the
 * calls. File caller.c accesses memory and descriptors of callers (hooks/loader/caller.h). File rights.c predicts the
 * Linux kernel's answers. File inject.c makes the caller execute mmap(2) by ptrace(2), one call per mapping.
 *
 * A calling thread waits for the answer, so its arguments are stable unless another thread of its process changes them.
 * Therefore decisions use copies of the arguments. The Linux kernel reads the arguments again when it continues a call
 * (CONTINUE). Even if they have changed, no session descriptor in them is a kernel object.
 */
#ifndef GPUBPF_HOOKS_SUPERVISE_H
#define GPUBPF_HOOKS_SUPERVISE_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

#include "hooks/loader/caller.h"

/* A seccomp notification that a thread of the supervisor handles. */
struct notice {
	int listener;
	struct seccomp_notif *call;
	struct process *process; /* the caller's process; found when it is first needed */
	bool stopped;            /* inject.c has stopped the thread, and also writes the call's result */
	bool is_file;            /* the result is a descriptor of this process, which must be installed in the caller */
};

/* The functions return the result of the call: its value, a negative errno value, a descriptor (is_file), or PASSED. */
#define GPUBPF_SUPERVISED(name, select, function) long function(struct notice *n);
#include "calls.def"
long answer(struct notice *n);

/* filter.c: returns the listener's descriptor, or a negative errno value with the reason in *why. */
int filter_install(const char **why);
bool filter_needs_file_calls(void); /* does the Linux kernel lack files that hooks/loader/file.c emulates? */

/* serve.c: runs until the last process with the filter has ended */
void serve(int listener);

/* caller.c */
extern __thread struct notice *now;
bool notice_is_valid(void);
int process_pidfd(void);                /* returns the pidfd of the caller's process, or a negative errno value */
void process_release(struct notice *n); /* call after the notification was answered */
/*
 * Returns true if the caller has at least the capabilities of this process. *effective receives the mask of the
 * caller's capabilities.
 */
bool caller_has_all_rights(uint64_t *effective);
bool caller_shares_pid_namespace(void); /* is the caller's process in the PID namespace of this process? */

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

/* inject.c: resume the stopped thread, with `result` as the result of its call */
void inject_finish(struct notice *n, long result);

/* main.c: write the message to standard error, unless *said is already true */
void say_once(bool *said, const char *text);

#endif
