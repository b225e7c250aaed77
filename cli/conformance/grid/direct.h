/* SPDX-License-Identifier: Apache-2.0 */
/* Cases with the line "run": gpubpf_prog__test_run() runs their program, in a grid with a data buffer. */
#ifndef GPUBPF_CLI_CONFORMANCE_DIRECT_H
#define GPUBPF_CLI_CONFORMANCE_DIRECT_H

#include "grid.h"

/* the data buffer of a direct run, and the result of its first thread */
struct grid_run {
	uint32_t result;
	uint64_t *words;
	uint32_t nwords;
};

/* Returns true if the case is a direct run. */
bool grid_is_run(const struct suite_case *c);
/* Allocate the buffer that the case requests. Before the run, word I has the value I. Returns 0 or -ENOMEM. */
int grid_run_init(const struct suite_case *c, struct grid_run *run);
void grid_run_finish(struct grid_run *run);

/* Run case number `index` of the suite on a device, in a separate session. */
void direct_run(const struct suite_run *run, const struct suite_device *device, uint32_t index, struct suite_result *r);

#endif
