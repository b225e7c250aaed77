/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operations of the host on rings (ring.h): their layout and their reader. The reader does not trust the
 * arena. It checks positions and sizes against the layout before it uses them. It copies a record before it parses it,
 * so that the application cannot change the record meanwhile.
 */
#include "maps/impl.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stddef.h>
#include <stdlib.h>

#include "maps/host/host.h"
#include "record.h"

#define RECORDS_AHEAD 32 /* prefetch distance in records, when records are only counted */
#define MAX_COUNT_BYTES (256 << 10) /* bytes that the reader counts before it publishes its position */

#define MIN_COPY_BYTES (64ull << 10)     /* minimum size of each copy of a ring, in bytes */
#define GPU_RING_COPY (1ull << 20)
#define MIN_RING_BYTES 128ull
#define MAX_RECORD_BYTES (64ull << 10)    /* limit of a record in a ring of bytes, in bytes with the header */
#define PERF_FLAGS (BPF_F_MMAPABLE | BPF_F_INNER_MAP | BPF_F_PRESERVE_ELEMS)

/*
 * Checks the definition of a ring. There are three kinds: a ring of bytes, a ring of records of value_size bytes, and a
 * perf event array.
 */
static int ring_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	bool bytes = map->type->flags & GPUBPF_MAP_BYTES, room = map->type->flags & GPUBPF_MAP_ROOM;

	if ((bytes || room) && (map->map_flags & PERF_FLAGS))
		return gpubpf_map_set_fault(fault, "map_flags", map->map_flags, "0, or access flags such as BPF_F_RDONLY");
	if (bytes && map->key_size)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "0");
	if (room && (!map->value_size || map->value_size > GPUBPF_MAP_VALUE_MAX))
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "1 to 67108864 (the size of a record)");
	if (!bytes && !room && map->key_size && map->key_size != 4)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "4");
	if (!bytes && !room && map->value_size && map->value_size != 4)
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "4");
	map->key_size = map->btf_key = 0;
	if (!room)
		map->value_size = 0;
	/*
	 * in the Linux kernel, keys and values of a perf event array are CPUs and file descriptors; their sizes have no
	 * meaning here
	 */
	if (!bytes && !room) {
		map->max_entries = map->max_entries ? map->max_entries : 1;
		map->btf_value = 0;
	}
	return 0;
}

static uint64_t pow2_at_least(uint64_t n)
{
	uint64_t p = 1;

	while (p < n && p < 1ull << 62)
		p <<= 1;
	return p;
}

/* Return the size of one copy in bytes. `flags` are the flags of the map type. */
static uint64_t ring_bytes(const struct gpubpf_map_layout *l, uint32_t flags, const struct gpubpf_map_scale *scale)
{
	uint64_t bytes = l->max_entries;

	if (!(flags & (GPUBPF_MAP_BYTES | GPUBPF_MAP_ROOM))) {
		bytes = scale->perf_bytes / scale->replicas;
		return pow2_at_least(bytes < MIN_COPY_BYTES ? MIN_COPY_BYTES : bytes);
	}
	if (flags & GPUBPF_MAP_ROOM) {
		bytes *= GPUBPF_ROUND8(l->value_size) + 8ull;
		if (bytes < GPU_RING_COPY && scale->budget)
			bytes = GPU_RING_COPY;
	}
	return pow2_at_least(bytes < MIN_RING_BYTES ? MIN_RING_BYTES : bytes);
}

/* Return the size in bytes of the space after each segment. This space limits the size of a record. */
static uint64_t record_room(const struct gpubpf_map_layout *l)
{
	uint64_t words = GPUBPF_ROUND8(l->value_size) / 8;

	if (l->value_size && l->value_size <= GPUBPF_RING_EACH_MAX) /* at least the size of a batch of 32 records */
		return gpubpf_align(gpubpf_ring_batch_head(words, 1) + 32 * 8 * words, GPUBPF_REPLICA_ALIGN);
	if (l->value_size)
		return gpubpf_align(8 * words + 8, GPUBPF_REPLICA_ALIGN);
	return l->stride < MAX_RECORD_BYTES ? l->stride : MAX_RECORD_BYTES;
}

