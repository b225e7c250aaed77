/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a launch's results, which are in an arena, with the expectations of a case. */
#include <stdlib.h>
#include <string.h>

#include "verdict.h"

struct arena_judging {
	struct judging j; /* must be the first member: the code casts between both structs */
	const struct grid *g;
	uint32_t i; /* index of the case in the group, and of the case's object in the unit */
	void *arena;
};

static struct gpubpf_map_view view_of(const struct judging *j, const struct gpubpf_map *map)
{
	const struct arena_judging *in = (const struct arena_judging *)j;

	return (struct gpubpf_map_view){ in->arena, map, &in->g->layout.maps[map - in->g->loaded->unit.maps] };
}

static const struct gpubpf_map *find(const struct judging *j, const char *name)
{
	const struct arena_judging *in = (const struct arena_judging *)j;
	const struct gpubpf_unit *unit = &in->g->loaded->unit;

	for (uint32_t m = 0; m < unit->nmaps; m++)
		if ((uint32_t)unit->maps[m].object == in->i && !strcmp(unit->maps[m].name, name))
			return &unit->maps[m];
	return NULL;
}

static const struct btf *btf(const struct judging *j)
{
	const struct arena_judging *in = (const struct arena_judging *)j;

	return in->g->loaded->objects[in->i].btf;
}

static void walk(const struct judging *j, const struct gpubpf_map *map,
		 bool (*fn)(void *arg, const void *key, const void *value), void *arg)
{
	struct gpubpf_map_view view = view_of(j, map);
	uint8_t *key = calloc(1, map->key_size + 8), *value = calloc(1, gpubpf_map_user_value_size(&view) + 8);
	uint64_t cursor = 0;

	while (key && value && gpubpf_map_iterate(&view, &cursor, key, value) == 0)
		if (!fn(arg, key, value))
			break;
	free(key);
	free(value);
}

static uint64_t records(const struct judging *j, const struct gpubpf_map *map)
{
	struct gpubpf_map_view view = view_of(j, map);
	int64_t n = gpubpf_ring_read(&view, NULL, NULL);

	return n < 0 ? UINT64_MAX : (uint64_t)n;
}

static uint64_t drops(const struct judging *j, const struct gpubpf_map *map)
{
	struct gpubpf_map_view view = view_of(j, map);

	return gpubpf_map_drops(&view);
}

struct counted {
	const struct arena_judging *in;
	const void *arena;
	const char *text;
	uint64_t n;
	char *other;
	size_t size;
};

static int take_print(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct counted *c = arg;
	const struct gpubpf_unit *unit = &c->in->g->loaded->unit;
	struct gpubpf_print print;

	(void)copy;
	if (gpubpf_print_decode(c->arena, unit, &c->in->g->layout, data, size, &print) < 0 ||
	    print.prog >= unit->nprogs || (uint32_t)unit->progs[print.prog].object != c->in->i)
		return 0;
	if (!strcmp(print.text, c->text))
		c->n++;
	else
		snprintf(c->other, c->size, "%.190s", print.text);
	return 0;
}

/*
 * Count the prints with this text. Reading removes prints from the ring, so read a copy of the arena: other lines of
 * the expectations may count the same prints.
 */
static uint64_t prints(const struct judging *j, const char *text, char *other, size_t size)
{
	const struct arena_judging *in = (const struct arena_judging *)j;
	void *copy = malloc(in->g->layout.size);
	struct counted c = { in, copy, text, 0, other, size };
	struct gpubpf_map_view view;

	if (!copy)
		return UINT64_MAX;
	memcpy(copy, in->arena, in->g->layout.size);
	if (gpubpf_print_view(copy, &in->g->layout, &view))
		gpubpf_ring_read(&view, take_print, &c);
	free(copy);
	return c.n;
}

void grid_judge(const struct grid *g, uint32_t i, const struct gpubpf_device_caps *caps, void *arena,
		const struct grid_run *run, struct suite_result *r)
{
	static const struct judge_ops left = { find, btf, walk, records, drops, prints };
	const struct suite_case *c = &g->suite->cases[g->cases[i]];
	struct arena_judging in = { { c, r, &left, grid_threads(c, caps), run }, g, i, arena };

	suite_judge(&in.j);
}
