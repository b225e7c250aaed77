/* SPDX-License-Identifier: Apache-2.0 */
/* The members of struct session_twins, for the files of this folder. */
#ifndef GPUBPF_SESSION_TWINS_PRIVATE_H
#define GPUBPF_SESSION_TWINS_PRIVATE_H

#include "core/session/private.h"

#define GPUBPF_MAX_FUNCTION_BYTES (16u << 20) /* maximum bytes of stored names of device functions, over all kernels */

struct gpubpf_builders;

struct session_twins {
	char *assembler;
	struct gpubpf_builders *builders; /* NULL: the builders are not running */
	uint32_t pending;                 /* number of agents' requests that have no answer yet */
	struct gpubpf_cost_stats cost;
	struct gpubpf_verdict *verdicts; /* [nverdicts] */
	uint32_t nverdicts;
	size_t function_bytes; /* of all verdicts */
};

#endif
