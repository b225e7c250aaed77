/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges the records of Linux kernel programs and of GPU programs in rings by time. The time of a record is one of its
 * members. Without such a member it is the time when the session read the record. A record waits
 * GPUBPF_LINUX_RECORD_WAIT_NS for earlier records.
 */
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/maps/loader_ops.h"
#include "core/wire/unix_time.h"
#include "core/session/maps/entries.h"
#include "private.h"

/* maximum bytes of waiting records; above this limit, the earliest record is delivered at once */
#define WAITING_BYTES (64u << 20)
#define PERF_PAGES 64                  /* pages of each CPU's buffer */
#define AHEAD_NS 1000000000ull         /* a member whose value is later than now + AHEAD_NS is not a time */

static const char *const time_names[] = {
	"time", "time_ns", "ts", "ts_ns", "timestamp", "timestamp_ns", "ktime", "ktime_ns", "nsecs",
};

/* -- the time of a record -- */

static bool is_time(const struct btf *btf, const struct btf_type *t, uint32_t i)
{
	const struct btf_member *m = &btf_members(t)[i];
	const char *name = btf__name_by_offset(btf, m->name_off);
	bool is_signed;

	if (!name || btf_member_bitfield_size(t, i) || btf_member_bit_offset(t, i) % 8 ||
	    !gpubpf_btf_is_int(btf, m->type, sizeof(uint64_t), &is_signed))
		return false;
	for (size_t n = 0; n < sizeof(time_names) / sizeof(time_names[0]); n++)
		if (!strcmp(name, time_names[n]))
			return true;
	return false;
}

static int32_t find_time_member(const struct gpubpf_linux_synced_map *c, uint32_t type)
{
	const struct btf *btf = gpubpf_map_btf(c->s, c->map);
	uint32_t stripped = gpubpf_btf_strip(btf, type);
	const struct btf_type *t = stripped ? btf__type_by_id(btf, stripped) : NULL;

	for (uint32_t i = 0; t && btf_is_struct(t) && i < btf_vlen(t); i++)
		if (is_time(btf, t, i))
			return (int32_t)btf_member_bit_offset(t, i) / 8;
	return -1;
}

/*
 * Store facts about records of that size, from their BTF type, in c->record_info. If `padded` is true, the record is a
 * perf event, which may end with up to 7 bytes of padding.
 */
static void cache_record_type(struct gpubpf_linux_synced_map *c, uint32_t size, bool padded)
{
	uint32_t type = gpubpf_event_type(c->s, c->map, size), own = size;

	for (uint32_t pad = 1; padded && !type && pad < 8 && pad < size; pad++) {
		type = gpubpf_event_type(c->s, c->map, size - pad);
		own = type ? size - pad : size;
	}
	c->record_info = (struct gpubpf_linux_record_info){ size, padded, own, type ? find_time_member(c, type) : -1,
							    gpubpf_linux_get_map(c)->object };
}

static uint64_t find_time(struct gpubpf_linux_synced_map *c, const void *data, uint32_t *size, bool padded)
{
	uint64_t now = gpubpf_now_ns(), offset = gpubpf_unix_offset_ns(), time;

	if (c->record_info.size != *size || c->record_info.padded != padded ||
	    c->record_info.object != gpubpf_linux_get_map(c)->object)
		cache_record_type(c, *size, padded);
	*size = c->record_info.own;
	if (c->record_info.time < 0)
		return now;
	memcpy(&time, (const char *)data + c->record_info.time, sizeof(time));
	if (time >= c->opened_ns + offset && time < now + offset + AHEAD_NS)
		time -= offset;
	return time >= c->opened_ns && time < now + AHEAD_NS ? time : now;
}

/* -- waiting records: a heap with the earliest record on top -- */

static bool is_before(const struct gpubpf_linux_record *a, const struct gpubpf_linux_record *b)
{
	return a->time != b->time ? a->time < b->time : a->number < b->number;
}

