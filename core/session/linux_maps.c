/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps that programs of the Linux kernel and those for a GPU both name, where one memory cannot be both's: each side has one,
 * and what happens to either is carried to the other, every few milliseconds and before anybody reads them. Side 0 are the
 * session's arenas, side 1 is the kernel's map.
 */
#include "linux_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/linux_map.h"
#include "maps/impl.h"
#include "merge.h"

#define PASS_SHARE 20u                 /* passes take one of so many parts of the time, at most */
#define MIRRORS_NS 100000000ull        /* how often maps in a device's own memory are copied for passes */

struct carried {
	struct gpubpf_session *s;
	uint32_t map;
	uint32_t word;                     /* bytes; 0: values change as a whole */
	struct gpubpf_linux_map *kernel;
	struct gpubpf_merge *merge;
	bool told;                         /* that there was no room */
	gpubpf_merge_found_fn found;       /* of the walk in hand */
	void *arg;
};

struct gpubpf_linux_maps {
	uint32_t n;
	uint64_t next_ns, mirrors_ns;
	struct carried all[GPUBPF_MAX_MAPS];
};

/* -- the session's side -- */

static const struct gpubpf_map *map_of(const struct carried *c)
{
	return &c->s->loaded->unit.maps[c->map];
}

static bool sums(const struct carried *c)
{
	return gpubpf_map_sums(c->s, c->map);
}

static int each_in_arena(struct carried *c, uint32_t arena, uint8_t *key, uint8_t *value)
{
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, arena, c->map);
	uint64_t cursor = 0;
	int err = 0;

	while (!err) {
		err = gpubpf_map_iterate(&view, &cursor, key, value);
		if (!err)
			err = c->found(c->arg, key, value, !arena);
	}
	return err == -ENOENT ? 0 : err;
}

/* Of each key what all arenas together have. */
static int each_summed(struct carried *c, uint8_t *key, uint8_t *value)
{
	const struct gpubpf_map *map = map_of(c);
	uint64_t left = (uint64_t)map->max_entries * c->s->narenas;
	uint8_t *next = value + map->value_size;
	int err = gpubpf_map__get_next_key(map, NULL, key, map->key_size);

	for (; !err && left; left--) {
		err = gpubpf_map__lookup_elem(map, key, map->key_size, value, map->value_size, 0);
		err = err ? 0 : c->found(c->arg, key, value, true);
		if (!err)
			err = gpubpf_map__get_next_key(map, key, next, map->key_size);
		if (!err)
			memcpy(key, next, map->key_size);
	}
	return err == -ENOENT ? 0 : err;
}

/* As look-ups have it: of several arenas the last that has a key, or all added up. */
static int arenas_each(void *side, gpubpf_merge_found_fn found, void *arg)
{
	struct carried *c = side;
	const struct gpubpf_map *map = map_of(c);
	uint8_t *key = calloc(1, map->key_size + 8), *value = calloc(1, map->value_size + map->key_size + 16);
	int err = key && value ? 0 : -ENOMEM;

	c->found = found;
	c->arg = arg;
	if (!err && sums(c) && c->s->narenas > 1)
		err = each_summed(c, key, value);
	else
		for (uint32_t i = 0; i < c->s->narenas && !err; i++)
			err = each_in_arena(c, i, key, value);
	free(key);
	free(value);
	return err;
}

static uint64_t word_of(const struct carried *c, const void *value, uint32_t at)
{
	uint64_t w = 0;

	memcpy(&w, (const char *)value + at, c->word);
	return w;
}

static int arenas_add(void *side, const void *key, const void *value)
{
	struct carried *c = side;
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);
	int err = 0;

	for (uint32_t at = 0; at < view.map->value_size && !err; at += c->word)
		if (word_of(c, value, at))
			err = gpubpf_map_add(&view, key, at, c->word, word_of(c, value, at));
	c->s->map_set[c->map] = true;
	return err;
}

