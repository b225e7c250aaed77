/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronizes queues and stacks. A pass moves values to the map whose programs pop them, or to the session's map if no
 * program pops. Values that programs pushed into one map keep their order. Values that do not fit wait in
 * c->in_transit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

static bool is_stack(const struct gpubpf_map *map)
{
	return map->type->number == BPF_MAP_TYPE_STACK;
}

static uint8_t *value_at(const struct gpubpf_linux_synced_map *c, uint32_t i)
{
	return c->in_transit + (size_t)i * gpubpf_linux_get_map(c)->value_size;
}

static int pop_value(struct gpubpf_linux_synced_map *c, void *value)
{
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);

	return c->kernel_pops ? gpubpf_map_lookup_and_delete(&view, NULL, value) : gpubpf_linux_map_pop(c->kernel, value);
}

static int put(struct gpubpf_linux_synced_map *c, const void *value)
{
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);

	return c->kernel_pops ? gpubpf_linux_map_update(c->kernel, NULL, value, BPF_ANY) :
				gpubpf_map_update(&view, NULL, value, BPF_ANY);
}

/* Reverse the order of the values from index `first` on, because a stack pops its newest value first. */
static void reverse_values(struct gpubpf_linux_synced_map *c, uint32_t first, uint8_t *scratch)
{
	size_t size = gpubpf_linux_get_map(c)->value_size;

	for (uint32_t a = first, b = c->n_in_transit; a + 1 < b; a++) {
		memcpy(scratch, value_at(c, a), size);
		memcpy(value_at(c, a), value_at(c, --b), size);
		memcpy(value_at(c, b), scratch, size);
	}
}

static int pop_all(struct gpubpf_linux_synced_map *c)
{
	const struct gpubpf_map *map = gpubpf_linux_get_map(c);
	uint32_t first = c->n_in_transit;
	int err = 0;

	while (!err && c->n_in_transit < map->max_entries) {
		err = pop_value(c, value_at(c, c->n_in_transit));
		c->n_in_transit += !err;
	}
	if (is_stack(map))
		reverse_values(c, first, value_at(c, map->max_entries));
	return err == -ENOENT || err == -EBUSY ? 0 : err;
}

static int push_all(struct gpubpf_linux_synced_map *c)
{
	uint32_t done = 0;
	int err = 0;

	while (!err && done < c->n_in_transit) {
		err = put(c, value_at(c, done));
		done += !err;
	}
	c->n_in_transit -= done;
	memmove(c->in_transit, value_at(c, done), (size_t)c->n_in_transit * gpubpf_linux_get_map(c)->value_size);
	return err == -E2BIG || err == -EBUSY ? 0 : err;
}

/* Warn about devices with their own memory, because the values in their queues are not synchronized. */
static void warn_not_shared(struct gpubpf_linux_synced_map *c)
{
	for (uint32_t i = 1; i < gpubpf_arenas_count(c->s); i++)
		if (gpubpf_arena_at(c->s, i)->used)
			gpubpf_session_note(c->s,
					    "map %s: %s has its own memory, so only the programs on this device see "
					    "the values that they push",
					    gpubpf_linux_get_map(c)->name, gpubpf_arena_at(c->s, i)->name);
}

bool gpubpf_linux_queue_is_split(const struct gpubpf_session *s, uint32_t map, bool kernel_pops)
{
	return kernel_pops && gpubpf_session_map_use(s)[map] & (GPUBPF_USE_DELETE | GPUBPF_USE_READ);
}

static int pass_queue(struct gpubpf_linux_synced_map *c)
{
	int err, put;

	c->both_pop = gpubpf_linux_queue_is_split(c->s, c->map, c->kernel_pops);
	if (c->both_pop) {
		gpubpf_session_note(c->s, GPUBPF_LINUX_NOT_SHARED, gpubpf_linux_get_map(c)->name, GPUBPF_LINUX_BOTH_TAKE);
		return 0;
	}
	err = pop_all(c);
	put = push_all(c);
	warn_not_shared(c);
	if (c->n_in_transit)
		gpubpf_session_note(c->s,
				    "map %s: the map from which programs pop values is full; new values wait; raise "
				    "max_entries",
				    gpubpf_linux_get_map(c)->name);
	return err ? err : put;
}

static int open_queue(struct gpubpf_linux_synced_map *c)
{
	const struct gpubpf_map *map = gpubpf_linux_get_map(c);
	const struct gpubpf_linux_map_opts kernel = { .fd = c->fd, .value_size = map->value_size };

	c->in_transit = calloc((size_t)map->max_entries + 1, map->value_size);
	return c->in_transit ? gpubpf_linux_map_open(&kernel, &c->kernel) : -ENOMEM;
}

static void close_queue(struct gpubpf_linux_synced_map *c)
{
	gpubpf_linux_map_close(c->kernel);
	free(c->in_transit);
}

const struct gpubpf_linux_kind gpubpf_linux_queue = { open_queue, pass_queue, NULL, close_queue };
