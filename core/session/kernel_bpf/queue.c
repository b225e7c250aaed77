/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queues and stacks. Values go to the side whose programs take them out, or to the session's side if neither's do.
 * Values of one side keep their order. Values that find no room wait in the tool.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel_maps.h"

static bool is_stack(const struct gpubpf_map *map)
{
	return map->type->number == BPF_MAP_TYPE_STACK;
}

static uint8_t *value_at(const struct gpubpf_linux_carried *c, uint32_t i)
{
	return c->hand + (size_t)i * gpubpf_linux_carried_map(c)->value_size;
}

static int pop_value(struct gpubpf_linux_carried *c, void *value)
{
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);

	return c->takes ? gpubpf_map_take(&view, NULL, value) : gpubpf_linux_map_take(c->kernel, value);
}

static int put(struct gpubpf_linux_carried *c, const void *value)
{
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);

	return c->takes ? gpubpf_linux_map_update(c->kernel, NULL, value, BPF_ANY) : gpubpf_map_update(&view, NULL, value, BPF_ANY);
}

/* Reverse the order, since a stack's newest value comes out first. */
static void reverse_values(struct gpubpf_linux_carried *c, uint32_t first, uint8_t *scratch)
{
	size_t size = gpubpf_linux_carried_map(c)->value_size;

	for (uint32_t a = first, b = c->in_hand; a + 1 < b; a++) {
		memcpy(scratch, value_at(c, a), size);
		memcpy(value_at(c, a), value_at(c, --b), size);
		memcpy(value_at(c, b), scratch, size);
	}
}

static int pop_all(struct gpubpf_linux_carried *c)
{
	const struct gpubpf_map *map = gpubpf_linux_carried_map(c);
	uint32_t first = c->in_hand;
	int err = 0;

	while (!err && c->in_hand < map->max_entries) {
		err = pop_value(c, value_at(c, c->in_hand));
		c->in_hand += !err;
	}
	if (is_stack(map))
		reverse_values(c, first, value_at(c, map->max_entries));
	return err == -ENOENT || err == -EBUSY ? 0 : err;
}

static int push_all(struct gpubpf_linux_carried *c)
{
	uint32_t done = 0;
	int err = 0;

	while (!err && done < c->in_hand) {
		err = put(c, value_at(c, done));
		done += !err;
	}
	c->in_hand -= done;
	memmove(c->hand, value_at(c, done), (size_t)c->in_hand * gpubpf_linux_carried_map(c)->value_size);
	return err == -E2BIG || err == -EBUSY ? 0 : err;
}

/* Only a device's programs push to a queue in the device's own memory, or pop from it. */
static void warn_not_shared(struct gpubpf_linux_carried *c)
{
	for (uint32_t i = 1; i < c->s->narenas; i++)
		if (c->s->arenas[i].used)
			gpubpf_session_note(c->s, "map %s: %s has its own memory, whose values only its programs see",
					    gpubpf_linux_carried_map(c)->name, c->s->arenas[i].name);
}

bool gpubpf_linux_queue_is_split(const struct gpubpf_session *s, uint32_t map, bool takes)
{
	return takes && s->map_use[map] & (GPUBPF_USE_DELETE | GPUBPF_USE_READ);
}

static int pass_queue(struct gpubpf_linux_carried *c)
{
	int err, put;

	c->split = gpubpf_linux_queue_is_split(c->s, c->map, c->takes);
	if (c->split) {
		gpubpf_session_note(c->s, GPUBPF_LINUX_APART, gpubpf_linux_carried_map(c)->name, GPUBPF_LINUX_BOTH_TAKE);
		return 0;
	}
	err = pop_all(c);
	put = push_all(c);
	warn_not_shared(c);
	if (c->in_hand)
		gpubpf_session_note(c->s, "map %s: it is full on the side whose programs take values out: values of "
					  "the other side wait",
				    gpubpf_linux_carried_map(c)->name);
	return err ? err : put;
}

static int open_queue(struct gpubpf_linux_carried *c)
{
	const struct gpubpf_map *map = gpubpf_linux_carried_map(c);
	const struct gpubpf_linux_map_opts kernel = { .fd = c->fd, .value_size = map->value_size };

	c->hand = calloc((size_t)map->max_entries + 1, map->value_size);
	return c->hand ? gpubpf_linux_map_open(&kernel, &c->kernel) : -ENOMEM;
}

static void close_queue(struct gpubpf_linux_carried *c)
{
	gpubpf_linux_map_close(c->kernel);
	free(c->hand);
}

const struct gpubpf_linux_kind gpubpf_linux_queue = { open_queue, pass_queue, NULL, close_queue };
