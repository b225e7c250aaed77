/* SPDX-License-Identifier: Apache-2.0 */
/* Reports times of launches from runtimes that measure launches themselves; see struct gpubpf_hook_measure in launch.h. */
#ifndef GPUBPF_HOOKS_LAUNCH_MEASURE_H
#define GPUBPF_HOOKS_LAUNCH_MEASURE_H

#include <stdint.h>

struct gpubpf_hook_measure;

/*
 * Report start and end together, in place of gpubpf_hook_measure_start() and gpubpf_hook_measure_end(). All times are in
 * ns of the device's clock. `queued` is the time at which the runtime accepted the launch.
 */
void gpubpf_hook_measure_times(struct gpubpf_hook_measure *measure, uint64_t queued, uint64_t start, uint64_t end);

#endif
