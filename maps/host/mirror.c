/* SPDX-License-Identifier: Apache-2.0 */
#include "mirror.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "maps/device/launch_row.h"
#include "maps/kinds/record.h"

#define PART_BYTES (4ull << 20)

static bool is_ring(const struct gpubpf_map_layout *l)
{
	return l->flags & GPUBPF_LAYOUT_RING;
}

static bool ring_is_sane(const struct gpubpf_map_layout *l)
{
	u64 bytes = l->ctl + l->size - l->data;

	return GPUBPF_RING_CTL_END(l->ctl, (u64)l->copies) <= l->data && l->copies && l->stride &&
	       l->copy_stride >= l->stride && !((l->stride | l->copy_stride) % (8 * GPUBPF_RING_SEGMENTS)) &&
	       l->copy_stride < 1ull << GPUBPF_RING_SHIFT && l->copy_stride <= bytes / l->copies;
}

/* Returns true for a map of launches whose rows are inside its control words. */
static bool has_rows(const struct gpubpf_map_layout *l)
{
	return l->flags & GPUBPF_LAYOUT_ROWS && l->max_entries &&
	       l->data - l->ctl >= GPUBPF_LAUNCHES_ROWS + (u64)GPUBPF_LAUNCHES_ROW * l->max_entries;
}

/*
 * Read row `row` of the arena's table of layouts. Returns false if the row is unused or invalid, if the map ends after
 * m->size, or if the map is outside the arena.
 */
static bool layout_at(const struct gpubpf_mirror *m, u32 row, struct gpubpf_map_layout *l)
{
	const struct gpubpf_arena_hdr *hdr = m->arena;
	u64 off = GPUBPF_ARENA_MAPS + (u64)row * sizeof(*l);

	if (m->size < GPUBPF_ARENA_DATA)
		return false;
	if (row == GPUBPF_ARENA_ROWS - 1 ? __atomic_load_n(&hdr->print_ring, __ATOMIC_ACQUIRE) != off :
					   row >= __atomic_load_n(&hdr->nmaps, __ATOMIC_ACQUIRE))
		return false;
	memcpy(l, (const char *)m->arena + off, sizeof(*l));
	return !(l->flags & GPUBPF_LAYOUT_PLACED) && l->ctl <= m->size && l->size <= m->size - l->ctl &&
	       l->data >= l->ctl && l->data <= l->ctl + l->size && (!is_ring(l) || ring_is_sane(l));
}

bool gpubpf_mirror_next_ring(const struct gpubpf_mirror *m, u32 *row, u64 *offset, u64 *size)
{
	struct gpubpf_map_layout l;

	while (*row < GPUBPF_ARENA_ROWS) {
		if (!layout_at(m, (*row)++, &l) || !is_ring(&l))
			continue;
		*offset = l.data;
		*size = l.ctl + l.size - l.data;
		return true;
	}
	return false;
}

bool gpubpf_mirror_is_drained(const struct gpubpf_mirror *m)
{
	struct gpubpf_map_layout l;

	for (u32 row = 0; row < GPUBPF_ARENA_ROWS; row++)
		if (layout_at(m, row, &l) && (is_ring(&l) || has_rows(&l)))
			return true;
	return false;
}

static int pull(const struct gpubpf_mirror *m, u64 offset, u64 size)
{
	return m->pull(m->arg, offset, (char *)m->arena + offset, size);
}

/*
 * Update the mirror of all maps except rings. A reader in another process may read the mirror at any time. The data of
 * maps is therefore copied before the control words that refer to it.
 */
int gpubpf_mirror_pull(const struct gpubpf_mirror *m)
{
	struct gpubpf_map_layout l;
	int err = m->size < GPUBPF_ARENA_DATA ? -EINVAL : 0;
	u32 i;

	for (i = 0; !err && i < GPUBPF_ARENA_ROWS; i++)
		if (layout_at(m, i, &l) && !is_ring(&l))
			err = pull(m, l.data, l.ctl + l.size - l.data);
	for (i = 0; !err && i < GPUBPF_ARENA_ROWS; i++)
		if (layout_at(m, i, &l) && !is_ring(&l))
			err = pull(m, l.ctl, l.data - l.ctl);
	/* Copy only the word of the header that devices write. The host owns the other words. */
	if (!err)
		err = pull(m, offsetof(struct gpubpf_arena_hdr, thread_drops), 8);
	return err ? err : m->wait(m->arg, false);
}

