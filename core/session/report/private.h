/* SPDX-License-Identifier: Apache-2.0 */
/* The members of struct session_report, for the files of this folder. */
#ifndef GPUBPF_SESSION_REPORT_PRIVATE_H
#define GPUBPF_SESSION_REPORT_PRIVATE_H

#include "core/session/private.h"
#include "kernel_table.h"
#include "missed.h"

struct session_report {
	struct gpubpf_kernel_table *table; /* NULL: not created yet */
	int table_fd;
	uint64_t plan;                     /* generation number of the plan; even */
	uint32_t nplan;                    /* number of links that were added to the new plan */
	struct gpubpf_kernel_stats *stats; /* [nstats] cache of gpubpf_session__kernel() */
	struct gpubpf_missed *missed;      /* [nstats] */
	uint32_t nstats;
	/* [GPUBPF_KERNEL_TABLE_ROWS]: the times that launch_times.c has added to maps, or NULL */
	struct gpubpf_launch_times **added;
	enum gpubpf_moment moment;
	/* settings of the links that have a gate; the table's copy is not read, because agents can write it */
	struct gpubpf_link_setting *settings[GPUBPF_PLAN_LINKS];
	uint64_t gates; /* version of the gates in the table; even */
};

void gpubpf_gates_free(struct session_report *report); /* gates.c */

#endif
