/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the maps of a program as readers see them: entries by key, values, records and prints in order, and drops.
 * The position of a record in its ring depends on the device, because a warp's records share a header
 * (maps/kinds/ring.h). A print contains the device address of its arena. All other maps must be equal byte for byte,
 * because one thread wrote them with the same code.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "maps/host/host.h"
#include "maps/impl.h"
#include "random.h"

struct item {
	uint64_t key;  /* first 8 bytes of an entry's key; for other items, their index in order */
	uint64_t more; /* the key's bytes after the first 8 */
	uint32_t copy; /* index of the per-CPU or per-thread copy of the value */
	uint32_t size;
	uint8_t bytes[256]; /* the value, padded with 0 */
};

/* the items of one map in one arena, as a reader sees them */
struct listing {
	const struct random_group *group;
	struct gpubpf_map_view view;
	struct item *items;
	uint32_t n, room;
	bool bad; /* out of memory, or the ring's control words are invalid */
};

static void append(struct listing *l, uint64_t key, uint64_t more, uint32_t copy, const void *bytes, uint32_t size)
{
	if (l->n == l->room) {
		uint32_t room = l->room ? 2 * l->room : 64;
		struct item *items = realloc(l->items, room * sizeof(*items));

		if (!items) {
			l->bad = true;
			return;
		}
		l->items = items;
		l->room = room;
	}
	l->items[l->n] = (struct item){ .key = key, .more = more, .copy = copy, .size = size };
	memcpy(l->items[l->n++].bytes, bytes, size < sizeof(l->items->bytes) ? size : sizeof(l->items->bytes));
}

static int by_key(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->more != y->more ? (x->more < y->more ? -1 : 1) : x->copy < y->copy ? -1 : x->copy > y->copy;
}

static void list_entries(struct listing *l)
{
	uint32_t size = l->view.map->value_size, all = (uint32_t)gpubpf_map_user_value_size(&l->view);
	uint8_t *values = malloc(all);
	uint64_t cursor = 0, key[2] = { 0 };

	l->bad = !values;
	while (values && gpubpf_map_iterate(&l->view, &cursor, key, values) == 0)
		for (uint32_t at = 0; at < all; at += GPUBPF_ROUND8(size))
			append(l, key[0], key[1], at / GPUBPF_ROUND8(size), values + at, size);
	free(values);
	if (l->n)
		qsort(l->items, l->n, sizeof(*l->items), by_key);
}

static void list_values(struct listing *l)
{
	uint64_t value[GEN_MAX_VALUE_BYTES / 8];

	while (gpubpf_map_lookup_and_delete(&l->view, NULL, value) == 0)
		append(l, l->n, 0, 0, value, l->view.map->value_size);
}

static int list_record(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct listing *l = arg;

	(void)copy;
	append(l, l->n, 0, 0, data, size);
	return 0;
}

static int list_print(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct listing *l = arg;
	struct gpubpf_print p;
	char text[sizeof(l->items->bytes)];
	int n;

	(void)copy;
	if (gpubpf_print_decode(l->view.arena, &l->group->unit, &l->group->layout, data, size, &p) < 0) {
		l->bad = true;
		return 0;
	}
	n = snprintf(text, sizeof(text),
		     "%" PRIx64 " %" PRIx64 " %u %" PRIu64 ",%" PRIu64 ",%" PRIu64 " %" PRIu64 ",%" PRIu64 ",%" PRIu64
		     " %s",
		     p.kernel, p.launch, p.prog, p.block[0], p.block[1], p.block[2], p.thread[0], p.thread[1],
		     p.thread[2], p.text);
	append(l, l->n, 0, 0, text, n < (int)sizeof(text) ? (uint32_t)n : (uint32_t)sizeof(text) - 1);
	return 0;
}

static void list_records(struct listing *l)
{
	if (gpubpf_ring_read(&l->view, l->view.map ? list_record : list_print, l) < 0)
		l->bad = true;
}

static void list(struct listing *l)
{
	const struct gpubpf_map_impl *impl = gpubpf_map_impl_of(&l->view);

	if (l->view.layout->flags & GPUBPF_LAYOUT_RING)
		list_records(l);
	else if (impl->take && !l->view.map->key_size)
		list_values(l);
	else
		list_entries(l);
}

/* Return the noun for an item of this map in messages: print, record, key or value. */
static const char *item_noun(const struct gpubpf_map_view *view)
{
	return !view->map                               ? "print" :
	       view->layout->flags & GPUBPF_LAYOUT_RING ? "record" :
	       view->map->key_size                      ? "key" :
							  "value";
}

struct comparison {
	struct listing host, device;
	const char *name; /* name of the compared map */
	bool all;         /* also compare the parts of maps that readers do not see */
	char *what;
	size_t size;
};

static uint64_t word_at(const struct item *item, uint32_t at)
{
	uint64_t word;

	memcpy(&word, item->bytes + at, sizeof(word));
	return word;
}