/* ---- rings ---- */

/* Two positions in one copy of a ring. The records between them are to be moved to the mirror. */
struct span {
	u64 from, to;
	/*
	 * the span has records outside of batches; the first copy may have the header of such a record without its data
	 */
	bool has_single_records;
};

struct drain {
	const struct gpubpf_mirror *m;
	const struct gpubpf_map_layout *l;
	struct gpubpf_ring_copy *lines; /* control words of all copies, as read from the device */
	struct span *spans;
	u64 *cons; /* [copy] new position of the consumer, to be written to the device */
	u64 segment, room;
	u64 bytes; /* bytes that lanes have claimed on the device and that are not in the mirror yet */
	bool have_kernels_ended;
	/* the members below are shared by all threads */
	u64 *left_words;           /* [first copy of a part] new value of the device's counter GPUBPF_RING_FREED */
	atomic_uint_fast64_t left; /* total number of segments that the agent has freed on the device */
	atomic_uint next;          /* index of the next copy that no thread processes yet */
	atomic_int err;
};

static u64 word_at(const struct drain *d, u64 offset)
{
	return (uintptr_t)d->m->arena + offset;
}

static u64 prod_at(const struct drain *d, u32 copy)
{
	return word_at(d, GPUBPF_RING_COPY(d->l->ctl, copy));
}

static u64 whole_at(const struct drain *d, u32 copy)
{
	return prod_at(d, copy) + offsetof(struct gpubpf_ring_copy, whole);
}

static u64 cons_of(const struct drain *d, u32 copy)
{
	return gpubpf_load_acquire_u64(word_at(d, GPUBPF_RING_CONS(d->l->ctl, (u64)d->l->copies, copy)));
}

static u64 offset_of(const struct drain *d, u32 copy, u64 position)
{
	return d->l->data + copy * d->l->copy_stride +
	       GPUBPF_RING_SEGMENT(position) % GPUBPF_RING_SEGMENTS * (d->segment + d->room) +
	       GPUBPF_RING_OFFSET(position);
}

/*
 * Return the position. If lanes that tried to claim bytes of a full segment have advanced it past the segment, return
 * the end of the space after the segment instead.
 */
static u64 at_end(const struct drain *d, u64 position)
{
	return GPUBPF_RING_OFFSET(position) < d->segment ?
		       position :
		       GPUBPF_RING_SEGMENT(position) << GPUBPF_RING_SHIFT | (d->segment + d->room);
}

static u64 at_begin(const struct drain *d, u64 position)
{
	return GPUBPF_RING_OFFSET(position) < d->segment ? position : gpubpf_ring_next_segment(position);
}

static u64 segments_ahead(u64 position, u64 of)
{
	return (GPUBPF_RING_SEGMENT(position) - GPUBPF_RING_SEGMENT(of)) % GPUBPF_RING_WRAP;
}

/* Return where the span ends in the segment of `position`, as an offset in that segment. */
static u64 part_end(const struct drain *d, const struct span *s, u64 position)
{
	bool last = GPUBPF_RING_SEGMENT(position) == GPUBPF_RING_SEGMENT(s->to);

	return last ? GPUBPF_RING_OFFSET(s->to) : d->segment + d->room;
}

static u64 span_bytes(const struct drain *d, const struct span *s)
{
	u64 bytes = 0, at = s->from, n;

	for (n = segments_ahead(s->to, s->from); n < GPUBPF_RING_SEGMENTS; n--, at = gpubpf_ring_next_segment(at))
		bytes += part_end(d, s, at) - GPUBPF_RING_OFFSET(at);
	return bytes;
}

/*
 * Return the span of records that can be moved out of a copy. If the positions are impossible, the span is empty; the
 * application has then overwritten them, and the reader will report it.
 */
