/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_CORE_LOWER_SUMS_H
#define GPUBPF_CORE_LOWER_SUMS_H

#include "lower.h"

/*
 * Returns the number of values of the map if each multiprocessor has a copy to which adds may be delayed, and which
 * nothing reads meanwhile. 0: adds may not be delayed.
 */
uint32_t lower_counter_values(const struct gpubpf_lower_job *job, uint32_t map);
/*
 * Do the site's programs only add to such values, from inputs that do not change over a lane's life? Then they may run
 * between any of its instructions.
 */
bool lower_only_adds(const struct gpubpf_lower_job *job, const struct gpubpf_site_desc *site);
/* Does a run execute each instruction at most once? */
bool lower_is_loop_free(const struct gpubpf_prog *prog);

#endif
