/* SPDX-License-Identifier: Apache-2.0 */
/*
 * External maps are placed outside a device's own memory (core/wire/placements.def). In the arena their offsets follow
 * the part that is in device memory. The device's runtime provides memory for each external map. If that memory is the
 * arena's own pages at these offsets, no copy is needed. Otherwise the CPU copies it to the arena, also while GPU
 * kernels run.
 */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

#define ROW(row) (GPUBPF_ARENA_MAPS + (uint64_t)(row) * sizeof(struct gpubpf_map_layout))

struct gpubpf_external_map {
	struct gpubpf_external_map *next;
	uint32_t row;
	uint64_t offset, data; /* arena offset of the map's first page; offset of its values from that page */
	struct gpubpf_device_memory memory;
};

static const struct gpubpf_map_layout *row_of(const struct gpubpf_hook_device *d, uint32_t row)
{
	return (const void *)((const char *)d->host + ROW(row));
}

static uint64_t whole_pages(uint64_t size)
{
	return (size + GPUBPF_ARENA_ALIGN - 1) / GPUBPF_ARENA_ALIGN * GPUBPF_ARENA_ALIGN;
}

/*
 * Validate the map's layout, which the tool wrote. The caller passes a copy of the layout, because other processes can
 * write the original.
 */
static int validate_layout(const struct gpubpf_hook_device *d, const struct gpubpf_map_layout *l, struct gpubpf_reason *why)
{
	uint64_t size = whole_pages(l->size), caps = d->ops->device->caps(d->device)->bits;
	uint32_t where = GPUBPF_LAYOUT_PLACE(l->flags);
	const char *lacks = gpubpf_placement_lacks(where, caps);

	if (lacks || !d->ops->device->memory_get) {
		snprintf(why->text, sizeof(why->text), "the device cannot have maps in %s memory, because it lacks %s",
			 gpubpf_placement_name(where), lacks ? lacks : "all");
		return -EOPNOTSUPP;
	}
	if (l->data < l->ctl || l->data > l->ctl + l->size || l->ctl < d->own || l->ctl % GPUBPF_ARENA_ALIGN ||
	    l->ctl > d->size || size < l->size || size > d->size - l->ctl ||
	    (l->flags & GPUBPF_LAYOUT_LIVE && !gpubpf_placement_live(where, caps))) {
		snprintf(why->text, sizeof(why->text),
			 "the session's description of its memory for maps is invalid; "
			 "use the tool and the agent of one gpubpf version");
		return -EPROTO;
	}
	return 0;
}

/* Allocate the memory of one map and fill it with the session's values. */
static int place_map(struct gpubpf_hook_device *d, uint32_t row, const struct gpubpf_map_layout *l,
		     struct gpubpf_reason *why)
{
	struct gpubpf_external_map *e = NULL;
	char *host = (char *)d->host + l->ctl;
	int err = validate_layout(d, l, why);

	if (err < 0)
		return err;
	e = calloc(1, sizeof(*e));
	if (!e) {
		snprintf(why->text, sizeof(why->text), "memory for maps: %s", strerror(ENOMEM));
		return -ENOMEM;
	}
	e->row = row;
	e->offset = l->ctl;
	e->data = l->data - l->ctl;
	err = d->ops->device->memory_get(d->device, GPUBPF_LAYOUT_PLACE(l->flags), host, whole_pages(l->size),
					 &e->memory, why);
	if (!err && l->flags & GPUBPF_LAYOUT_LIVE && e->memory.host != host) {
		snprintf(why->text, sizeof(why->text),
			 "the runtime cannot share the session's memory for maps with "
			 "the device");
		d->ops->device->memory_put(d->device, &e->memory);
		err = -EOPNOTSUPP;
	}
	if (err < 0) {
		free(e);
		return err;
	}
	if (e->memory.host != host)
		memcpy(e->memory.host, host, e->memory.size);
	e->next = d->external_maps;
	d->external_maps = e;
	return 0;
}