static struct span span_of(struct drain *d, u32 copy)
{
	u64 prod = gpubpf_load_u64(prod_at(d, copy)), now = d->lines[copy].prod & ~7ull, cons = cons_of(d, copy);
	struct span s = { at_begin(d, prod & ~7ull), at_end(d, now) }, none = { s.from, s.from };

	if (at_end(d, prod) == s.to)
		return none;
	if (segments_ahead(s.to, s.from) >= GPUBPF_RING_SEGMENTS || (!segments_ahead(s.to, s.from) && s.to < s.from)) {
		gpubpf_store_u64(whole_at(d, copy), 0);
		gpubpf_store_release_u64(prod_at(d, copy), s.to);
		return none;
	}
	d->bytes += span_bytes(d, &s);
	if (segments_ahead(s.from, cons) >= GPUBPF_RING_SEGMENTS)
		return none; /* the reader still reads the segment of the mirror that would be overwritten */
	if (segments_ahead(s.to, cons) >= GPUBPF_RING_SEGMENTS)
		s.to = (GPUBPF_RING_SEGMENT(cons) + GPUBPF_RING_SEGMENTS - 1) % GPUBPF_RING_WRAP << GPUBPF_RING_SHIFT |
		       (d->segment + d->room);
	return s;
}

static int pull_span(const struct drain *d, u32 copy, const struct span *s)
{
	u64 at = s->from, n;
	int err = 0;

	for (n = segments_ahead(s->to, s->from); !err && n < GPUBPF_RING_SEGMENTS; n--, at = gpubpf_ring_next_segment(at))
		if (part_end(d, s, at) > GPUBPF_RING_OFFSET(at))
			err = pull(d->m, offset_of(d, copy, at), part_end(d, s, at) - GPUBPF_RING_OFFSET(at));
	return err;
}

/* Return the end of the records in the span that have arrived completely. A record's words show if it is complete. */
static u64 arrived_end(const struct drain *d, u32 copy, struct span *s)
{
	u64 at = s->from, header;
	const u64 *words;

	for (;;) {
		if (GPUBPF_RING_OFFSET(at) >= d->segment && GPUBPF_RING_SEGMENT(at) == GPUBPF_RING_SEGMENT(s->to))
			return s->to;
		if (GPUBPF_RING_OFFSET(at) >= d->segment)
			at = gpubpf_ring_next_segment(at);
		if (GPUBPF_RING_OFFSET(at) >= part_end(d, s, at))
			return at;
		words = (const u64 *)(uintptr_t)word_at(d, offset_of(d, copy, at));
		header = gpubpf_load_u64((uintptr_t)words);
		if (!gpubpf_record_is_at(header, at) || (header & GPUBPF_RING_BUSY) ||
		    !gpubpf_record_fits(header, GPUBPF_RING_OFFSET(at), d->room, part_end(d, s, at)))
			return at;
		if (!(header & GPUBPF_RING_BATCH))
			s->has_single_records = true;
		else if (!gpubpf_batch_arrived(words, gpubpf_record_bytes(header) / 8))
			return at;
		at += gpubpf_record_bytes(header);
	}
}

/*
 * Limit each span to records that have arrived. Copy a span again if it has single records, which are records outside
 * of batches. A device writes the data of such a record before its header. The first copy may have read the data before
 * the device wrote it, and the header afterwards.
 */
static int recheck_spans(struct drain *d, u32 first, u32 end)
{
	bool has_single_records = false;
	int err = 0;
	u32 i;

	for (i = first; !d->have_kernels_ended && !err && i < end; i++) {
		struct span *s = &d->spans[i];

		if (s->from == s->to)
			continue;
		s->to = arrived_end(d, i, s);
		has_single_records |= s->has_single_records;
		if (s->has_single_records)
			err = pull_span(d, i, s);
	}
	return err || !has_single_records ? err : d->m->wait(d->m->arg, false);
}

/*
 * Store in the mirror whether all records up to `prod` have arrived. If this is not known, the reader checks the words
 * of each record.
 */
static void publish_whole(const struct drain *d, u32 copy)
{
	if (d->have_kernels_ended)
		gpubpf_store_u64(whole_at(d, copy), 0);
	else if (at_begin(d, gpubpf_load_u64(prod_at(d, copy))) == cons_of(d, copy))
		gpubpf_store_u64(whole_at(d, copy), 1);
}

