/* SPDX-License-Identifier: Apache-2.0 */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARTS 8u /* a full ring has at least 7 full parts */

struct part {
	uint8_t *data;
	size_t size, room;
	size_t open_from, open_to; /* the spans that were open at the begin */
};

struct ring {
	uint64_t part_bytes, lost;
	struct part part[PARTS]; /* [n], the oldest first */
	uint32_t n;
};

struct ring *ring_create(uint64_t bytes)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	if (!ring)
		return NULL;
	ring->part_bytes = bytes / PARTS;
	ring->n = 1;
	return ring;
}

static void drop_oldest(struct ring *ring)
{
	free(ring->part[0].data);
	memmove(&ring->part[0], &ring->part[1], (PARTS - 1) * sizeof(ring->part[0]));
	ring->part[--ring->n] = (struct part){ 0 };
}

void ring_destroy(struct ring *ring)
{
	if (!ring)
		return;
	while (ring->n)
		drop_oldest(ring);
	free(ring);
}

static struct part *last_part(struct ring *ring)
{
	return &ring->part[ring->n - 1];
}

void ring_append(struct ring *ring, const void *data, size_t size)
{
	struct part *p = last_part(ring);

	if (size > p->room - p->size) {
		size_t room = 2 * p->room + size + 4096;
		uint8_t *bigger = realloc(p->data, room);

		if (!bigger) {
			ring->lost += size;
			return;
		}
		p->data = bigger;
		p->room = room;
	}
	memcpy(p->data + p->size, data, size);
	p->size += size;
}

bool ring_is_part_full(const struct ring *ring)
{
	return ring->part[ring->n - 1].size >= ring->part_bytes;
}

void ring_begin_part(struct ring *ring)
{
	struct part *p = last_part(ring);
	uint8_t *exact = p->size ? realloc(p->data, p->size) : NULL;

	if (exact) {
		p->data = exact;
		p->room = p->size;
	}
	if (ring->n == PARTS)
		drop_oldest(ring);
	ring->n++;
}

void ring_begin_open_spans(struct ring *ring)
{
	last_part(ring)->open_from = last_part(ring)->size;
}

void ring_end_open_spans(struct ring *ring)
{
	last_part(ring)->open_to = last_part(ring)->size;
}

static int write_bytes(int fd, const uint8_t *data, size_t size)
{
	while (size) {
		ssize_t n = write(fd, data, size);

		if (n < 0 && errno != EINTR)
			return -errno;
		data += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int64_t ring_write(struct ring *ring, int fd)
{
	int64_t written = 0;
	int err = 0;

	for (uint32_t i = 0; i < ring->n && !err; i++) {
		const struct part *p = &ring->part[i];
		size_t from = i ? p->open_from : p->open_to; /* the oldest part keeps its open spans */

		err = write_bytes(fd, p->data, from);
		if (!err)
			err = write_bytes(fd, p->data + p->open_to, p->size - p->open_to);
		written += (int64_t)(from + p->size - p->open_to);
	}
	while (ring->n > 1)
		drop_oldest(ring);
	ring->part[0].size = ring->part[0].open_from = ring->part[0].open_to = 0;
	return err ? err : written;
}

uint64_t ring_lost(const struct ring *ring)
{
	return ring->lost;
}
