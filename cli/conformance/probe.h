/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that are put into the kernels of an application, by the hooks. */
#ifndef GPUBPF_CLI_CONFORMANCE_PROBE_H
#define GPUBPF_CLI_CONFORMANCE_PROBE_H

#include "suite.h"

struct conformance_case;

/* Run the case of that index in the suite, in each form that the device takes, with a session of its own. */
void probe_run(const struct suite_run *run, const struct suite_device *device, uint32_t index, struct suite_result *r);
/* probe_raw.c: programs of one thread that have no error yet, many in a session; each has r0 or an error then. */
void probe_raw_run(const struct suite_run *run, const struct suite_device *device, struct conformance_case *cases, size_t n);

#endif