static uint64_t ring_stride(const struct gpubpf_map_layout *l)
{
	return l->stride + GPUBPF_RING_SEGMENTS * record_room(l);
}

/*
 * Sets the size of each copy. If the budget allows it, each copy has the size of the definition; otherwise all copies
 * together have this size. The print ring, which has no map, is a ring of bytes.
 */
static void ring_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	uint32_t flags = map ? map->type->flags : GPUBPF_MAP_BYTES;
	uint64_t wanted = l->stride = ring_bytes(l, flags, scale), budget = 0;

	l->flags |= GPUBPF_LAYOUT_RING | (flags & GPUBPF_MAP_BYTES ? 0 : GPUBPF_LAYOUT_PERF);
	if (scale->budget) {
		budget = 2 * wanted + scale->replicas * GPUBPF_RING_SEGMENTS * record_room(l);
		budget = budget > scale->budget ? budget : scale->budget;
	}
	while (budget && l->stride > MIN_COPY_BYTES && scale->replicas * ring_stride(l) > budget)
		l->stride /= 2;
	l->copy_stride = ring_stride(l);
	l->copies = gpubpf_map_max_copies(budget, scale->replicas, l->copy_stride);
	l->data = gpubpf_align(GPUBPF_RING_CTL_END(l->ctl, l->copies), GPUBPF_REPLICA_ALIGN);
	l->size = l->data - l->ctl + l->copies * l->copy_stride;
}

static uint64_t ring_drops(const struct gpubpf_map_view *view)
{
	const struct gpubpf_map_layout *l = view->layout;
	uint64_t drops = 0;
	uint32_t c;

	for (c = 0; c < l->copies; c++)
		drops += gpubpf_load_u64((uintptr_t)view->arena + GPUBPF_RING_COPY(l->ctl, c) +
					 offsetof(struct gpubpf_ring_copy, drops));
	return drops;
}

struct reader {
	const struct gpubpf_map_layout *layout;
	struct gpubpf_env env;
	gpubpf_record_fn fn;
	void *arg;
	uint64_t *record;                       /* buffer for a record or a batch */
	uint64_t one[GPUBPF_RING_EACH_MAX / 8]; /* buffer for one record of a batch */
	uint64_t segment, room;                 /* bytes of a segment; bytes of the space after each segment */
	bool last;  /* all writers have ended, so a record that has not arrived will never arrive */
	bool whole; /* the agent has checked that all records in the current copy have arrived */
	bool bad, stopped;
	int64_t records;
};

enum step {
	STEP_NEXT, /* the position was advanced */
	STEP_END,  /* no further record has arrived */
	STEP_NONSENSE,
};

/* A position in a copy of the ring. A record at this position ends at or before offset `end` of its segment. */
struct cursor {
	uint32_t copy;
	uint64_t position, end;
};

static void count_drops(struct reader *r, uint32_t n)
{
	gpubpf_add_u64(r->env.arena + r->layout->ctl, n);
}

static u64 header_at(const struct reader *r, const struct cursor *p)
{
	return gpubpf_ring_header_at(&r->env, GPUBPF_LAYOUT_PASS(r->layout), p->copy, p->position);
}

static u64 part_at(const struct reader *r, uint32_t copy)
{
	return r->env.arena + GPUBPF_RING_BATCH_TAKEN(r->layout->ctl, r->layout->copies, copy);
}

static void copy_out(struct reader *r, u64 from, uint64_t size)
{
	uint64_t i;

	for (i = 0; i < (size + 7) / 8; i++)
		r->record[i] = gpubpf_load_u64(from + 8 * i);
}

static bool header_fits(const struct reader *r, u64 header, const struct cursor *p)
{
	return gpubpf_record_fits(header, GPUBPF_RING_OFFSET(p->position), r->room, p->end);
}

