/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the part of a plan that concerns a program: the links that match its kernels, and the names of these
 * kernels. */
#include "twin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *gpubpf_twin_next_name(const char *list, char *name)
{
	size_t len;

	for (; *list; list += len + (list[len] == ';')) {
		len = strcspn(list, ";");
		if (!len || len >= GPUBPF_WHOLE_NAME_SIZE)
			continue;
		memcpy(name, list, len);
		name[len] = 0;
		return list + len;
	}
	return NULL;
}

void gpubpf_twin_write_names(const char *list, struct gpubpf_writer *w)
{
	char name[GPUBPF_WHOLE_NAME_SIZE];
	uint32_t n = 0;

	for (const char *at = list; (at = gpubpf_twin_next_name(at, name));)
		n++;
	gpubpf_put_u32(w, n);
	for (const char *at = list; (at = gpubpf_twin_next_name(at, name));)
		gpubpf_put_str(w, name);
}

bool gpubpf_twin_contains_link(const uint32_t *links, uint32_t n, uint32_t link)
{
	while (n && links[n - 1] != link)
		n--;
	return n;
}

int gpubpf_twin_select_links(const struct gpubpf_plan *plan, const char *kernels, struct gpubpf_plan_subset *part)
{
	char *name = malloc(GPUBPF_WHOLE_NAME_SIZE), *end;
	uint32_t *matching = malloc((plan->n + 1) * sizeof(*matching)), n;
	bool *used = name ? calloc(plan->n + 1, sizeof(*used)) : NULL;

	*part = (struct gpubpf_plan_subset){ .links = malloc((plan->n + 1) * sizeof(*matching)),
					     .kernel_names = malloc(strlen(kernels) + 2) };
	end = part->kernel_names;
	for (const char *at = kernels; matching && used && part->links && end && (at = gpubpf_twin_next_name(at, name));) {
		n = gpubpf_plan_links(plan, name, matching);
		for (uint32_t i = 0; i < plan->n; i++)
			used[i] |= gpubpf_twin_contains_link(matching, n, plan->entry[i].link);
		if (n)
			end = stpcpy(end == part->kernel_names ? end : stpcpy(end, ";"), name);
	}
	for (uint32_t i = 0; used && part->links && i < plan->n; i++)
		if (used[i])
			part->links[part->nlinks++] = plan->entry[i].link;
	free(name);
	free(matching);
	free(used);
	if (matching && used && part->links && end) {
		*end = 0;
		return 0;
	}
	free(part->links);
	free(part->kernel_names);
	return -ENOMEM;
}
