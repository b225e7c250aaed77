/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering groups of programs. */
#ifndef GPUBPF_CLI_CONFORMANCE_EMIT_H
#define GPUBPF_CLI_CONFORMANCE_EMIT_H

#include "core/target.h"
#include "raw.h"

#define CONFORMANCE_GROUP 64        /* programs in a module at most */
#define CONFORMANCE_RUN_OFF 8192u   /* past the arena's header and counters */

/* The target of that name, or the one that suits the device best if name is NULL; NULL if there is none that emits. */
const struct gpubpf_target_info *conformance_target(const char *name, const struct gpubpf_device_caps *caps);
/* Lower the programs of n cases, one site each: here, or in the compile worker. */
int conformance_emit(const struct gpubpf_target_info *target, struct gpubpf_lower_job *job,
		     struct conformance_case *cases, uint32_t n, struct gpubpf_blob *blob, struct gpubpf_diag *diag);

#endif
