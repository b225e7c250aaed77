/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the part of a plan that matches kernels of one program: the links, and the names of the matched kernels. */
#include "twin.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void add_name(struct gpubpf_name_list *names, const char *name, size_t len)
{
	if (!len || len >= GPUBPF_WHOLE_NAME_SIZE)
		return;
	memcpy(names->text + names->size, name, len);
	names->text[names->size + len] = 0;
	names->size += len + 1;
	names->n++;
}

struct gpubpf_name_list *gpubpf_names_create(const char *const *list, uint32_t n)
{
	struct gpubpf_name_list *names;
	size_t size = 0;

	for (uint32_t i = 0; i < n; i++)
		size += strlen(list[i]) + 1;
	names = calloc(1, sizeof(*names) + size + 1);
	for (uint32_t i = 0; names && i < n; i++)
		add_name(names, list[i], strlen(list[i]));
	return names;
}

struct gpubpf_name_list *gpubpf_names_split(const char *text, char separator)
{
	struct gpubpf_name_list *names = calloc(1, sizeof(*names) + strlen(text) + 2);
	const char *end;

	for (const char *at = text; names; at = end + 1) {
		end = strchrnul(at, separator);
		add_name(names, at, end - at);
		if (!*end)
			break;
	}
	return names;
}

/* Returns the name that follows `name`, or the first name if `name` is NULL. Returns NULL after the last name. */
static const char *next_name(const struct gpubpf_name_list *names, const char *name)
{
	name = name ? name + strlen(name) + 1 : names->text;
	return name < names->text + names->size ? name : NULL;
}

void gpubpf_twin_write_names(const struct gpubpf_name_list *names, struct gpubpf_writer *w)
{
	gpubpf_put_u32(w, names->n);
	for (const char *name = NULL; (name = next_name(names, name));)
		gpubpf_put_str(w, name);
}

bool gpubpf_twin_contains_link(const uint32_t *links, uint32_t n, uint32_t link)
{
	while (n && links[n - 1] != link)
		n--;
	return n;
}

int gpubpf_twin_select_links(const struct gpubpf_plan *plan, const struct gpubpf_name_list *kernels,
			     struct gpubpf_plan_subset *part)
{
	uint32_t *matching = malloc((plan->n + 1) * sizeof(*matching)), n;
	bool *used = calloc(plan->n + 1, sizeof(*used));

	*part = (struct gpubpf_plan_subset){ .links = malloc((plan->n + 1) * sizeof(*matching)),
					     .kernel_names = calloc(1, sizeof(*kernels) + kernels->size + 1) };
	if (!matching || !used || !part->links || !part->kernel_names) {
		free(matching);
		free(used);
		free(part->links);
		free(part->kernel_names);
		return -ENOMEM;
	}
	for (const char *name = NULL; (name = next_name(kernels, name));) {
		n = gpubpf_plan_links(plan, name, matching);
		for (uint32_t i = 0; i < plan->n; i++)
			used[i] |= gpubpf_twin_contains_link(matching, n, plan->entry[i].link);
		if (n)
			add_name(part->kernel_names, name, strlen(name));
	}
	for (uint32_t i = 0; i < plan->n; i++)
		if (used[i])
			part->links[part->nlinks++] = plan->entry[i].link;
	free(matching);
	free(used);
	return 0;
}
