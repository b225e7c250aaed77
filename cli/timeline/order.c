/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sorts spans by their begins, and writes a begin and an end for each.
 *
 * Before: spans in any order, within about TIMELINE_WAITING spans.
 * After: on each track, the times never decrease, and spans nest. On a track of kind QUEUE they do not overlap.
 *
 * A span that would break this goes to another lane, which is a track of the same name. A lane knows the ends of its open
 * spans and the time of its last event. One heap has the begins of waiting spans, another the ends of open spans.
 */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>

#include "heap.h"
#include "ring.h"

#define MAX_LANES 64
#define MAX_DEPTH 32
#define FLOW_WAYS 8
/* Maximum error of a kernel's begin. A kernel that begins earlier than its predecessor's end by less is moved. */
#define CLOCK_ERROR_NS 5000

const struct timeline_kind_info timeline_kinds[TIMELINE_KINDS] = {
#define TIMELINE_KIND(id, category, a0, a1, a2, a3) { category, { a0, a1, a2, a3 } },
#include "kinds.def"
};

enum event {
	EVENT_SPAN,
	EVENT_INSTANT,
	EVENT_COUNTER, /* arg[0] has the bits of the value */
};

struct waiting {
	struct timeline_span span;
	enum event event;
	uint32_t next_free; /* 1 + index; 0: none */
};

/* A track, or one more lane of it. */
struct lane {
	struct timeline_track track;
	uint64_t last; /* time of the last event */
	uint64_t end[MAX_DEPTH];
	struct open_span { /* for a new part of a ring */
		uint64_t begin;
		uint32_t name, kind;
	} open[MAX_DEPTH];
	uint32_t depth;
	uint32_t next; /* next lane of the track; 0: none */
	bool is_described;
};

/* A flow that has begun. */
struct flow {
	uint64_t number; /* 0: the slot is free */
	uint64_t since;
	uint32_t process; /* track */
};

struct timeline {
	struct timeline_output *out;
	struct lane **lane; /* [nlanes] */
	uint32_t nlanes, lanes_room;
	struct timeline_stack **stack; /* [nstacks] */
	uint32_t nstacks, stacks_room;
	struct waiting *waiting; /* [nwaiting] */
	uint32_t nwaiting, free, unended_name;
	struct heap begins, ends;
	uint64_t written; /* time of the latest event written */
	struct flow flow[TIMELINE_OPEN_FLOWS / FLOW_WAYS][FLOW_WAYS];
	struct timeline_counts counts;
};

struct timeline *timeline_create(struct timeline_output *out)
{
	struct timeline *t = calloc(1, sizeof(*t));

	if (t)
		t->waiting = malloc(TIMELINE_WAITING * sizeof(*t->waiting));
	if (!t || !t->waiting) {
		free(t);
		return NULL;
	}
	t->out = out;
	t->unended_name = timeline_name(out->names, "the kernel was not recorded");
	return t;
}

void timeline_destroy(struct timeline *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->nlanes; i++)
		free(t->lane[i]);
	for (uint32_t i = 0; i < t->nstacks; i++)
		free(t->stack[i]);
	free(t->lane);
	free(t->stack);
	free(t->waiting);
	heap_finish(&t->begins);
	heap_finish(&t->ends);
	free(t);
}

/* Make room for one more pointer. */
static bool reserve(void *array, uint32_t n, uint32_t *room)
{
	void **old, **new;

	if (n < *room)
		return true;
	memcpy(&old, array, sizeof(old));
	new = realloc(old, (*room ? 2ul * *room : 64) * sizeof(*new));
	if (!new)
		return false;
	memcpy(array, &new, sizeof(new));
	*room = *room ? 2 * *room : 64;
	return true;
}

uint32_t timeline_add_track(struct timeline *t, const struct timeline_track *track)
{
	struct lane *lane = reserve(&t->lane, t->nlanes, &t->lanes_room) ? calloc(1, sizeof(*lane)) : NULL;

	if (!lane)
		return TIMELINE_NO_TRACK;
	lane->track = *track;
	t->lane[t->nlanes] = lane;
	return t->nlanes++;
}