static void describe_key(const struct comparison *b, const struct item *item, bool of_host)
{
	snprintf(b->what, b->size, "map %s has key %" PRIu64 " only on the %s", b->name, item->key,
		 of_host ? "interpreter" : "device");
}

/* Store a description of how two items differ in b->what. */
static void describe_items(const struct comparison *b, const struct item *x, const struct item *y)
{
	const char *of = item_noun(&b->host.view);
	char copy[24] = "";
	uint32_t at = 0;

	while (at < sizeof(x->bytes) - 8 && word_at(x, at) == word_at(y, at))
		at += 8;
	if (x->copy)
		snprintf(copy, sizeof(copy), ", copy %u", x->copy);
	if (!b->host.view.map)
		snprintf(b->what, b->size, "print %" PRIu64 " is '%.100s', not '%.100s'", x->key,
			 (const char *)y->bytes, (const char *)x->bytes);
	else if (x->key != y->key || x->more != y->more)
		describe_key(b, by_key(x, y) < 0 ? x : y, by_key(x, y) < 0);
	else if (x->size != y->size)
		snprintf(b->what, b->size, "map %s, %s %" PRIu64 ": %u bytes, not %u", b->name, of, x->key, y->size,
			 x->size);
	else
		snprintf(b->what, b->size, "map %s, %s %" PRIu64 "%s, byte %u: 0x%" PRIx64 ", not 0x%" PRIx64, b->name,
			 of, x->key, copy, at, word_at(y, at), word_at(x, at));
}

static bool items_differ(const struct comparison *b)
{
	const struct listing *longer = b->host.n > b->device.n ? &b->host : &b->device;
	uint32_t n = b->host.n < b->device.n ? b->host.n : b->device.n;

	for (uint32_t i = 0; i < n; i++)
		if (memcmp(&b->host.items[i], &b->device.items[i], sizeof(struct item))) {
			describe_items(b, &b->host.items[i], &b->device.items[i]);
			return true;
		}
	if (b->host.n == b->device.n)
		return false;
	if (longer->view.map && longer->view.map->key_size)
		describe_key(b, &longer->items[n], longer == &b->host);
	else
		snprintf(b->what, b->size, "map %s: %u %ss on the device, %u on the interpreter", b->name, b->device.n,
			 item_noun(&b->host.view), b->host.n);
	return true;
}

/*
 * Returns true if the parts of maps that readers do not see differ, such as free lists and links. Rings are compared
 * only by their drops.
 */
static bool internals_differ(const struct comparison *b)
{
	const struct gpubpf_map_layout *l = b->host.view.layout;
	const uint8_t *x = b->host.view.arena, *y = b->device.view.arena;
	uint64_t drops = gpubpf_map_drops(&b->host.view), theirs = gpubpf_map_drops(&b->device.view);

	if (drops != theirs) {
		snprintf(b->what, b->size, "map %s: drops on the device %" PRIu64 ", on the interpreter %" PRIu64,
			 b->name, theirs, drops);
		return true;
	}
	if (l->flags & GPUBPF_LAYOUT_RING || !memcmp(x + l->ctl, y + l->ctl, l->size))
		return false;
	for (uint64_t i = 0; i < l->size; i++)
		if (x[l->ctl + i] != y[l->ctl + i]) {
			snprintf(b->what, b->size,
				 "map %s has equal values, but its internal data differs from byte %" PRIu64
				 " of %" PRIu64 " on",
				 b->name, i, l->size);
			return true;
		}
	return false;
}

/* Returns true if a map other than a ring is equal byte for byte. Then its items need not be compared. */
static bool is_equal(const struct comparison *b)
{
	const struct gpubpf_map_layout *l = b->host.view.layout;

	return b->all && l->size && !(l->flags & GPUBPF_LAYOUT_RING) && !internals_differ(b);
}

static bool map_differs(struct comparison *b)
{
	bool differs;

	if (is_equal(b))
		return false;
	list(&b->host);
	list(&b->device);
	differs = b->host.bad || b->device.bad;
	if (differs)
		snprintf(b->what, b->size, "map %s cannot be read %s", b->name,
			 b->host.bad ? "on the interpreter" : "on the device");
	differs = differs || items_differ(b) || (b->all && internals_differ(b));
	free(b->host.items);
	free(b->device.items);
	return differs;
}

bool random_differs(const struct random_group *g, void *host, void *device, bool all, char *what, size_t size)
{
	for (uint32_t m = 0; m < GEN_NMAPS + (g->layout.print_ring != 0); m++) {
		const struct gpubpf_map *map = m < GEN_NMAPS ? &g->maps[m] : NULL;
		const struct gpubpf_map_layout *l = map ? &g->layout.maps[m] : &g->layout.prints;
		struct comparison b = {
			.host = { .group = g, .view = { host, map, l } },
			.device = { .group = g, .view = { device, map, l } },
			.name = map ? map->name : "of prints",
			.all = all,
			.what = what,
			.size = size,
		};

		if (!(map && map->prototype) && map_differs(&b))
			return true;
	}
	return false;
}
