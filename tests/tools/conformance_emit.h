/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance tool: lowering groups of cases. */
#ifndef GPUBPF_TESTS_CONFORMANCE_EMIT_H
#define GPUBPF_TESTS_CONFORMANCE_EMIT_H

#include "core/target.h"
#include "conformance.h"

#define CONFORMANCE_GROUP 64        /* programs in a module at most */
#define CONFORMANCE_RUN_OFF 8192u   /* past the arena's header and counters */

struct conformance_target {
	const char *name;
	enum gpubpf_image_kind output;
};

/* The target of that name, or the one that suits the device best if name is NULL. */
const struct conformance_target *conformance_target(const char *name, const struct gpubpf_device_caps *caps);
/* Lower the programs of n cases, one site each: here, or in the compile worker. */
int conformance_emit(const struct conformance_target *target, struct gpubpf_lower_job *job,
		     struct conformance_case *cases, uint32_t n, struct gpubpf_blob *blob, struct gpubpf_diag *diag);

#endif
