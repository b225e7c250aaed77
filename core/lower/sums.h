/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_CORE_LOWER_SUMS_H
#define GPUBPF_CORE_LOWER_SUMS_H

#include "lower.h"

/*
 * Returns the number of values of a map if adds to them may be delayed, else 0. Adds may be delayed if each
 * multiprocessor has its own replica of the values, and no program or host reads the map meanwhile.
 */
uint32_t lower_counter_values(const struct gpubpf_lower_job *job, uint32_t map);
/*
 * Returns true if the site's programs only add to such values, from inputs that are constant for a lane. Then they may
 * run between any two instructions of the lane.
 */
bool lower_only_adds(const struct gpubpf_lower_job *job, const struct gpubpf_site_desc *site);
/* Returns true if one run of the program executes each instruction at most once. */
bool lower_is_loop_free(const struct gpubpf_prog *prog);

#endif
