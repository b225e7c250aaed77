/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_CORE_LOWER_SUMS_H
#define GPUBPF_CORE_LOWER_SUMS_H

#include "lower.h"

/*
 * Returns the number of values of a map if adds to them may be delayed: each multiprocessor has its own copy of them,
 * and no program or host reads the map meanwhile. 0: adds may not be delayed.
 */
uint32_t lower_counter_values(const struct gpubpf_lower_job *job, uint32_t map);
/*
 * Do the site's programs do nothing but add to such values, from inputs that are constant for a lane? Then they may run
 * between any two instructions of the lane.
 */
bool lower_only_adds(const struct gpubpf_lower_job *job, const struct gpubpf_site_desc *site);
/* Does one run of the program execute each instruction at most once? */
bool lower_is_loop_free(const struct gpubpf_prog *prog);

#endif
