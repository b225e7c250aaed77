/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GPUBPF_CORE_LOWER_SUMS_H
#define GPUBPF_CORE_LOWER_SUMS_H

#include "lower.h"

/* How many values of the map each multiprocessor has a summand of, to which programs may add later than they would, and nobody
 * looks meanwhile; 0: it is not so. */
uint32_t lower_summed(const struct gpubpf_lower_job *job, uint32_t map);
/* Do the site's programs nothing but add to such values, from what is the same for a lane at any time? Then it is no matter
 * between which of its instructions they run. */
bool lower_adds_alone(const struct gpubpf_lower_job *job, const struct gpubpf_site_desc *site);
/* Does a run come by each of its instructions once, if at all? */
bool lower_goes_on(const struct gpubpf_prog *prog);

#endif
