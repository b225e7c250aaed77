/* SPDX-License-Identifier: Apache-2.0 */
/* Tests how a request for twins names the kernels of a program, and the links that apply to them. */
#include "hooks/launch/twin_links.c"
#include "hooks/launch/twin_module.c"

#include "tests/tap.h"

static char *name_of(size_t size, char of)
{
	char *name = calloc(1, size + 1);

	memset(name, of, size);
	return name;
}

static void test_length(size_t size, bool fits)
{
	char *name = name_of(size, 'x'), list[2 * GPUBPF_WHOLE_NAME_SIZE + 16];
	const char *const array[] = { "a", name, "b" };
	struct gpubpf_name_list *split, *created = gpubpf_names_create(array, 3);
	const char *at;

	snprintf(list, sizeof(list), "a;%s;b", name);
	split = gpubpf_names_split(list, ';');
	ok(split->n == created->n && split->size == created->size && !memcmp(split->text, created->text, split->size),
	   "a text and an array with a name of %zu characters", size);
	at = next_name(split, NULL);
	ok(at && !strcmp(at, "a"), "the name before it");
	if (fits) {
		at = next_name(split, at);
		ok(at && !strcmp(at, name), "one of %zu characters is taken", size);
	}
	at = at ? next_name(split, at) : NULL;
	ok(at && !strcmp(at, "b"), "the name after it");
	ok(at && !next_name(split, at), "and no more");
	free(split);
	free(created);
	free(name);
}

static bool is_empty(const char *text)
{
	struct gpubpf_name_list *names = gpubpf_names_split(text, ';');
	bool empty = !names->n && !next_name(names, NULL);

	free(names);
	return empty;
}

static void test_lists(void)
{
	struct gpubpf_name_list *names = gpubpf_names_split(";a;;b;", ';');
	char name[GPUBPF_WHOLE_NAME_SIZE];
	struct gpubpf_writer w = { 0 };
	struct gpubpf_reader r;

	ok(is_empty("") && is_empty(";;"), "no names");
	gpubpf_twin_write_names(names, &w);
	gpubpf_reader_init(&r, w.data, w.size);
	ok(gpubpf_get_u32(&r) == 2, "two names between semicolons");
	gpubpf_get_str(&r, name, sizeof(name));
	ok(!strcmp(name, "a"), "the first");
	gpubpf_get_str(&r, name, sizeof(name));
	ok(!strcmp(name, "b") && gpubpf_reader_done(&r), "the second");
	gpubpf_writer_finish(&w);
	free(names);
}

static struct gpubpf_plan *plan_of(uint32_t n, const struct gpubpf_plan_entry *entries)
{
	struct gpubpf_plan *plan = calloc(1, sizeof(*plan) + n * sizeof(*entries));

	plan->n = n;
	memcpy(plan->entry, entries, n * sizeof(*entries));
	return plan;
}

static bool is_part(const struct gpubpf_plan *plan, const char *kernels, const char *wanted, uint32_t n,
		    const uint32_t *links)
{
	struct gpubpf_name_list *all = gpubpf_names_split(kernels, ';'), *some = gpubpf_names_split(wanted, ';');
	struct gpubpf_plan_subset part;
	bool is;

	if (gpubpf_twin_select_links(plan, all, &part) < 0)
		return false;
	is = part.kernel_names->n == some->n && part.kernel_names->size == some->size &&
	     !memcmp(part.kernel_names->text, some->text, some->size) && part.nlinks == n &&
	     !memcmp(part.links, links, n * sizeof(*links));
	if (!is)
		note("%u links, for %u kernels", part.nlinks, part.kernel_names->n);
	free(part.links);
	free(part.kernel_names);
	free(all);
	free(some);
	return is;
}

#define LINKS(...) sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, (const uint32_t[]){ __VA_ARGS__ }

static void test_links(void)
{
	static const struct gpubpf_plan_entry entries[] = {
		{ .link = 7, .pattern = "b" },  { .link = 3, .pattern = "a" }, { .link = 5, .pattern = "none" },
		{ .link = 0, .pattern = "a*" }, { .link = 9, .pattern = "c" },
	};
	struct gpubpf_plan *plan = plan_of(5, entries);

	ok(is_part(plan, "a;x", "a", LINKS(3, 0)), "links that match the kernels, and no others");
	ok(is_part(plan, "x;y", "", 0, NULL), "none, if none matches");
	ok(is_part(plan, "a;b;x", "a;b", LINKS(7, 3, 0)), "in the order of the plan, whatever that of the kernels");
	ok(is_part(plan, "b;a", "b;a", LINKS(7, 3, 0)), "the other way around");
	ok(is_part(plan, "a;ab;abc", "a;ab;abc", LINKS(3, 0)), "each once");
	ok(is_part(plan, "c", "c", LINKS(9)), "the last");
	ok(is_part(plan, "b", "b", LINKS(7)), "the first");
	free(plan);
}

static void test_same_set(void)
{
	uint32_t links[] = { 7, 3 }, turned[] = { 3, 7 };
	struct gpubpf_twin_module set = { .links = links, .nlinks = 2, .registers = 8 };

	ok(twin_module_matches(&set, NULL, 8, links, 2), "a set of twins is for its links");
	ok(!twin_module_matches(&set, NULL, 8, turned, 2), "not for them in another order");
	ok(!twin_module_matches(&set, NULL, 8, links, 1), "nor for fewer");
	ok(!twin_module_matches(&set, NULL, 9, links, 2), "nor for more registers");
	ok(!twin_module_matches(&set, (void *)links, 8, links, 2), "nor on another device");
}

/* More programs that only measure times than one word of a set has bits. */
static void test_timed(void)
{
	struct gpubpf_plan_entry entries[100] = { 0 };
	struct gpubpf_link_set links;
	struct gpubpf_plan *plan;
	uint32_t n = 0, wrong = 0;

	for (uint32_t i = 0; i < 100; i++)
		entries[i] = (struct gpubpf_plan_entry){ .link = 10 * i, .pattern = "a", .flags = GPUBPF_PLAN_TIMES };
	entries[7].flags = 0;
	strcpy(entries[8].pattern, "b");
	plan = plan_of(100, entries);
	ok(gpubpf_plan_remove_times(plan, "a", &links) && plan->n == 1 && plan->entry[0].link == 70,
	   "programs that measure times are removed from the plan");
	for (uint32_t link = 0; (link = gpubpf_link_set_next(&links, link)) < GPUBPF_PLAN_LINKS; link++, n++)
		wrong += link % 10 || link == 70 || link == 80;
	ok(n == 98 && !wrong, "all of them that match the kernel are in the set");
	ok(!gpubpf_plan_remove_times(plan, "a", &links) && gpubpf_link_set_next(&links, 0) == GPUBPF_PLAN_LINKS,
	   "a plan without such programs gives an empty set");
	free(plan);
}

int main(void)
{
	test_lists();
	test_length(GPUBPF_WHOLE_NAME_SIZE - 1, true);
	test_length(GPUBPF_WHOLE_NAME_SIZE, false);
	test_length(GPUBPF_WHOLE_NAME_SIZE + 1, false);
	test_links();
	test_same_set();
	test_timed();
	return done();
}