/*
 * Copy the arena's map table to the device. In the copy, external maps have device addresses instead of arena offsets.
 */
static int push_rows(struct gpubpf_hook_device *d)
{
	const struct gpubpf_device_ops *ops = d->ops->device;
	uint64_t size = GPUBPF_ARENA_DATA - GPUBPF_ARENA_MAPS;
	struct gpubpf_map_layout *rows = malloc(size);
	int err;

	if (!rows)
		return -ENOMEM;
	memcpy(rows, row_of(d, 0), size);
	for (const struct gpubpf_external_map *e = d->external_maps; e; e = e->next) {
		rows[e->row].ctl = e->memory.address;
		rows[e->row].data = e->memory.address + e->data;
	}
	err = ops->arena_push(d->device, GPUBPF_ARENA_MAPS, rows, size);
	if (!err)
		err = gpubpf_arena_wait(ops, d->device);
	free(rows);
	return err;
}

int gpubpf_external_maps_fill(struct gpubpf_hook_device *d, uint32_t rows, struct gpubpf_reason *why)
{
	int err = rows < GPUBPF_ARENA_ROWS ? 0 : -EPROTO;

	gpubpf_assert_held(&d->lock);
	if (err < 0)
		snprintf(why->text, sizeof(why->text),
			 "the session's description of its memory for maps is invalid; "
			 "use the tool and the agent of one gpubpf version");
	for (uint32_t row = d->rows; row < rows && !err; row++) {
		struct gpubpf_map_layout l = *row_of(d, row);

		if (l.flags & GPUBPF_LAYOUT_PLACED && l.size)
			err = place_map(d, row, &l, why);
	}
	if (!err && (d->external_maps || d->filled) && (err = push_rows(d)))
		snprintf(why->text, sizeof(why->text), "cannot copy the memory for maps to the device: %s",
			 strerror(-err));
	if (!err)
		d->rows = rows;
	return err;
}

/*
 * Another process may read the mirror during the copy. Therefore copy a map's values before the words that refer to
 * them.
 */
void gpubpf_external_maps_copy(struct gpubpf_hook_device *d)
{
	gpubpf_assert_held(&d->lock);
	for (const struct gpubpf_external_map *e = d->external_maps; e; e = e->next) {
		const char *from = e->memory.host;
		char *to = (char *)d->host + e->offset;

		if (from == to)
			continue;
		memcpy(to + e->data, from + e->data, e->memory.size - e->data);
		memcpy(to, from, e->data);
	}
}

uint64_t *gpubpf_external_map_word(const struct gpubpf_hook_device *d, uint32_t row)
{
	struct gpubpf_map_layout l;

	if (row >= GPUBPF_ARENA_ROWS || !d->host)
		return NULL;
	l = *row_of(d, row); /* other processes can write the original */
	if (l.data % sizeof(uint64_t) || l.data < GPUBPF_ARENA_DATA || l.data > d->size - sizeof(uint64_t))
		return NULL;
	return d->shared || l.flags & GPUBPF_LAYOUT_LIVE ? (uint64_t *)((char *)d->host + l.data) : NULL;
}

uint32_t gpubpf_hook_device_memory(struct gpubpf_hook_device *d, enum gpubpf_placement where, void **memory, uint32_t most)
{
	uint32_t n = 0;

	pthread_mutex_lock(&d->lock);
	for (const struct gpubpf_external_map *e = d->external_maps; e; e = e->next)
		if (e->memory.where == where && e->memory.handle && n++ < most)
			memory[n - 1] = e->memory.handle;
	pthread_mutex_unlock(&d->lock);
	return n < most || !most ? n : most;
}

void gpubpf_external_maps_free(struct gpubpf_hook_device *d)
{
	struct gpubpf_external_map *e;

	while ((e = d->external_maps)) {
		d->external_maps = e->next;
		d->ops->device->memory_put(d->device, &e->memory);
		free(e);
	}
}