/* Find the next record after a gap: advance to the next word that is a valid header for its position. */
static void resync(struct reader *r, struct cursor *p)
{
	u64 header;

	for (p->position += 8; GPUBPF_RING_OFFSET(p->position) < r->segment && GPUBPF_RING_OFFSET(p->position) < p->end;
	     p->position += 8) {
		header = gpubpf_load_u64(header_at(r, p));
		if (gpubpf_record_is_at(header, p->position) && header_fits(r, header, p))
			break;
	}
}

static void deliver(struct reader *r, uint32_t copy, const void *record, uint32_t size)
{
	r->records++;
	r->stopped = r->fn && r->fn(r->arg, copy, record, size) != 0;
}

/* Return the mask of the lanes of a batch, from its bit words. Returns 0 if the mask does not match the header. */
static uint32_t lanes_of(u64 header, const uint32_t *bits)
{
	uint32_t lanes = GPUBPF_RING_LANES(header) < 32 ? bits[gpubpf_record_words(header)] : UINT32_MAX;

	return (uint32_t)__builtin_popcount(lanes) == GPUBPF_RING_LANES(header) ? lanes : 0;
}

/* Returns true if the whole batch has arrived. Restores the lowest bits of the bit words, which the header contains. */
static bool complete_batch(struct reader *r, u64 header)
{
	uint64_t n = gpubpf_record_bytes(header) / 8, i;
	uint64_t head = n - gpubpf_record_words(header) * GPUBPF_RING_LANES(header);

	if (!gpubpf_batch_arrived(r->record, n))
		return false;
	for (i = 1; i < head; i++)
		r->record[i] = (r->record[i] & ~1ull) | (header >> (i - 1) & 1);
	return true;
}

/*
 * Pass the records of a batch to the callback, except the records that the reader has already taken. If the callback
 * stops the reader, the next read continues with the next record.
 */
static enum step take_batch(struct reader *r, const struct cursor *p, u64 header)
{
	const uint32_t *bits = (const uint32_t *)(r->record + 1);
	uint64_t words = gpubpf_record_words(header), n = GPUBPF_RING_LANES(header), rank, i;
	uint64_t *data = r->record + gpubpf_ring_batch_head(words, n) / 8, done = gpubpf_load_u64(part_at(r, p->copy));
	uint32_t lanes = lanes_of(header, bits), lane;

	if (!lanes)
		return STEP_NONSENSE;
	for (rank = 0; rank < n && !r->stopped; rank++, lanes &= lanes - 1) {
		if (rank < done)
			continue;
		lane = __builtin_ctz(lanes);
		for (i = 0; i < words; i++)
			r->one[i] = (data[i * n + rank] & ~1ull) | (bits[i] >> lane & 1);
		gpubpf_store_u64(part_at(r, p->copy), rank + 1);
		deliver(r, p->copy, r->one, GPUBPF_RING_EACH(header));
	}
	return rank < n ? STEP_END : STEP_NEXT;
}

/* Count the records of a batch, except the records that the reader has already taken. Used if there is no callback. */
static enum step count_batch(struct reader *r, const struct cursor *p, u64 header)
{
	uint64_t n = GPUBPF_RING_LANES(header), done = gpubpf_load_u64(part_at(r, p->copy));

	r->records += n > done ? n - done : 0;
	return STEP_NEXT;
}

/*
 * If there is a callback, copy the record, so that no other process can change it. Returns true if the record has
 * arrived.
 */
static bool fetch(struct reader *r, u64 at, u64 header)
{
	uint64_t skipped = header & GPUBPF_RING_BATCH ? 0 : 8, size = gpubpf_record_bytes(header);

	if (!r->fn) {
		__builtin_prefetch((const char *)(uintptr_t)at + RECORDS_AHEAD * size);
		return r->whole || !(header & GPUBPF_RING_BATCH) ||
		       gpubpf_batch_arrived((const u64 *)(uintptr_t)at, size / 8);
	}
	if (!(header & GPUBPF_RING_DISCARD))
		copy_out(r, at + skipped, size - skipped);
	return !(header & GPUBPF_RING_BATCH) || complete_batch(r, header);
}

