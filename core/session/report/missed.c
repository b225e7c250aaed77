/* SPDX-License-Identifier: Apache-2.0 */
/* Counts launches that were not probed by reason, and explains them. */
#include "missed.h"
#include "private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_SIZE 1024

const char *const gpubpf_miss_names[GPUBPF_MISSES] = {
#define GPUBPF_MISS(id, name, chosen, text) [GPUBPF_MISS_##id] = name,
#include "core/wire/misses.def"
};

static const char *const texts[GPUBPF_MISSES] = {
#define GPUBPF_MISS(id, name, chosen, text) [GPUBPF_MISS_##id] = text,
#include "core/wire/misses.def"
};

static const bool is_user_choice[GPUBPF_MISSES] = {
#define GPUBPF_MISS(id, name, chosen, text) [GPUBPF_MISS_##id] = chosen,
#include "core/wire/misses.def"
};

/*
 * An agent counts a launch first in `probed` or `missed`, and then in `launches`. So the sum of `probed` and `missed`
 * may be larger than `launches`. Then the sum is taken as the number of launches.
 */
void gpubpf_missed_add_row(struct gpubpf_missed *missed, const struct gpubpf_kernel_row *row,
			   struct gpubpf_kernel_stats *stats)
{
	uint64_t counted = row->probed;

	for (uint32_t i = 0; i < GPUBPF_MISSES; i++) {
		missed->by[i] += row->missed[i];
		counted += row->missed[i];
	}
	if (row->launches > counted) {
		missed->by[GPUBPF_MISS_UNKNOWN] += row->launches - counted;
		counted = row->launches;
	}
	stats->launches += counted;
	stats->probed += row->probed;
	stats->missed += counted - row->probed;
}

/* Returns true if the text `known` of gpubpf_missed_why() already explains launches with this reason. */
static bool is_explained(const struct gpubpf_kernel_stats *stats, uint32_t miss)
{
	switch (miss) {
	case GPUBPF_MISS_REFUSED:
	case GPUBPF_MISS_UNSUPPORTED:
		return stats->reason[0];
	case GPUBPF_MISS_LATE:
		return stats->outcome == GPUBPF_OUTCOME_WAITING && !stats->reason[0];
	}
	return false;
}

/*
 * Returns true if, for every launch of the kernel, no program was attached or no attached program had a place in the
 * kernel. Then the kernel's outcome explains enough.
 */
static bool is_unattached_only(const struct gpubpf_missed *missed, const struct gpubpf_kernel_stats *stats)
{
	return stats->missed == missed->by[GPUBPF_MISS_UNATTACHED] + missed->by[GPUBPF_MISS_NO_PLACE] && !stats->probed;
}

static void append_reason(FILE *out, const struct gpubpf_session *s, uint32_t miss, uint64_t n, bool is_only)
{
	if (ftell(out) > 0)
		fprintf(out, "; ");
	if (!is_only)
		fprintf(out, "%llu ", (unsigned long long)n);
	fprintf(out, "%s", texts[miss]);
	if (miss == GPUBPF_MISS_LATE && !s->attaches)
		fprintf(out, " (%s)", s->opts.no_wait ? "--no-wait" : "--wait");
}

const char *gpubpf_missed_why(struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats, const char *known)
{
	struct gpubpf_missed *missed = &s->report->missed[stats - s->report->stats];
	char text[WHY_SIZE] = "";
	FILE *out = missed->why ? NULL : fmemopen(text, sizeof(text), "w");

	if (missed->why || !out)
		return missed->why ? missed->why : known;
	fprintf(out, "%s", known);
	for (uint32_t i = 0; i < GPUBPF_MISSES && !is_unattached_only(missed, stats); i++)
		if (missed->by[i] && !is_explained(stats, i))
			append_reason(out, s, i, missed->by[i], missed->by[i] == stats->missed);
	fclose(out);
	missed->why = strdup(text);
	return missed->why ? missed->why : known;
}

uint64_t gpubpf_missed_lost(const struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < GPUBPF_MISSES; i++)
		n += is_user_choice[i] ? 0 : s->report->missed[stats - s->report->stats].by[i];
	return n;
}