const struct timeline_track *timeline_track_at(const struct timeline *t, uint32_t track)
{
	return &t->lane[track]->track;
}

uint32_t timeline_add_stack(struct timeline *t, const struct timeline_stack *stack)
{
	size_t size = offsetof(struct timeline_stack, frame) + stack->n * sizeof(stack->frame[0]);
	struct timeline_stack *copy = reserve(&t->stack, t->nstacks, &t->stacks_room) ? malloc(size) : NULL;

	if (!copy)
		return 0;
	memcpy(copy, stack, size);
	t->stack[t->nstacks] = copy;
	return ++t->nstacks;
}

/* -- lanes -- */

static bool may_begin(const struct lane *lane, const struct timeline_span *span)
{
	if (lane->last > span->begin || lane->depth == MAX_DEPTH)
		return false;
	return !lane->depth || (lane->track.kind != TIMELINE_QUEUE && lane->end[lane->depth - 1] >= span->end);
}

/* Add a lane after `previous`. A lane of a thread is a track below it, because a thread has one track. */
static uint32_t add_lane(struct timeline *t, uint32_t first, uint32_t previous, uint32_t n)
{
	struct timeline_track track = t->lane[first]->track;
	uint32_t lane;

	if (track.kind == TIMELINE_THREAD || track.kind == TIMELINE_PROCESS) {
		track.kind = TIMELINE_NESTED;
		track.parent = first;
	}
	track.uuid = track.uuid * 0x9e3779b97f4a7c15ull + n;
	lane = timeline_add_track(t, &track);
	if (lane != TIMELINE_NO_TRACK)
		t->lane[previous]->next = lane;
	return lane;
}

static uint32_t find_lane(struct timeline *t, const struct timeline_span *span)
{
	uint32_t lane = span->track, last = lane;

	for (uint32_t n = 0; n < MAX_LANES; n++) {
		if (may_begin(t->lane[lane], span))
			return lane;
		last = lane;
		lane = t->lane[lane]->next;
		if (!lane)
			return add_lane(t, span->track, last, n + 1);
	}
	return TIMELINE_NO_TRACK;
}

static void describe(struct timeline *t, uint32_t track)
{
	struct lane *lane = t->lane[track];

	if (lane->is_described)
		return;
	lane->is_described = true;
	if (lane->track.parent != TIMELINE_NO_TRACK)
		describe(t, lane->track.parent);
	t->out->format->track(t->out, track, &lane->track);
}

static uint32_t find_process(const struct timeline *t, uint32_t track)
{
	while (t->lane[track]->track.parent != TIMELINE_NO_TRACK)
		track = t->lane[track]->track.parent;
	return track;
}

/* -- flows -- */

static void write_instant(struct timeline *t, uint32_t track, struct timeline_span *span)
{
	struct lane *lane;

	/* an instant may be anywhere in time except before the last event of its track */
	while (t->lane[track]->last > span->begin && t->lane[track]->next)
		track = t->lane[track]->next;
	lane = t->lane[track];
	span->begin = span->begin > lane->last ? span->begin : lane->last;
	lane->last = span->begin;
	describe(t, track);
	t->out->format->instant(t->out, track, span);
	t->counts.instants++;
}

/* End a flow whose kernel was not recorded, so that each flow has an end. */
static void end_flow(struct timeline *t, struct flow *flow)
{
	struct timeline_span span = {
		.begin = t->written > flow->since ? t->written : flow->since,
		.flow = flow->number,
		.flow_is = TIMELINE_FLOW_ENDS,
		.arg = { TIMELINE_ABSENT, TIMELINE_ABSENT, TIMELINE_ABSENT, TIMELINE_ABSENT },
		.name = t->unended_name,
		.kind = TIMELINE_LOSS,
	};

	flow->number = 0;
	t->counts.unended++;
	write_instant(t, flow->process, &span);
}

