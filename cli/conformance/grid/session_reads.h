/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the results of a case from a session. */
#ifndef GPUBPF_CLI_CONFORMANCE_SESSION_READS_H
#define GPUBPF_CLI_CONFORMANCE_SESSION_READS_H

#include "gpubpf/gpubpf.h"
#include "verdict.h"

struct probed {
	struct judging j; /* must be the first member: the code casts between both structs */
	struct gpubpf_session *s;
	struct counted {
		const struct gpubpf_map *map;
		uint64_t n;
	} records[8];
	char (*prints)[128];
	uint32_t nprints;
};

/* The functions for struct judging.left, for a struct probed. */
extern const struct judge_ops session_reads;

/* Callbacks of the session, whose argument is the struct probed. */
void session_on_event(void *ctx, const struct gpubpf_event *event);
void session_on_print(void *ctx, const struct gpubpf_print_record *record);

#endif