static int arenas_exchange(void *side, const void *key, const void *old, const void *value)
{
	struct carried *c = side;
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);
	int err = 0, one;

	c->s->map_set[c->map] = true;
	if (c->s->narenas > 1 || !c->word)
		return gpubpf_map__update_elem(map_of(c), key, view.map->key_size, value, view.map->value_size, BPF_ANY);
	for (uint32_t at = 0; at < view.map->value_size; at += c->word) {
		if (word_of(c, old, at) == word_of(c, value, at))
			continue;
		one = gpubpf_map_exchange(&view, key, at, c->word, word_of(c, old, at), word_of(c, value, at));
		err = err || one == -EAGAIN ? err : one;
	}
	return err;
}

static int arenas_insert(void *side, const void *key, const void *value)
{
	const struct gpubpf_map *map = map_of(side);

	return gpubpf_map__update_elem(map, key, map->key_size, value, map->value_size, BPF_NOEXIST);
}

static int arenas_erase(void *side, const void *key)
{
	const struct gpubpf_map *map = map_of(side);

	return gpubpf_map__delete_elem(map, key, map->key_size, 0);
}

/* -- the kernel's -- */

static int kernel_element(void *arg, const void *key, const void *value)
{
	struct carried *c = arg;

	return c->found(c->arg, key, value, true);
}

static int kernel_each(void *side, gpubpf_merge_found_fn found, void *arg)
{
	struct carried *c = side;

	c->found = found;
	c->arg = arg;
	return gpubpf_linux_map_each(c->kernel, kernel_element, c);
}

static int kernel_add(void *side, const void *key, const void *value)
{
	return gpubpf_linux_map_add(((struct carried *)side)->kernel, key, value);
}

static int kernel_exchange(void *side, const void *key, const void *old, const void *value)
{
	return gpubpf_linux_map_exchange(((struct carried *)side)->kernel, key, old, value);
}

static int kernel_insert(void *side, const void *key, const void *value)
{
	return gpubpf_linux_map_update(((struct carried *)side)->kernel, key, value, BPF_NOEXIST);
}

static int kernel_erase(void *side, const void *key)
{
	return gpubpf_linux_map_delete(((struct carried *)side)->kernel, key);
}

/* -- made -- */

/* Why maps of the type cannot be carried; NULL: they can. */
static const char *not_carried(const struct gpubpf_map *map)
{
	uint32_t flags = map->type->flags;

	if (flags & GPUBPF_MAP_OF_MAPS)
		return "what stands in them are each side's own maps";
	if (flags & GPUBPF_MAP_PROGS)
		return "what stands in them are each side's own programs";
	if (flags & GPUBPF_MAP_STACKS)
		return "the ids of stacks are each side's own";
	if (flags & GPUBPF_MAP_ASKED)
		return "nobody can read what was pushed";
	return flags & GPUBPF_MAP_KEYED && !(flags & GPUBPF_MAP_COPIES) ? NULL : "maps of this kind are not carried";
}

static uint32_t word_size(const struct gpubpf_session *s, uint32_t map)
{
	uint32_t size = s->loaded->unit.maps[map].value_size;

	if (gpubpf_map_sums(s, map))
		return s->map_use[map] & GPUBPF_USE_ADD4 ? 4 : 8;
	return size / 4 > GPUBPF_LINUX_WORDS ? 0 : size % 8 ? size % 4 ? 0 : 4 : 8;
}

static int make_merge(struct carried *c)
{
	const struct gpubpf_map *map = map_of(c);
	const struct gpubpf_merge_side sides[2] = {
		{ c, arenas_each, arenas_add, arenas_exchange, arenas_insert, arenas_erase },
		{ c, kernel_each, kernel_add, kernel_exchange, kernel_insert, kernel_erase },
	};
	const struct gpubpf_merge_opts opts = {
		.key_size = map->key_size, .value_size = map->value_size, .word = c->word ? c->word : map->value_size,
		.sums = sums(c), .forgets = map->type->flags & GPUBPF_MAP_LRU,
	};

	c->merge = gpubpf_merge_new(&opts, sides);
	return c->merge ? 0 : -ENOMEM;
}

