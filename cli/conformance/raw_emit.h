/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering groups of programs. */
#ifndef GPUBPF_CLI_CONFORMANCE_EMIT_H
#define GPUBPF_CLI_CONFORMANCE_EMIT_H

#include "core/device.h"
#include "core/target.h"
#include "raw.h"

#define CONFORMANCE_GROUP 64        /* programs in a module at most */
#define CONFORMANCE_BUDGET (1u << 17) /* taken branches: a simulated device takes 4 us for one */
#define CONFORMANCE_RUN_OFF 8192u   /* past the arena's header and counters */

/* a device that was opened, and what its programs are lowered to */
struct conformance_device {
	const struct gpubpf_device_ops *ops;
	struct gpubpf_device *device;
	const struct gpubpf_target_info *target;
};

/* In a process that may crash. 0 or -ENODEV. */
int conformance_open(const struct conformance_opts *opts, struct conformance_device *d, struct gpubpf_why *why);
/* Does a process run one group on it, and the next process the next? Intel's runtime 2026.2 was seen to fail at good modules
 * of SPIR-V after a damaged one (one that spirv-val refuses) in the same process. */
bool conformance_once(const struct conformance_device *d);
/* The target of that name, or the one that suits the device best if name is NULL; NULL if there is none that emits. */
const struct gpubpf_target_info *conformance_target(const char *name, const struct gpubpf_device_caps *caps);
/* Lower the job's sites as kernels, or one kernel for all: here, or in the compile worker. */
int conformance_lower(const struct gpubpf_target_info *target, const struct gpubpf_lower_job *job, bool one_kernel,
		      struct gpubpf_blob *blob, struct gpubpf_diag *diag);
/* Lower the programs of n cases, one site each. */
int conformance_emit(const struct gpubpf_target_info *target, struct gpubpf_lower_job *job,
		     struct conformance_case *cases, uint32_t n, struct gpubpf_blob *blob, struct gpubpf_diag *diag);

#endif
