/* SPDX-License-Identifier: Apache-2.0 */
/* Counts of launches that were not probed, by reason. */
#ifndef GPUBPF_SESSION_MISSED_H
#define GPUBPF_SESSION_MISSED_H

#include "core/session/session.h"

struct gpubpf_missed {
	uint64_t by[GPUBPF_MISSES]; /* number of launches by enum gpubpf_miss; their sum is the kernel's `missed` */
	char *why;                  /* the text from gpubpf_missed_why(); NULL: not built yet */
};

extern const char *const gpubpf_miss_names[GPUBPF_MISSES]; /* the names of the reasons in JSON, by enum gpubpf_miss */

/* Add a row of the kernel table to *missed, and to the members launches, probed and missed of *stats. */
void gpubpf_missed_add_row(struct gpubpf_missed *missed, const struct gpubpf_kernel_row *row,
			   struct gpubpf_kernel_stats *stats);
/*
 * Returns why launches of `stats`, an element of s->report->stats, were not probed; "" if all were. The text begins
 * with `known`, which explains a refusal or a wait. The other reasons follow with their numbers of launches. The text
 * lives as long as the element.
 */
const char *gpubpf_missed_why(struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats, const char *known);
/* Returns the number of launches that were not probed although the user did not exclude them. */
uint64_t gpubpf_missed_lost(const struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats);

#endif
