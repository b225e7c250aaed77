/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf-supervise FILE ARG0 [ARG]...: FILE in this process, with system calls of it and its children that a library cannot
 * stand before (static programs, Go's) answered by a process beside it, by seccomp's user notification: no privileges, no
 * ptrace(2) stops. What is for a GPU goes to the session (hooks/bpf), all else on to the Linux kernel.
 *
 *   main.c     FILE, and the process beside it       calls.def  which calls, and what answers them
 *   filter.c   the filter that sends them here       answer.c   what each comes to
 *   serve.c    threads that receive them             caller.c   memory and descriptors of who called (hooks/bpf/caller.h)
 *   rights.c   what the Linux kernel would say       inject.c   mmap(2) in the caller, by ptrace(2): a call a mapping
 *
 * A thread that called waits until it is answered, so what it called with stays unless another thread of its own changes it.
 * Whose call it is is decided by what was copied; and what the Linux kernel is then left to answer (CONTINUE) names no
 * descriptor that it would take for one of its own, whatever the memory has become.
 */
#ifndef GPUBPF_HOOKS_SUPERVISE_H
#define GPUBPF_HOOKS_SUPERVISE_H

#include <linux/seccomp.h>
#include <stdbool.h>
#include <sys/types.h>

#include "hooks/bpf/caller.h"

/* One notification, while it is answered */
struct notice {
	int listener;
	struct seccomp_notif *call;
	struct process *process;       /* looked up when first needed */
	bool stopped;                  /* by inject.c: its result is put there */
	bool is_file;                  /* the result is a descriptor of ours, for the caller */
};

/* What a call comes to: its result, -errno, a descriptor (is_file), or PASSED */
#define GPUBPF_SUPERVISED(name, select, function) long function(struct notice *n);
#include "calls.def"
long answer(struct notice *n);

/* filter.c. The listener's descriptor, or -errno and *why: what was refused. */
int filter_install(const char **why);
bool filter_wants_files(void);     /* are files of the Linux kernel's missing (hooks/bpf/file.c)? */

/* serve.c: until the last process with the filter is gone */
void serve(int listener);

/* caller.c */
extern __thread struct notice *now;
bool notice_is_valid(void);
int process_pidfd(void);           /* -errno */
void process_let_go(struct notice *n); /* when it is answered */
/* Do we have its rights, or more than it? Its capabilities, as a mask, and those of this process. */
bool caller_has_our_rights(uint64_t *effective);
bool caller_has_our_numbers(void); /* are processes called there what they are called here? */

/* inject.c: the thread goes on with this result of its call */
void inject_finish(struct notice *n, long result);

/* main.c: say it on the standard error, once */
void say_once(bool *said, const char *text);

#endif
