/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds reasons that several kernels share. The report prints such a reason once below the table of kernels, instead of
 * in each row.
 */
#ifndef GPUBPF_SESSION_SHARED_REASONS_H
#define GPUBPF_SESSION_SHARED_REASONS_H

#include "core/session/session.h"

struct gpubpf_shared_reasons {
	uint32_t n;        /* number of kernels; 0: out of memory, and no reason is shared */
	const char **text; /* [n]: the reason of s->stats[i], or "" */
	uint32_t *order;   /* [n]: indexes of kernels, sorted by reason */
	bool *shared;      /* [n]: another kernel has the same reason */
};

/* Call reason() for each kernel, and find the shared reasons. The texts must live as long as *r. */
void gpubpf_shared_reasons_init(struct gpubpf_shared_reasons *r, struct gpubpf_session *s,
				const char *(*reason)(struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats));
/* Returns true if another kernel has the same reason as s->report->stats[i]. Then the row of this kernel omits it. */
bool gpubpf_shared_reasons_has(const struct gpubpf_shared_reasons *r, uint32_t i);
/* Print one line per shared reason: the names of its kernels and the reason. */
void gpubpf_shared_reasons_print(const struct gpubpf_shared_reasons *r, struct gpubpf_session *s, bool demangle, FILE *out);
void gpubpf_shared_reasons_finish(struct gpubpf_shared_reasons *r);

#endif