/* Make the span visible to the reader, and free the segments that the device can reuse. Adds their number to *freed. */
static int publish(struct drain *d, u32 copy, u64 *freed)
{
	const struct span *s = &d->spans[copy];
	u64 n = segments_ahead(at_begin(d, s->to), s->from), at = s->from >> GPUBPF_RING_SHIFT << GPUBPF_RING_SHIFT;
	int err = 0;

	if (s->from != s->to) {
		publish_whole(d, copy);
		gpubpf_store_release_u64(prod_at(d, copy), s->to);
	}
	gpubpf_store_u64(prod_at(d, copy) + offsetof(struct gpubpf_ring_copy, drops), d->lines[copy].drops);
	if (!n)
		return 0;
	*freed += n;
	for (; !err && n; n--, at = gpubpf_ring_next_segment(at))
		err = d->m->zero(d->m->arg, offset_of(d, copy, at), d->segment + d->room);
	d->cons[copy] = at;
	if (err)
		return err;
	return d->m->push(d->m->arg, GPUBPF_RING_CONS(d->l->ctl, (u64)d->l->copies, copy), &d->cons[copy], 8);
}

/* Consecutive copies of a ring whose records one thread moves together. */
struct part {
	u32 first, end;
	u64 bytes;
};

static u64 at_once(const struct gpubpf_mirror *m)
{
	return m->at_once ? m->at_once : PART_BYTES;
}

/*
 * Take the next copies that no thread processes, and start to copy their records. The part is empty if no copies
 * remain, or on an error.
 */
static int begin_part(struct drain *d, struct part *part)
{
	unsigned first = atomic_load(&d->next), end;
	int err = 0;

	do {
		part->bytes = 0;
		for (end = first; end < d->l->copies && part->bytes < at_once(d->m); end++)
			part->bytes += span_bytes(d, &d->spans[end]);
	} while (!atomic_compare_exchange_strong(&d->next, &first, end));
	part->first = first;
	part->end = end;
	for (u32 i = first; !err && i < end; i++)
		err = pull_span(d, i, &d->spans[i]);
	return err;
}

/*
 * Finish a part: publish its spans, and increase the device's counter of freed segments. Lanes that found all rings
 * full try again when this counter changes.
 */
static int end_part(struct drain *d, const struct part *part)
{
	u64 freed = 0;
	int err = recheck_spans(d, part->first, part->end);

	for (u32 i = part->first; !err && i < part->end; i++)
		err = publish(d, i, &freed);
	if (err || !freed)
		return err;
	d->left_words[part->first] = atomic_fetch_add(&d->left, freed) + freed;
	return d->m->push(d->m->arg, GPUBPF_RING_FREED(d->l->ctl, (u64)d->l->copies), &d->left_words[part->first], 8);
}

/*
 * Move parts until none remain. The thread starts to copy the next part before it checks the current one. Copies
 * complete in order, so the second copy of single records completes after the next part.
 */
static void move_all(void *on)
{
	struct drain *d = on;
	struct part now, next;
	int err = begin_part(d, &now);

	for (; !err && now.first < now.end && !atomic_load(&d->err); now = next) {
		if (now.bytes)
			err = d->m->wait(d->m->arg, false);
		if (!err)
			err = begin_part(d, &next);
		if (!err)
			err = end_part(d, &now);
	}
	if (err)
		atomic_store(&d->err, err);
}

static int drain_copies(struct drain *d)
{
	u64 copies = d->l->copies;
	int err = d->m->pull(d->m->arg, GPUBPF_RING_COPY(d->l->ctl, 0), d->lines, copies * sizeof(*d->lines));
	u32 i;

	if (!err)
		err = d->m->wait(d->m->arg, false);
	for (i = 0; !err && i < copies; i++) {
		d->spans[i] = span_of(d, i);
		d->left += GPUBPF_RING_SEGMENT(d->spans[i].from);
	}
	if (err)
		return err;
	if (d->bytes)
		d->have_kernels_ended = d->m->have_kernels_ended(d->m->arg, d->bytes);
	if (d->m->run && d->bytes > at_once(d->m))
		d->m->run(d->m->arg, (d->bytes + at_once(d->m) - 1) / at_once(d->m), move_all, d);
	else
		move_all(d);
	err = d->m->wait(d->m->arg, true);
	return d->err ? d->err : err;
}