/* Process the record at the cursor and advance the position. */
static enum step step(struct reader *r, struct cursor *p)
{
	u64 at = header_at(r, p), header = gpubpf_load_acquire_u64(at);
	bool ours = gpubpf_record_is_at(header, p->position), ready = ours && !(header & GPUBPF_RING_BUSY);
	enum step taken = STEP_NEXT;

	if (ours && !header_fits(r, header, p))
		return STEP_NONSENSE;
	ready = ready && fetch(r, at, header);
	if (!ready && !r->last)
		return STEP_END;
	if (!ready)
		count_drops(r, ours && (header & GPUBPF_RING_BATCH) ? GPUBPF_RING_LANES(header) : 1);
	else if (header & GPUBPF_RING_BATCH)
		taken = r->fn ? take_batch(r, p, header) : count_batch(r, p, header);
	else if (!(header & GPUBPF_RING_DISCARD))
		deliver(r, p->copy, r->record, header & GPUBPF_RING_SIZE);
	if (taken == STEP_NEXT && ours)
		p->position += gpubpf_record_bytes(header);
	else if (taken == STEP_NEXT)
		resync(r, p);
	return taken;
}

/*
 * If the position is at the end of a segment, advance to the next segment. Sets p->end to the end of the claimed bytes.
 * Returns false if no bytes are claimed after the position.
 */
static bool enter_segment(const struct reader *r, struct cursor *p, uint64_t prod)
{
	if (GPUBPF_RING_OFFSET(p->position) >= r->segment)
		p->position = gpubpf_ring_next_segment(p->position);
	p->end = r->segment + r->room;
	if (GPUBPF_RING_SEGMENT(p->position) == GPUBPF_RING_SEGMENT(prod) && GPUBPF_RING_OFFSET(prod) < p->end)
		p->end = GPUBPF_RING_OFFSET(prod);
	return p->position != gpubpf_ring_next_segment(prod) && GPUBPF_RING_OFFSET(p->position) < p->end;
}

/*
 * Returns true if the reader can be at this position. It may have left a full segment before a lane opens the next one.
 */
static bool is_sane(const struct reader *r, uint64_t position, uint64_t prod)
{
	uint64_t ahead = (GPUBPF_RING_SEGMENT(prod) - GPUBPF_RING_SEGMENT(position)) % GPUBPF_RING_WRAP;

	if (position == gpubpf_ring_next_segment(prod))
		return GPUBPF_RING_OFFSET(prod) >= r->segment;
	return ahead < GPUBPF_RING_SEGMENTS && !((prod | position) & 7) && GPUBPF_RING_OFFSET(position) < r->segment &&
	       (ahead || position <= prod);
}

/* Let writers reuse all bytes before the position. */
static void free_room(struct reader *r, u64 cons, const struct cursor *p)
{
	bool over = GPUBPF_RING_OFFSET(p->position) >= r->segment;

	gpubpf_store_u64(part_at(r, p->copy), 0);
	gpubpf_store_release_u64(cons, over ? gpubpf_ring_next_segment(p->position) : p->position);
}

/* Increment the counter of freed memory. Lanes that found all rings full try again when it changes. */
static void signal_room(struct reader *r)
{
	u64 left = r->env.arena + GPUBPF_RING_FREED(r->layout->ctl, r->layout->copies);

	gpubpf_store_release_u64(left, gpubpf_load_u64(left) + 1);
}

/*
 * Count complete batches, up to the first record that is invalid or outside of batches. Used if there is no callback.
 * The number of bytes per call is limited, so that a reader that is killed loses few records.
 */
