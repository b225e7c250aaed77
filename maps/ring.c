/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of rings (ring.h). Every word of the arena is a claim: positions and sizes are checked against
 * the layout before they are used, and a record is copied out before anybody looks at it, so that the
 * application cannot change it under the reader's hands.
 */
#include "maps.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "host.h"
#include "record.h"

#define RECORDS_AHEAD 32 /* asked for before they are counted */

struct reader {
	const struct gpubpf_map_layout *layout;
	struct gpubpf_env env;
	gpubpf_record_fn fn;
	void *arg;
	uint64_t *record;      /* room for one, or for a batch */
	uint64_t one[GPUBPF_RING_EACH_MAX / 8]; /* a record of a batch */
	uint64_t segment, room; /* bytes of a segment, and behind it */
	bool last;             /* nobody writes any more */
	bool whole;            /* whoever emptied the device's ring has seen all of the copy's records arrive */
	bool bad, stopped;
	int64_t records;
};

enum step {
	STEP_ON,               /* the position has moved */
	STEP_END,              /* nothing more is ready */
	STEP_NONSENSE,
};

/* where in which copy; a record there ends before `end` */
struct place {
	uint32_t copy;
	uint64_t position, end;
};

static void count_drops(struct reader *r, uint32_t n)
{
	gpubpf_add_u64(r->env.arena + r->layout->ctl, n);
}

static u64 header_at(const struct reader *r, const struct place *p)
{
	return gpubpf_ring_header_at(&r->env, GPUBPF_LAYOUT_PASS(r->layout), p->copy, p->position);
}

static u64 part_at(const struct reader *r, uint32_t copy)
{
	return r->env.arena + GPUBPF_RING_PART(r->layout->ctl, r->layout->copies, copy);
}

static void copy_out(struct reader *r, u64 from, uint64_t size)
{
	uint64_t i;

	for (i = 0; i < (size + 7) / 8; i++)
		r->record[i] = gpubpf_load_u64(from + 8 * i);
}

static bool header_fits(const struct reader *r, u64 header, const struct place *p)
{
	return gpubpf_record_fits(header, GPUBPF_RING_OFFSET(p->position), r->room, p->end);
}

/* Where the next record after a gap begins: at the next word that is a header of its own place. */
static void resync(struct reader *r, struct place *p)
{
	u64 header;

	for (p->position += 8; GPUBPF_RING_OFFSET(p->position) < r->segment &&
			       GPUBPF_RING_OFFSET(p->position) < p->end; p->position += 8) {
		header = gpubpf_load_u64(header_at(r, p));
		if (gpubpf_record_is_at(header, p->position) && header_fits(r, header, p))
			break;
	}
}

static void hand_out(struct reader *r, uint32_t copy, const void *record, uint32_t size)
{
	r->records++;
	r->stopped = r->fn && r->fn(r->arg, copy, record, size) != 0;
}

/* The lanes of a batch, from its words of bits; 0 if that cannot be. */
static uint32_t lanes_of(u64 header, const uint32_t *bits)
{
	uint32_t lanes = GPUBPF_RING_LANES(header) < 32 ? bits[gpubpf_record_words(header)] : UINT32_MAX;

	return (uint32_t)__builtin_popcount(lanes) == GPUBPF_RING_LANES(header) ? lanes : 0;
}

/* Has all of a batch arrived? Puts the bits back that its words of bits lost. */
static bool complete(struct reader *r, u64 header)
{
	uint64_t n = gpubpf_record_bytes(header) / 8, i;
	uint64_t head = n - gpubpf_record_words(header) * GPUBPF_RING_LANES(header);

	if (!gpubpf_batch_arrived(r->record, n))
		return false;
	for (i = 1; i < head; i++)
		r->record[i] = (r->record[i] & ~1ull) | (header >> (i - 1) & 1);
	return true;
}

/* The records of a batch from the first that was not taken yet; a reader that stops comes back to the next. */
static enum step take_batch(struct reader *r, const struct place *p, u64 header)
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
		hand_out(r, p->copy, r->one, GPUBPF_RING_EACH(header));
	}
	return rank < n ? STEP_END : STEP_ON;
}

/* Nobody wants the records themselves: those of a batch that were not taken yet. */
static enum step count_batch(struct reader *r, const struct place *p, u64 header)
{
	uint64_t n = GPUBPF_RING_LANES(header), done = gpubpf_load_u64(part_at(r, p->copy));

	r->records += n > done ? n - done : 0;
	return STEP_ON;
}

