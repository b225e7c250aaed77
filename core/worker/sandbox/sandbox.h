/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker enters this sandbox before its first job: limits, no_new_privs, and a filter that allows only the system
 * calls of calls.def. Needs no privileges.
 */
#ifndef GPUBPF_WORKER_SANDBOX_H
#define GPUBPF_WORKER_SANDBOX_H

struct gpubpf_diag;

enum gpubpf_sandbox_allow {
	GPUBPF_SANDBOX_READ_FILES = 1 << 0, /* open files for reading (libclang's headers) */
	GPUBPF_SANDBOX_THREADS = 1 << 1,    /* start threads (libclang) */
	GPUBPF_SANDBOX_FORK = 1 << 2,       /* run jobs in forks of the worker (in_fork.h) */
};

/*
 * Sets limits, no_new_privs and the filter. A worker that may open files also enters a user namespace and a Landlock
 * domain, if the system supports them, and drops capabilities. The function fails if the worker can still open its
 * parent's memory after that. 0, or -errno and a diagnostic.
 */
int gpubpf_sandbox_enter(unsigned allow, struct gpubpf_diag *diag);
/* Sets only limits and no_new_privs. */
int gpubpf_sandbox_limits(struct gpubpf_diag *diag);
/*
 * Like gpubpf_sandbox_enter(), for a vendor's compiler and its children: the filter also allows writing files, running
 * programs and using devices. Requests to terminals and sockets fail with ENOTTY.
 */
int gpubpf_sandbox_outer(struct gpubpf_diag *diag);

#endif