static s64 drain_ring(const struct gpubpf_mirror *m, const struct gpubpf_map_layout *l, u64 *left)
{
	struct drain d = { .m = m, .l = l, .segment = gpubpf_ring_segment_bytes(l), .room = gpubpf_ring_room_bytes(l) };
	u64 copies = l->copies, moved = 0;
	char *room = malloc(copies * (sizeof(*d.lines) + sizeof(*d.spans) + sizeof(*d.cons) + sizeof(*d.left_words)));
	int err = -ENOMEM;
	u32 i;

	if (room) {
		d.lines = (void *)room;
		d.spans = (void *)(d.lines + copies);
		d.cons = (void *)(d.spans + copies);
		d.left_words = d.cons + copies;
		err = drain_copies(&d);
	}
	for (i = 0; !err && i < copies; i++)
		moved += span_bytes(&d, &d.spans[i]);
	*left += d.bytes - moved;
	free(room);
	return err < 0 ? err : (s64)moved;
}

/* ---- rows of launches ---- */

/* Copy rows [from, to) of a map of launches. Their indexes may wrap around. */
static int pull_rows(const struct gpubpf_mirror *m, const struct gpubpf_map_layout *l, u64 from, u64 to)
{
	int err = 0;

	for (u64 n; !err && from < to; from += n) {
		u64 index = from % l->max_entries;

		n = l->max_entries - index < to - from ? l->max_entries - index : to - from;
		err = pull(m, l->ctl + GPUBPF_LAUNCHES_ROWS + index * GPUBPF_LAUNCHES_ROW, n * GPUBPF_LAUNCHES_ROW);
	}
	return err;
}

/* Return the first of the rows [from, to) that the device has not written completely, or `to`. */
static u64 whole_end(const struct gpubpf_mirror *m, const struct gpubpf_map_layout *l, u64 from, u64 to)
{
	u64 word[GPUBPF_LAUNCH_ROW_WORDS], rows = (uintptr_t)m->arena + l->ctl + GPUBPF_LAUNCHES_ROWS;

	while (from < to && gpubpf_launch_row_load(rows + from % l->max_entries * GPUBPF_LAUNCHES_ROW, word, from))
		from++;
	return from;
}

/* Copy the rows that were written since the last copy, then publish their number. */
static s64 drain_rows(const struct gpubpf_mirror *m, const struct gpubpf_map_layout *l)
{
	u64 at = l->ctl + GPUBPF_LAUNCHES_COUNT, mirrored = (uintptr_t)m->arena + at, count, old;
	int err = m->pull(m->arg, at, &count, sizeof(count));

	if (!err)
		err = m->wait(m->arg, false);
	old = gpubpf_load_u64(mirrored);
	if (err || count == old)
		return err;
	if (count < old || count - old > l->max_entries)
		old = count > l->max_entries ? count - l->max_entries : 0;
	err = pull_rows(m, l, old, count);
	if (!err)
		err = m->wait(m->arg, false);
	if (err)
		return err;
	count = whole_end(m, l, old, count);
	gpubpf_store_release_u64(mirrored, count);
	return (s64)((count - old) * GPUBPF_LAUNCHES_ROW);
}

s64 gpubpf_mirror_drain(const struct gpubpf_mirror *m, u64 *left)
{
	struct gpubpf_map_layout l;
	s64 moved = 0, n = 0;
	u32 i;

	*left = 0;
	for (i = 0; n >= 0 && i < GPUBPF_ARENA_ROWS; i++) {
		n = !layout_at(m, i, &l) ? 0 :
		    is_ring(&l)          ? drain_ring(m, &l, left) :
		    has_rows(&l)         ? drain_rows(m, &l) :
					   0;
		moved += n;
	}
	return n < 0 ? n : moved;
}