/* What is ready is copied out, so that nobody changes it under our hands, where somebody wants it. */
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
	return !(header & GPUBPF_RING_BATCH) || complete(r, header);
}

/* What stands at the place; what it tells about its end moves the position. */
static enum step step(struct reader *r, struct place *p)
{
	u64 at = header_at(r, p), header = gpubpf_load_acquire_u64(at);
	bool ours = gpubpf_record_is_at(header, p->position), ready = ours && !(header & GPUBPF_RING_BUSY);
	enum step taken = STEP_ON;

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
		hand_out(r, p->copy, r->record, header & GPUBPF_RING_SIZE);
	if (taken == STEP_ON && ours)
		p->position += gpubpf_record_bytes(header);
	else if (taken == STEP_ON)
		resync(r, p);
	return taken;
}

/* Leave a segment that ends here. False if nothing was claimed behind the position. */
static bool settle(const struct reader *r, struct place *p, uint64_t prod)
{
	if (GPUBPF_RING_OFFSET(p->position) >= r->segment)
		p->position = gpubpf_ring_next_segment(p->position);
	p->end = r->segment + r->room;
	if (GPUBPF_RING_SEGMENT(p->position) == GPUBPF_RING_SEGMENT(prod) && GPUBPF_RING_OFFSET(prod) < p->end)
		p->end = GPUBPF_RING_OFFSET(prod);
	return p->position != gpubpf_ring_next_segment(prod) && GPUBPF_RING_OFFSET(p->position) < p->end;
}

/* The reader may have left the segment that is full and that nobody went on from. */
static bool is_sane(const struct reader *r, uint64_t position, uint64_t prod)
{
	uint64_t ahead = (GPUBPF_RING_SEGMENT(prod) - GPUBPF_RING_SEGMENT(position)) % GPUBPF_RING_WRAP;

	if (position == gpubpf_ring_next_segment(prod))
		return GPUBPF_RING_OFFSET(prod) >= r->segment;
	return ahead < GPUBPF_RING_SEGMENTS && !((prod | position) & 7) && GPUBPF_RING_OFFSET(position) < r->segment &&
	       (ahead || position <= prod);
}

/* All before the position is free to be written to again. */
static void leave(struct reader *r, u64 cons, const struct place *p)
{
	bool over = GPUBPF_RING_OFFSET(p->position) >= r->segment;

	gpubpf_store_u64(part_at(r, p->copy), 0);
	gpubpf_store_release_u64(cons, over ? gpubpf_ring_next_segment(p->position) : p->position);
}

/* Whoever found all full may look again. */
static void say_left(struct reader *r)
{
	u64 left = r->env.arena + GPUBPF_RING_LEFT(r->layout->ctl, r->layout->copies);

	gpubpf_store_release_u64(left, gpubpf_load_u64(left) + 1);
}

static void read_copy(struct reader *r, uint32_t copy)
{
	const struct gpubpf_map_layout *l = r->layout;
	u64 line = r->env.arena + GPUBPF_RING_COPY(l->ctl, copy);
	u64 cons = r->env.arena + GPUBPF_RING_CONS(l->ctl, l->copies, copy);
	uint64_t prod = gpubpf_load_acquire_u64(line);
	struct place p = { .copy = copy, .position = gpubpf_load_u64(cons) };
	uint64_t from = p.position;
	enum step what = is_sane(r, p.position, prod) ? STEP_ON : STEP_NONSENSE;

	r->whole = gpubpf_load_u64(line + offsetof(struct gpubpf_ring_copy, whole));
	while (what == STEP_ON && !r->stopped && settle(r, &p, prod)) {
		what = step(r, &p);
		if (what == STEP_ON)
			leave(r, cons, &p);
	}
	if (what == STEP_NONSENSE) {
		r->bad = true;
		count_drops(r, 1);
		p.position = prod & ~7ull;
		leave(r, cons, &p);
	}
	if (gpubpf_load_u64(cons) != from)
		say_left(r);
}

static int64_t read_all(const struct gpubpf_map_view *view, gpubpf_record_fn fn, void *arg, bool last)
{
	struct reader r = { .layout = view->layout, .fn = fn, .arg = arg, .last = last,
			    .env.arena = (uintptr_t)view->arena,
			    .segment = gpubpf_ring_segment_bytes(view->layout),
			    .room = gpubpf_ring_room_bytes(view->layout) };
	uint32_t copy;

	if (view->map && !(view->map->type->flags & GPUBPF_MAP_RING))
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
	*view = (struct gpubpf_map_view){ .arena = arena, .layout = &layout->maps[layout->nmaps] };
	return true;
}
