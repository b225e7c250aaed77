/* SPDX-License-Identifier: Apache-2.0 */
/* Runs cases that probe the kernels of an application, through the hooks. */
#ifndef GPUBPF_CLI_CONFORMANCE_PROBE_H
#define GPUBPF_CLI_CONFORMANCE_PROBE_H

#include "cli/conformance/suite/suite.h"

struct conformance_case;

/* Run case number `index` of the suite in each form that the device accepts, with a separate session for each form. */
void probe_run(const struct suite_run *run, const struct suite_device *device, uint32_t index, struct suite_result *r);
/*
 * cli/conformance/raw/probe_raw.c: runs the cases that have no error. They are programs of one thread, many in one
 * session. Afterwards each case has r0 or an error.
 */
void probe_raw_run(const struct suite_run *run, const struct suite_device *device, struct conformance_case *cases,
		   size_t n);

#endif