static void close_carried(struct carried *c)
{
	gpubpf_merge_free(c->merge);
	gpubpf_linux_map_close(c->kernel);
}

static int open_carried(struct carried *c, int fd)
{
	const struct gpubpf_map *map = map_of(c);
	struct gpubpf_linux_map_opts opts = { .fd = fd, .key_size = map->key_size, .value_size = map->value_size };
	int err;

	c->word = opts.word = word_size(c->s, c->map);
	if (sums(c) && map->value_size / c->word > GPUBPF_LINUX_WORDS)
		return -E2BIG;
	err = gpubpf_linux_map_open(&opts, &c->kernel);
	if (!err)
		err = make_merge(c);
	if (err < 0)
		close_carried(c);
	return err;
}

static int add_carried(struct gpubpf_session *s, uint32_t map, int fd)
{
	struct carried *c;
	int err;

	if (!s->linux_maps)
		s->linux_maps = calloc(1, sizeof(*s->linux_maps));
	if (!s->linux_maps)
		return -ENOMEM;
	c = &s->linux_maps->all[s->linux_maps->n];
	*c = (struct carried){ .s = s, .map = map };
	err = open_carried(c, fd);
	s->linux_maps->n += !err;
	return err;
}

void gpubpf_linux_maps_add(struct gpubpf_session *s, uint32_t map, int fd)
{
	const char *why = not_carried(&s->loaded->unit.maps[map]);
	int err = why ? 0 : add_carried(s, map, fd);

	if (err < 0)
		why = err == -E2BIG ? "values that are added to are larger than 1,024 words" : strerror(-err);
	if (why)
		gpubpf_load_note(s->loaded, "map %s is not shared: the Linux kernel's programs and those for a GPU have one each: %s",
				 s->loaded->unit.maps[map].name, why);
}

void gpubpf_linux_maps_close(struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->linux_maps && i < s->linux_maps->n; i++)
		close_carried(&s->linux_maps->all[i]);
	free(s->linux_maps);
	s->linux_maps = NULL;
}

/* -- passes -- */

static void tell_homeless(struct carried *c)
{
	bool kernel = gpubpf_merge_homeless(c->merge, 1), own = gpubpf_merge_homeless(c->merge, 0);

	if (c->told || !(kernel || own))
		return;
	c->told = true;
	gpubpf_session_note(c->s, "map %s: it is full %s: keys that there is no room for there are on the other side alone",
			    map_of(c)->name, kernel ? "where the Linux kernel's programs see it" : "where programs for a GPU see it");
}

static void pass(struct carried *c)
{
	int err = gpubpf_merge_pass(c->merge);

	if (err < 0)
		gpubpf_session_note(c->s, "map %s: what one side wrote did not reach the other: %s", map_of(c)->name, strerror(-err));
	tell_homeless(c);
}

void gpubpf_linux_maps_pass(struct gpubpf_session *s)
{
	uint64_t began = gpubpf_now_ns(), ended;

	if (!s->linux_maps)
		return;
	for (uint32_t i = 0; i < s->linux_maps->n; i++)
		pass(&s->linux_maps->all[i]);
	ended = gpubpf_now_ns();
	s->linux_maps->next_ns = ended + PASS_SHARE * (ended - began);
	if (s->linux_maps->next_ns < began + GPUBPF_LINUX_PASS_NS)
		s->linux_maps->next_ns = began + GPUBPF_LINUX_PASS_NS;
}

void gpubpf_linux_maps_poll(struct gpubpf_session *s)
{
	if (s->linux_maps && s->linux_maps->n && gpubpf_now_ns() >= s->linux_maps->next_ns)
		gpubpf_linux_maps_pass(s);
}

bool gpubpf_linux_maps_want_mirrors(struct gpubpf_session *s)
{
	uint64_t now = gpubpf_now_ns();

	if (!s->linux_maps || !s->linux_maps->n || now < s->linux_maps->mirrors_ns)
		return false;
	s->linux_maps->mirrors_ns = now + MIRRORS_NS;
	return true;
}
