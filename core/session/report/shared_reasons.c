/* SPDX-License-Identifier: Apache-2.0 */
#include "shared_reasons.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAMES 8 /* maximum names of kernels before "and N more" */

static int compare_reasons(const void *a, const void *b, void *arg)
{
	const struct gpubpf_shared_reasons *r = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = strcmp(r->text[x], r->text[y]);

	return order ? order : (x > y) - (x < y);
}

/* The kernels from order[at] on have the same reason. Returns the index in order[] at which the next reason begins. */
static uint32_t find_group_end(const struct gpubpf_shared_reasons *r, uint32_t at)
{
	uint32_t end = at + 1;

	while (end < r->n && !strcmp(r->text[r->order[at]], r->text[r->order[end]]))
		end++;
	return end;
}

void gpubpf_shared_reasons_init(struct gpubpf_shared_reasons *r, struct gpubpf_session *s,
				const char *(*reason)(struct gpubpf_session *s, const struct gpubpf_kernel_stats *stats))
{
	uint32_t n = s->report->nstats;

	*r = (struct gpubpf_shared_reasons){
		.text = calloc(n + 1, sizeof(*r->text)),
		.order = calloc(n + 1, sizeof(*r->order)),
		.shared = calloc(n + 1, sizeof(*r->shared)),
	};
	if (!r->text || !r->order || !r->shared)
		return;
	r->n = n;
	for (uint32_t i = 0; i < n; i++) {
		r->text[i] = reason(s, &s->report->stats[i]);
		r->order[i] = i;
	}
	qsort_r(r->order, n, sizeof(*r->order), compare_reasons, r);
	for (uint32_t at = 0, end; at < n; at = end) {
		end = find_group_end(r, at);
		for (uint32_t i = at; i < end; i++)
			r->shared[r->order[i]] = end - at > 1 && r->text[r->order[i]][0];
	}
}

bool gpubpf_shared_reasons_has(const struct gpubpf_shared_reasons *r, uint32_t i)
{
	return i < r->n && r->shared[i];
}

void gpubpf_shared_reasons_print(const struct gpubpf_shared_reasons *r, struct gpubpf_session *s, bool demangle, FILE *out)
{
	for (uint32_t at = 0, end; at < r->n; at = end) {
		end = find_group_end(r, at);
		if (!r->shared[r->order[at]])
			continue;
		fprintf(out, "  %u kernels: ", end - at);
		for (uint32_t i = at; i < end && i < at + MAX_NAMES; i++)
			fprintf(out, "%s%s", i > at ? ", " : "",
				gpubpf_kernel_display_name(s, s->report->stats[r->order[i]].id, demangle));
		if (end - at > MAX_NAMES)
			fprintf(out, " and %u more", end - at - MAX_NAMES);
		fprintf(out, ": %s\n", r->text[r->order[at]]);
	}
}

void gpubpf_shared_reasons_finish(struct gpubpf_shared_reasons *r)
{
	free(r->text);
	free(r->order);
	free(r->shared);
	*r = (struct gpubpf_shared_reasons){ 0 };
}