static struct flow *find_flow(struct timeline *t, uint64_t number)
{
	struct flow *set = t->flow[number % (TIMELINE_OPEN_FLOWS / FLOW_WAYS)];

	for (uint32_t i = 0; i < FLOW_WAYS; i++)
		if (set[i].number == number)
			return &set[i];
	return NULL;
}

static void begin_flow(struct timeline *t, const struct timeline_span *span)
{
	struct flow *set = t->flow[span->flow % (TIMELINE_OPEN_FLOWS / FLOW_WAYS)], *oldest = &set[0];

	for (uint32_t i = 0; i < FLOW_WAYS; i++)
		if (!set[i].number || (oldest->number && set[i].since < oldest->since))
			oldest = &set[i];
	if (oldest->number)
		end_flow(t, oldest);
	*oldest = (struct flow){ span->flow, span->begin, find_process(t, span->track) };
	t->counts.flows++;
}

/* Remember a flow that begins. Remove the end of a flow that has not begun. */
static void note_flow(struct timeline *t, struct timeline_span *span)
{
	struct flow *flow = span->flow_is ? find_flow(t, span->flow) : NULL;

	if (span->flow_is == TIMELINE_FLOW_BEGINS && !flow && span->flow)
		begin_flow(t, span);
	else if (span->flow_is == TIMELINE_FLOW_ENDS && flow && flow->since <= span->begin)
		flow->number = 0;
	else
		span->flow_is = TIMELINE_FLOW_NONE;
}

/* -- events -- */

static void write_end(struct timeline *t)
{
	struct heap_entry e = heap_pop(&t->ends);
	struct lane *lane = t->lane[e.item];

	lane->depth--;
	lane->last = e.time;
	t->written = e.time > t->written ? e.time : t->written;
	t->out->format->end(t->out, e.item, e.time);
}

/* Move a kernel that seems to begin just before the end of its predecessor. It keeps its duration. */
static void adjust_begin(const struct timeline *t, struct timeline_span *span)
{
	const struct lane *lane = t->lane[span->track];
	uint64_t end = lane->depth ? lane->end[lane->depth - 1] : lane->last;

	if (lane->track.kind == TIMELINE_QUEUE && end > span->begin && end - span->begin <= CLOCK_ERROR_NS) {
		span->end += end - span->begin;
		span->begin = end;
	}
}

static void write_begin(struct timeline *t, struct timeline_span *span)
{
	struct lane *lane;
	uint32_t i;

	i = find_lane(t, span);
	if (i == TIMELINE_NO_TRACK || !heap_push(&t->ends, span->end, 0, i)) {
		t->counts.late++;
		return;
	}
	lane = t->lane[i];
	describe(t, i);
	note_flow(t, span);
	t->out->format->begin(t->out, i, span, span->stack ? t->stack[span->stack - 1] : NULL);
	lane->last = span->begin;
	lane->open[lane->depth] = (struct open_span){ span->begin, span->name, span->kind };
	lane->end[lane->depth++] = span->end;
	t->counts.spans++;
}

static void write_counter(struct timeline *t, const struct timeline_span *span)
{
	struct lane *lane = t->lane[span->track];
	double value;

	if (lane->last > span->begin)
		return;
	memcpy(&value, &span->arg[0], sizeof(value));
	describe(t, span->track);
	lane->last = span->begin;
	t->out->format->counter(t->out, span->track, span->begin, value);
	t->counts.counters++;
}

static void write_event(struct timeline *t, struct waiting *w)
{
	switch (w->event) {
	case EVENT_SPAN:
		write_begin(t, &w->span);
		break;
	case EVENT_INSTANT:
		note_flow(t, &w->span);
		write_instant(t, w->span.track, &w->span);
		break;
	case EVENT_COUNTER:
		write_counter(t, &w->span);
		break;
	}
}

/* -- parts of a ring -- */

