/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that were not probed, by reason. */
#ifndef GPUBPF_SESSION_MISSED_H
#define GPUBPF_SESSION_MISSED_H

#include "core/session/session.h"

struct gpubpf_missed {
	uint64_t by[GPUBPF_MISSES]; /* enum gpubpf_miss; their sum is the kernel's `missed` */
	char *why;                  /* the text from gpubpf_missed_why(); NULL: not built yet */
};

extern const char *const gpubpf_miss_names[GPUBPF_MISSES]; /* the names of the reasons in JSON */

/* Adds a row of the kernel table to *missed, and to launches, probed and missed of *stats. */
void gpubpf_missed_add_row(struct gpubpf_missed *missed, const struct gpubpf_kernel_row *row,
			   struct gpubpf_kernel_stats *stats);
/*
 * Why launches of an element of s->stats were not probed; "" if there is nothing to explain. The text has `known`,
 * which explains a refusal or a wait, then the other reasons with their numbers of launches. It lives as long as the
 * element.
 */
const char *gpubpf_missed_why(struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats, const char *known);
/* The number of launches that should have been probed but were not. */
uint64_t gpubpf_missed_lost(const struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats);

#endif
