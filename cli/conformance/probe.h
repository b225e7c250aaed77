/* SPDX-License-Identifier: Apache-2.0 */
/* Cases that are put into the kernels of an application, by the hooks. */
#ifndef GPUBPF_CLI_CONFORMANCE_PROBE_H
#define GPUBPF_CLI_CONFORMANCE_PROBE_H

#include "suite.h"

/* Run the case of that index in the suite, in each form that the device takes, with a session of its own. */
void probe_run(const struct suite_run *run, const struct suite_device *device, uint32_t index, struct suite_result *r);

#endif
