/* SPDX-License-Identifier: Apache-2.0 */
/* Lowers groups of programs of one thread. */
#ifndef GPUBPF_CLI_CONFORMANCE_EMIT_H
#define GPUBPF_CLI_CONFORMANCE_EMIT_H

#include "core/device.h"
#include "core/target.h"
#include "raw.h"

#define CONFORMANCE_GROUP 64        /* maximum number of programs in a module */
#define CONFORMANCE_BUDGET (1u << 17) /* limit of taken branches in a run: a simulated device takes 4 us for one */
#define CONFORMANCE_RUN_OFF 8192u   /* arena offset of the run records, after the arena's header and counters */

/* an opened device, and the target of its programs */
struct conformance_device {
	const struct gpubpf_device_ops *ops;
	struct gpubpf_device *device;
	const struct gpubpf_target_info *target;
};

/* Open a device, in a process that may crash. Returns 0, or -ENODEV and a reason. */
int conformance_open(const struct conformance_opts *opts, struct conformance_device *d, struct gpubpf_reason *why);
/*
 * Must each group run in a new process? Intel's runtime 2026.2 failed at valid SPIR-V modules after an invalid one
 * (which spirv-val refuses) in the same process.
 */
bool conformance_once(const struct conformance_device *d);
/*
 * Return the target of that name; if name is NULL, the best one for the device. NULL: no target emits code for the
 * device.
 */
const struct gpubpf_target_info *conformance_target(const char *name, const struct gpubpf_device_caps *caps);
/*
 * Lower the job's sites, to one kernel each or with one_kernel to one kernel for all, in this process or in the compile
 * worker.
 */
int conformance_lower(const struct gpubpf_target_info *target, const struct gpubpf_lower_job *job, bool one_kernel,
		      struct gpubpf_blob *blob, struct gpubpf_diag *diag);
/* Lower the programs of n cases, one site each. */
int conformance_emit(const struct gpubpf_target_info *target, struct gpubpf_lower_job *job,
		     struct conformance_case *cases, uint32_t n, struct gpubpf_blob *blob, struct gpubpf_diag *diag);

#endif