static int push(struct gpubpf_linux_heap *h, struct gpubpf_linux_record *r)
{
	uint64_t at = h->n;

	if (h->n == h->room) {
		uint64_t room = h->room ? h->room * 2 : 256;
		struct gpubpf_linux_record **grown = reallocarray(h->record, room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		h->record = grown;
		h->room = room;
	}
	for (h->n++; at && is_before(r, h->record[(at - 1) / 2]); at = (at - 1) / 2)
		h->record[at] = h->record[(at - 1) / 2];
	h->record[at] = r;
	h->bytes += sizeof(*r) + r->size;
	return 0;
}

static struct gpubpf_linux_record *pop(struct gpubpf_linux_heap *h)
{
	struct gpubpf_linux_record *first = h->record[0], *last = h->record[--h->n];
	uint64_t at = 0, next;

	for (; (next = 2 * at + 1) < h->n; at = next) {
		if (next + 1 < h->n && is_before(h->record[next + 1], h->record[next]))
			next++;
		if (!is_before(h->record[next], last))
			break;
		h->record[at] = h->record[next];
	}
	h->record[at] = last;
	h->bytes -= sizeof(*first) + first->size;
	return first;
}

int gpubpf_linux_record_add(struct gpubpf_linux_synced_map *c, int arena, uint32_t copy, const void *data, uint32_t size)
{
	uint64_t time = find_time(c, data, &size, arena < 0 && c->perf);
	struct gpubpf_linux_record *r = malloc(sizeof(*r) + size);
	int err = r ? 0 : -ENOMEM;

	if (r) {
		*r = (struct gpubpf_linux_record){ time, c->waiting->number++, c->map, arena, copy, size };
		memcpy(r->data, data, size);
		err = push(c->waiting, r);
	}
	if (err < 0) {
		free(r);
		c->lost++;
	}
	return err;
}

bool gpubpf_linux_records_has_room(const struct gpubpf_linux_heap *h)
{
	return h->bytes <= WAITING_BYTES;
}

uint64_t gpubpf_linux_records_deliver(struct gpubpf_session *s, struct gpubpf_linux_heap *h, struct sys_object *reader,
				      uint64_t until)
{
	uint64_t n = 0;

	for (; h->n && (!gpubpf_linux_records_has_room(h) || h->record[0]->time <= until); n++) {
		if (reader && !gpubpf_loader_has_room(s, reader))
			break;
		struct gpubpf_linux_record *r = pop(h);

		gpubpf_reader_deliver(s, r);
		if (reader)
			gpubpf_loader_deliver(s, reader, r->copy, r->data, r->size);
		free(r);
	}
	return n;
}

void gpubpf_linux_records_free(struct gpubpf_linux_heap *h)
{
	while (h->n)
		free(pop(h));
	free(h->record);
}

/* -- records of Linux kernel programs -- */

static int on_record(void *ctx, void *data, size_t size)
{
	gpubpf_linux_record_add(ctx, -1, 0, data, (uint32_t)size);
	return 0;
}

static void on_sample(void *ctx, int cpu, void *data, uint32_t size)
{
	gpubpf_linux_record_add(ctx, -1, (uint32_t)cpu, data, size);
}

static void on_lost(void *ctx, int cpu, unsigned long long n)
{
	struct gpubpf_linux_synced_map *c = ctx;

	(void)cpu;
	c->lost += n;
}

void gpubpf_linux_ring_read(struct gpubpf_linux_synced_map *c)
{
	if (c->ring)
		ring_buffer__consume(c->ring);
	if (c->perf)
		perf_buffer__consume(c->perf);
}

static int open_ring(struct gpubpf_linux_synced_map *c)
{
	c->opened_ns = gpubpf_now_ns();
	if (gpubpf_linux_get_map(c)->type->flags & GPUBPF_MAP_BYTES)
		c->ring = ring_buffer__new(c->fd, on_record, c, NULL);
	else
		c->perf = perf_buffer__new(c->fd, PERF_PAGES, on_sample, on_lost, c, NULL);
	return c->ring || c->perf ? 0 : -errno;
}

static int pass_ring(struct gpubpf_linux_synced_map *c)
{
	(void)c;
	return 0; /* core/session/maps/reader.c reads and delivers records */
}

static void close_ring(struct gpubpf_linux_synced_map *c)
{
	ring_buffer__free(c->ring);
	perf_buffer__free(c->perf);
}

const struct gpubpf_linux_kind gpubpf_linux_ring = { open_ring, pass_ring, NULL, close_ring };
