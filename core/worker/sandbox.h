/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker may still do once it serves: compute, allocate, and talk over the descriptor it has.
 * System calls outside of the list fail with EPERM. Needs no privileges.
 */
#ifndef GPUBPF_WORKER_SANDBOX_H
#define GPUBPF_WORKER_SANDBOX_H

struct gpubpf_diag;

enum gpubpf_sandbox_allow {
	GPUBPF_SANDBOX_READ_FILES = 1 << 0, /* open files for reading (libclang's headers) */
	GPUBPF_SANDBOX_THREADS = 1 << 1,    /* start threads (libclang) */
	GPUBPF_SANDBOX_FORK = 1 << 2,       /* work in copies of itself (in_fork.h) */
};

/* Limits, no_new_privs, and the seccomp filter. 0, or -errno and a diagnostic. */
int gpubpf_sandbox_enter(unsigned allow, struct gpubpf_diag *diag);
/* Limits and no_new_privs alone. */
int gpubpf_sandbox_limits(struct gpubpf_diag *diag);
/* These, and for a vendor's compiler, whose needs nobody knows, and what it starts, nothing of what none needs: privileges,
 * the network, other processes' memory, the kernel's tracing, modules and mounts. */
int gpubpf_sandbox_outer(struct gpubpf_diag *diag);

#endif
