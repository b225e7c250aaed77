/* SPDX-License-Identifier: Apache-2.0 */
/* Opens devices, and lowers groups of one-thread programs. */
#ifndef GPUBPF_CLI_CONFORMANCE_EMIT_H
#define GPUBPF_CLI_CONFORMANCE_EMIT_H

#include "core/device.h"
#include "core/target.h"
#include "raw.h"

#define CONFORMANCE_GROUP 64        /* maximum number of programs in a module */
#define CONFORMANCE_BUDGET (1u << 17) /* maximum number of taken branches in a run; a simulated device needs 4 us each */
#define CONFORMANCE_RUN_OFF 8192u   /* offset of the run records in the arena, after the arena's header and counters */

/* an opened device, and the target that lowers programs for it */
struct conformance_device {
	const struct gpubpf_device_ops *ops;
	struct gpubpf_device *device;
	const struct gpubpf_target_info *target;
};

/*
 * Open a device. The device's runtime may crash, so call this in a child process. Returns 0, or -ENODEV with a reason.
 */
int conformance_open(const struct conformance_opts *opts, struct conformance_device *d, struct gpubpf_reason *why);
/*
 * Returns true if each group must run in a new process. This is needed for SPIR-V: after an invalid module (which
 * spirv-val refuses), Intel's runtime 2026.2 failed at valid modules in the same process.
 */
bool conformance_once(const struct conformance_device *d);
/*
 * Return the target with this name, or the best target for the device if name is NULL. Returns NULL if no target emits
 * code for the device.
 */
const struct gpubpf_target_info *conformance_target(const char *name, const struct gpubpf_device_caps *caps);
/*
 * Lower the job's sites in this process or in a worker. Each site becomes a kernel; with one_kernel, all sites share
 * one kernel.
 */
int conformance_lower(const struct gpubpf_target_info *target, const struct gpubpf_lower_job *job, bool one_kernel,
		      struct gpubpf_blob *blob, struct gpubpf_diag *diag);
/* Lower the programs of n cases. Each program becomes one site. */
int conformance_emit(const struct gpubpf_target_info *target, struct gpubpf_lower_job *job,
		     struct conformance_case *cases, uint32_t n, struct gpubpf_blob *blob, struct gpubpf_diag *diag);

#endif