static bool count_batches(struct reader *r, struct cursor *p)
{
	const char *at = (const char *)(uintptr_t)header_at(r, p);
	u64 from = p->position, header, size;

	while (GPUBPF_RING_OFFSET(p->position) < r->segment && p->position - from < MAX_COUNT_BYTES) {
		header = gpubpf_load_acquire_u64((uintptr_t)at);
		if (!gpubpf_record_is_at(header, p->position) ||
		    (header & (GPUBPF_RING_BATCH | GPUBPF_RING_BUSY)) != GPUBPF_RING_BATCH || !header_fits(r, header, p))
			break;
		size = gpubpf_record_bytes(header);
		__builtin_prefetch(at + RECORDS_AHEAD * size);
		r->records += GPUBPF_RING_LANES(header);
		p->position += size;
		at += size;
	}
	return p->position != from;
}

static void read_copy(struct reader *r, uint32_t copy)
{
	const struct gpubpf_map_layout *l = r->layout;
	u64 line = r->env.arena + GPUBPF_RING_COPY(l->ctl, copy);
	u64 cons = r->env.arena + GPUBPF_RING_CONS(l->ctl, l->copies, copy);
	uint64_t prod = gpubpf_load_acquire_u64(line);
	struct cursor p = { .copy = copy, .position = gpubpf_load_u64(cons) };
	uint64_t from = p.position;
	enum step what = is_sane(r, p.position, prod) ? STEP_NEXT : STEP_NONSENSE;

	r->whole = gpubpf_load_u64(line + offsetof(struct gpubpf_ring_copy, whole));
	while (what == STEP_NEXT && !r->stopped && enter_segment(r, &p, prod)) {
		if (!r->whole || r->fn || gpubpf_load_u64(part_at(r, copy)) || !count_batches(r, &p))
			what = step(r, &p);
		if (what == STEP_NEXT)
			free_room(r, cons, &p);
	}
	if (what == STEP_NONSENSE) {
		r->bad = true;
		count_drops(r, 1);
		p.position = prod & ~7ull;
		free_room(r, cons, &p);
	}
	if (gpubpf_load_u64(cons) != from)
		signal_room(r);
}

static int64_t read_all(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg, bool last)
{
	struct reader r = { .layout = view->layout,
			    .fn = fn,
			    .arg = arg,
			    .last = last,
			    .env.arena = (uintptr_t)view->arena,
			    .segment = gpubpf_ring_segment_bytes(view->layout),
			    .room = gpubpf_ring_room_bytes(view->layout) };
	uint32_t copy;

	if (view->map && view->map->type->impl != &gpubpf_ring_impl)
		return -EINVAL;
	r.record = malloc(r.room);
	if (!r.record)
		return -ENOMEM;
	for (copy = 0; copy < view->layout->copies && !r.stopped; copy++)
		read_copy(&r, copy);
	free(r.record);
	return r.bad ? -EBADMSG : r.records;
}

int64_t gpubpf_ring_read(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg)
{
	return read_all(view, fn, arg, false);
}

int64_t gpubpf_ring_drain(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg)
{
	return read_all(view, fn, arg, true);
}

bool gpubpf_print_view(void *arena, const struct gpubpf_layout *layout, struct gpubpf_map_view *view)
{
	if (!layout->print_ring)
		return false;
	*view = (struct gpubpf_map_view){ .arena = arena, .layout = &layout->prints };
	return true;
}

HOST_OP(ring, output, HOST_PTR(arg[0]), arg[1])
HOST_OP(ring, reserve, arg[0])
HOST_OP(ring, reserve_dynptr, arg[0], arg[1], HOST_PTR(arg[2]))
HOST_OP(ring, query, arg[0])

const struct gpubpf_map_impl gpubpf_ring_impl = {
	.name = "ring",
	.large = true,
	.map_flags = PERF_FLAGS,
	.check = ring_check,
	.size = ring_size,
	.drops = ring_drops,
	.op[GPUBPF_OP_OUTPUT] = ring_output,
	.op[GPUBPF_OP_PERF_OUTPUT] = ring_output,
	.op[GPUBPF_OP_RESERVE] = ring_reserve,
	.op[GPUBPF_OP_RESERVE_DYNPTR] = ring_reserve_dynptr,
	.op[GPUBPF_OP_QUERY] = ring_query,
};