/* Write the begins of the lane's open spans again. */
static void write_open_spans(struct timeline *t, uint32_t i)
{
	struct lane *lane = t->lane[i];

	for (uint32_t k = 0; k < lane->depth; k++) {
		struct timeline_span span = {
			.begin = lane->open[k].begin,
			.end = lane->end[k],
			.name = lane->open[k].name,
			.kind = (uint8_t)lane->open[k].kind,
			.arg = { TIMELINE_ABSENT, TIMELINE_ABSENT, TIMELINE_ABSENT, TIMELINE_ABSENT },
		};

		t->out->format->begin(t->out, i, &span, NULL);
	}
}

static void describe_open_lanes(struct timeline *t)
{
	for (uint32_t i = 0; i < t->nlanes; i++)
		t->lane[i]->is_described = false;
	for (uint32_t i = 0; i < t->nlanes; i++)
		if (t->lane[i]->depth)
			describe(t, i);
}

/* Flows end with the part, because the oldest part may begin after their begin. */
static void end_flows(struct timeline *t)
{
	for (uint32_t i = 0; i < TIMELINE_OPEN_FLOWS; i++) {
		struct flow *flow = &t->flow[i / FLOW_WAYS][i % FLOW_WAYS];

		if (flow->number)
			end_flow(t, flow);
	}
}

static void begin_part(struct timeline *t)
{
	end_flows(t);
	ring_begin_part(t->out->sink->ring);
	timeline_restart(t);
}

void timeline_restart(struct timeline *t)
{
	struct ring *ring = t->out->sink->ring;

	t->out->format->restart(t->out);
	describe_open_lanes(t);
	ring_begin_open_spans(ring);
	for (uint32_t i = 0; i < t->nlanes; i++)
		write_open_spans(t, i);
	ring_end_open_spans(ring);
	t->out->format->restart(t->out); /* a part without these spans needs all names again */
}

/* Write the first waiting event, after the ends before it. */
static void write_first(struct timeline *t)
{
	struct heap_entry first = heap_pop(&t->begins);
	struct waiting *w = &t->waiting[first.item];

	t->counts.late += first.time < t->written && w->event == EVENT_SPAN;
	t->written = first.time > t->written ? first.time : t->written;
	if (w->event == EVENT_SPAN)
		adjust_begin(t, &w->span);
	while (t->ends.n && t->ends.entry[0].time <= w->span.begin)
		write_end(t);
	write_event(t, w);
	w->next_free = t->free;
	t->free = first.item + 1;
	if (t->out->sink->ring && ring_is_part_full(t->out->sink->ring))
		begin_part(t);
}

void timeline_flush(struct timeline *t, uint64_t time)
{
	while (t->begins.n && t->begins.entry[0].time < time)
		write_first(t);
	while (t->ends.n && t->ends.entry[0].time < time)
		write_end(t);
}

static void add(struct timeline *t, const struct timeline_span *span, enum event event)
{
	uint32_t i;

	if (!t->free && t->nwaiting == TIMELINE_WAITING)
		write_first(t);
	i = t->free ? t->free - 1 : t->nwaiting;
	if (!heap_push(&t->begins, span->begin, ~span->end, i)) {
		t->counts.late++;
		return;
	}
	if (t->free)
		t->free = t->waiting[i].next_free;
	else
		t->nwaiting++;
	t->waiting[i].span = *span;
	t->waiting[i].event = event;
}

void timeline_add(struct timeline *t, const struct timeline_span *span)
{
	struct timeline_span valid = *span;

	valid.end = valid.end < valid.begin ? valid.begin : valid.end;
	add(t, &valid, EVENT_SPAN);
}

void timeline_add_instant(struct timeline *t, const struct timeline_span *span)
{
	add(t, span, EVENT_INSTANT);
}

void timeline_add_counter(struct timeline *t, uint32_t track, uint64_t time, double value)
{
	struct timeline_span span = { .begin = time, .end = time, .track = track };

	memcpy(&span.arg[0], &value, sizeof(value));
	add(t, &span, EVENT_COUNTER);
}

void timeline_finish(struct timeline *t)
{
	timeline_flush(t, UINT64_MAX);
	end_flows(t);
}

const struct timeline_counts *timeline_counted(const struct timeline *t)
{
	return &t->counts;
}
