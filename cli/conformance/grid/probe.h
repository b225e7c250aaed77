/* SPDX-License-Identifier: Apache-2.0 */
/* Runs cases that probe the kernels of a real application, through the hooks. */
#ifndef GPUBPF_CLI_CONFORMANCE_PROBE_H
#define GPUBPF_CLI_CONFORMANCE_PROBE_H

#include "cli/conformance/suite/suite.h"

struct conformance_case;

/*
 * Run case number `index` of the suite in each form of code that the device accepts. Each form runs in a separate
 * session.
 */
void probe_run(const struct suite_run *run, const struct suite_device *device, uint32_t index, struct suite_result *r);
/*
 * cli/conformance/raw/probe_raw.c: runs one-thread programs, many in one session. Cases that already have an error are
 * skipped. Afterwards each case has the result r0 or an error.
 */
void probe_raw_run(const struct suite_run *run, const struct suite_device *device, struct conformance_case *cases,
		   size_t n);

#endif
