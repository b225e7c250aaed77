/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox that a worker enters before its first job. It sets resource limits and no_new_privs, and a seccomp filter
 * that allows only the system calls of calls.def. It needs no privileges.
 */
#ifndef GPUBPF_WORKER_SANDBOX_H
#define GPUBPF_WORKER_SANDBOX_H

struct gpubpf_diag;

enum gpubpf_sandbox_allow {
	GPUBPF_SANDBOX_READ_FILES = 1 << 0, /* may open files for reading (C headers, for libclang) */
	GPUBPF_SANDBOX_THREADS = 1 << 1,    /* start threads (libclang) */
	GPUBPF_SANDBOX_FORK = 1 << 2,       /* may run jobs in forks (in_fork.h) */
};

/*
 * Sets limits, no_new_privs and the filter. A worker that may open files also drops capabilities, and enters a user
 * namespace and a Landlock domain if the system supports them. If it can still open its parent's memory after that, the
 * function fails. Returns 0, or -errno with a diagnostic.
 */
int gpubpf_sandbox_enter(unsigned allow, struct gpubpf_diag *diag);
/* Sets only the resource limits and no_new_privs. Returns 0, or -errno with a diagnostic. */
int gpubpf_sandbox_limits(struct gpubpf_diag *diag);
/*
 * Like gpubpf_sandbox_enter(), for a vendor's compiler and its child processes. The filter also allows them to write
 * files, run programs and use devices. ioctl(2) requests of terminals and sockets fail with ENOTTY.
 */
int gpubpf_sandbox_outer(struct gpubpf_diag *diag);

#endif
