/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of sections host/kernel and host/kernel_exit. They get the times of kernels that the runtime measures. They
 * run after the kernel has ended, in any thread.
 */
#ifndef GPUBPF_HOOKS_HOST_KERNEL_H
#define GPUBPF_HOOKS_HOST_KERNEL_H

#include "hooks/host/host.h"

/* number of the event `kernel` of core/model/host_events.def */
#define GPUBPF_HOST_KERNEL ((enum gpubpf_host_event)10)

/* A launch of a kernel, without references to objects of the application. */
struct gpubpf_host_kernel {
	const char *name; /* full name */
	uint64_t id, launch, stream;
	uint64_t block_dim[3], grid_dim[3];
	uint32_t work_dim, device;
};

/*
 * Describe the launch for a later gpubpf_host_run_kernel(). The name is the kernel's own string. The calling thread may
 * request the kernel's id from the session.
 */
void gpubpf_host_describe_kernel(const struct gpubpf_hook_launch *launch, struct gpubpf_host_kernel *kernel);
/* Run the programs. The kernel ran from start_ns to end_ns (CLOCK_MONOTONIC). */
void gpubpf_host_run_kernel(const struct gpubpf_host_kernel *kernel, uint64_t start_ns, uint64_t end_ns);

#endif
