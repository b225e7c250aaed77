/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the format of Perfetto: a message Trace with packets (perfetto.dev/docs/reference/trace-packet-proto). Names and
 * stacks are interned: the packet that first uses one has its text, and later packets have its number. A packet that does
 * not fit into the buffer is dropped.
 */
#include "timeline.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "proto.h"

#define PACKET_BYTES (1u << 17)
#define SEQUENCE 1

/* numbers of fields */
enum {
	TRACE_PACKET = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_IS_FIRST = 87,
	DEFAULTS_CLOCK = 58,
	SNAPSHOT_CLOCK = 1,
	SNAPSHOT_PRIMARY = 2,
	CLOCK_ID = 1,
	CLOCK_TIME = 2,
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_COUNTER = 8,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	COUNTER_UNIT = 6,
	EVENT_CATEGORY = 3,
	EVENT_ARGUMENT = 4,
	EVENT_TYPE = 9,
	EVENT_NAME = 10,
	EVENT_TRACK = 11,
	EVENT_VALUE = 44,
	EVENT_FLOW = 47,
	EVENT_FLOW_ENDS = 48,
	EVENT_STACK = 56,
	ARGUMENT_NAME = 1,
	ARGUMENT_UINT = 3,
	ARGUMENT_INT = 4,
	ARGUMENT_STRING = 17,
	INTERNED_CATEGORY = 1,
	INTERNED_NAME = 2,
	INTERNED_ARGUMENT = 3,
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_STACK = 7,
	INTERNED_STRING = 29,
	INTERNED_ID = 1, /* in each message of the InternedData above */
	INTERNED_TEXT = 2,
	FRAME_FUNCTION = 2,
	STACK_FRAME = 2,
};

enum {
	BUILTIN_REALTIME = 1,
	BUILTIN_MONOTONIC = 3,
	BUILTIN_BOOTTIME = 6,
};

enum {
	FLAG_CLEARED = 1, /* the packet begins a new set of interned values */
	FLAG_NEEDS = 2,   /* the packet needs the interned values before it */
};

enum event_type {
	TYPE_BEGIN = 1,
	TYPE_END = 2,
	TYPE_INSTANT = 3,
	TYPE_COUNTER = 4,
};

/* Which numbers of a kind have been interned. */
struct known {
	uint8_t *is;
	uint32_t n;
};

struct perfetto {
	struct proto p;
	size_t packet;  /* begin of the open packet */
	uint64_t *uuid; /* [tracks] */
	uint32_t tracks;
	struct known name, string, function, stack;
	uint8_t buffer[PACKET_BYTES];
};

/* Returns true the first time. If memory is exhausted, it returns true each time, which is valid. */
static bool is_new(struct known *known, uint32_t number)
{
	if (number >= known->n) {
		uint32_t n = number + 1024;
		uint8_t *is = realloc(known->is, n);

		if (!is)
			return true;
		memset(is + known->n, 0, n - known->n);
		known->is = is;
		known->n = n;
	}
	if (known->is[number])
		return false;
	known->is[number] = 1;
	return true;
}

/* -- packets -- */

static struct proto *begin_packet(struct perfetto *f)
{
	proto_init(&f->p, f->buffer, sizeof(f->buffer));
	f->packet = proto_begin(&f->p, TRACE_PACKET);
	return &f->p;
}

static void end_packet(struct timeline_output *out)
{
	struct perfetto *f = out->state;

	proto_varint(&f->p, PACKET_SEQUENCE, SEQUENCE);
	proto_end(&f->p, f->packet);
	if (!f->p.failed)
		timeline_sink_write(out->sink, f->p.data, f->p.size);
}

static void put_clock(struct proto *p, uint32_t id, clockid_t clock)
{
	struct timespec now;
	size_t m = proto_begin(p, SNAPSHOT_CLOCK);

	clock_gettime(clock, &now);
	proto_varint(p, CLOCK_ID, id);
	proto_varint(p, CLOCK_TIME, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	proto_end(p, m);
}

static void write_clocks(struct timeline_output *out)
{
	struct proto *p = begin_packet(out->state);
	size_t m = proto_begin(p, PACKET_CLOCK_SNAPSHOT);

	put_clock(p, BUILTIN_MONOTONIC, CLOCK_MONOTONIC);
	put_clock(p, BUILTIN_BOOTTIME, CLOCK_BOOTTIME);
	put_clock(p, BUILTIN_REALTIME, CLOCK_REALTIME);
	proto_varint(p, SNAPSHOT_PRIMARY, BUILTIN_MONOTONIC);
	proto_end(p, m);
	end_packet(out);
}

static void put_interned(struct proto *p, uint32_t field, uint64_t id, const char *text)
{
	size_t m = proto_begin(p, field);

	proto_varint(p, INTERNED_ID, id);
	proto_string(p, INTERNED_TEXT, text);
	proto_end(p, m);
}

static uint32_t argument_id(uint32_t kind, uint32_t i)
{
	return 1 + kind * TIMELINE_ARGS + i;
}

static const char *argument_name(const char *name)
{
	return name[0] == '$' ? name + 1 : name;
}

/* The first packet of the sequence has the clock of all times, and the names of categories and arguments. */
static void write_first(struct timeline_output *out, bool is_first)
{
	struct proto *p = begin_packet(out->state);
	size_t m = proto_begin(p, PACKET_DEFAULTS);

	proto_varint(p, DEFAULTS_CLOCK, BUILTIN_MONOTONIC);
	proto_end(p, m);
	if (is_first)
		proto_varint(p, PACKET_IS_FIRST, 1);
	proto_varint(p, PACKET_FLAGS, FLAG_CLEARED);
	m = proto_begin(p, PACKET_INTERNED);
	for (uint32_t kind = 0; kind < TIMELINE_KINDS; kind++) {
		put_interned(p, INTERNED_CATEGORY, 1 + kind, timeline_kinds[kind].category);
		for (uint32_t i = 0; i < TIMELINE_ARGS && timeline_kinds[kind].arg[i]; i++)
			put_interned(p, INTERNED_ARGUMENT, argument_id(kind, i),
				     argument_name(timeline_kinds[kind].arg[i]));
	}
	proto_end(p, m);
	end_packet(out);
}

static int perfetto_open(struct timeline_output *out)
{
	out->state = calloc(1, sizeof(struct perfetto));
	if (!out->state)
		return -1;
	write_clocks(out);
	write_first(out, true);
	return 0;
}

static void perfetto_restart(struct timeline_output *out)
{
	struct perfetto *f = out->state;
	struct known *all[] = { &f->name, &f->string, &f->function, &f->stack };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i]->n)
			memset(all[i]->is, 0, all[i]->n);
	write_clocks(out);
	write_first(out, false);
}

static void perfetto_close(struct timeline_output *out)
{
	struct perfetto *f = out->state;

	free(f->uuid);
	free(f->name.is);
	free(f->string.is);
	free(f->function.is);
	free(f->stack.is);
	free(f);
	out->state = NULL;
}

/* -- tracks -- */

static bool keep_uuid(struct perfetto *f, uint32_t index, uint64_t uuid)
{
	if (index >= f->tracks) {
		uint32_t n = 2 * index + 64;
		uint64_t *all = realloc(f->uuid, n * sizeof(*all));

		if (!all)
			return false;
		memset(all + f->tracks, 0, (n - f->tracks) * sizeof(*all));
		f->uuid = all;
		f->tracks = n;
	}
	f->uuid[index] = uuid;
	return true;
}

static uint64_t uuid_of(const struct perfetto *f, uint32_t index)
{
	return index < f->tracks ? f->uuid[index] : 0;
}

static void put_process(struct proto *p, const struct timeline_track *track, const char *name)
{
	size_t m = proto_begin(p, TRACK_PROCESS);

	proto_varint(p, PROCESS_PID, track->pid);
	proto_string(p, PROCESS_NAME, name);
	proto_end(p, m);
}

static void put_thread(struct proto *p, const struct timeline_track *track, const char *name)
{
	size_t m = proto_begin(p, TRACK_THREAD);

	proto_varint(p, THREAD_PID, track->pid);
	proto_varint(p, THREAD_TID, track->tid);
	proto_string(p, THREAD_NAME, name);
	proto_end(p, m);
}

static void put_counter(struct proto *p, const char *unit)
{
	size_t m = proto_begin(p, TRACK_COUNTER);

	if (unit[0])
		proto_string(p, COUNTER_UNIT, unit);
	proto_end(p, m);
}

static void perfetto_track(struct timeline_output *out, uint32_t index, const struct timeline_track *track)
{
	const char *name = timeline_name_text(out->names, track->name);
	struct perfetto *f = out->state;
	struct proto *p;
	size_t m;

	if (!keep_uuid(f, index, track->uuid))
		return;
	p = begin_packet(f);
	m = proto_begin(p, PACKET_TRACK);
	proto_varint(p, TRACK_UUID, track->uuid);
	if (track->parent != TIMELINE_NO_TRACK)
		proto_varint(p, TRACK_PARENT, uuid_of(f, track->parent));
	if (track->kind == TIMELINE_PROCESS)
		put_process(p, track, name);
	else if (track->kind == TIMELINE_THREAD)
		put_thread(p, track, name);
	else
		proto_string(p, TRACK_NAME, name);
	if (track->kind == TIMELINE_COUNTER)
		put_counter(p, timeline_name_text(out->names, track->unit));
	proto_end(p, m);
	end_packet(out);
}

/* -- events -- */

static void intern_stack(struct timeline_output *out, uint32_t id, const struct timeline_stack *stack)
{
	struct perfetto *f = out->state;
	struct proto *p = &f->p;
	size_t m;

	for (uint32_t i = 0; i < stack->n; i++) {
		if (!is_new(&f->function, stack->frame[i]))
			continue;
		put_interned(p, INTERNED_FUNCTION, 1 + stack->frame[i], timeline_name_text(out->names, stack->frame[i]));
		m = proto_begin(p, INTERNED_FRAME);
		proto_varint(p, INTERNED_ID, 1 + stack->frame[i]);
		proto_varint(p, FRAME_FUNCTION, 1 + stack->frame[i]);
		proto_end(p, m);
	}
	m = proto_begin(p, INTERNED_STACK);
	proto_varint(p, INTERNED_ID, id);
	for (uint32_t i = 0; i < stack->n; i++)
		proto_varint(p, STACK_FRAME, 1 + stack->frame[i]);
	proto_end(p, m);
}

static bool is_string(const struct timeline_span *span, uint32_t i)
{
	return timeline_kinds[span->kind].arg[i][0] == '$';
}

static bool has_argument(const struct timeline_span *span, uint32_t i)
{
	return timeline_kinds[span->kind].arg[i] && span->arg[i] != TIMELINE_ABSENT;
}

/* Write the texts that the span uses for the first time. */
static void put_new_values(struct timeline_output *out, const struct timeline_span *span, const struct timeline_stack *stack)
{
	struct perfetto *f = out->state;
	size_t start = f->p.size, m = proto_begin(&f->p, PACKET_INTERNED);

	if (is_new(&f->name, span->name))
		put_interned(&f->p, INTERNED_NAME, 1 + span->name, timeline_name_text(out->names, span->name));
	for (uint32_t i = 0; i < TIMELINE_ARGS; i++)
		if (has_argument(span, i) && is_string(span, i) && is_new(&f->string, (uint32_t)span->arg[i]))
			put_interned(&f->p, INTERNED_STRING, 1 + span->arg[i],
				     timeline_name_text(out->names, (uint32_t)span->arg[i]));
	if (stack && is_new(&f->stack, span->stack))
		intern_stack(out, span->stack, stack);
	if (f->p.size > m)
		proto_end(&f->p, m);
	else
		f->p.size = start;
}

static void put_arguments(struct proto *p, const struct timeline_span *span)
{
	for (uint32_t i = 0; i < TIMELINE_ARGS; i++) {
		size_t m;

		if (!has_argument(span, i))
			continue;
		m = proto_begin(p, EVENT_ARGUMENT);
		proto_varint(p, ARGUMENT_NAME, argument_id(span->kind, i));
		if (is_string(span, i))
			proto_varint(p, ARGUMENT_STRING, 1 + span->arg[i]);
		else
			proto_varint(p, span->arg[i] >> 63 ? ARGUMENT_INT : ARGUMENT_UINT, span->arg[i]);
		proto_end(p, m);
	}
}

static void write_event(struct timeline_output *out, uint32_t track, enum event_type type,
			const struct timeline_span *span, const struct timeline_stack *stack)
{
	struct perfetto *f = out->state;
	struct proto *p = begin_packet(f);
	size_t m;

	proto_varint(p, PACKET_TIMESTAMP, span->begin);
	proto_varint(p, PACKET_FLAGS, FLAG_NEEDS);
	put_new_values(out, span, stack);
	m = proto_begin(p, PACKET_TRACK_EVENT);
	proto_varint(p, EVENT_TYPE, type);
	proto_varint(p, EVENT_TRACK, uuid_of(f, track));
	proto_varint(p, EVENT_NAME, 1 + span->name);
	proto_varint(p, EVENT_CATEGORY, 1 + span->kind);
	put_arguments(p, span);
	if (span->flow_is)
		proto_fixed64(p, span->flow_is == TIMELINE_FLOW_BEGINS ? EVENT_FLOW : EVENT_FLOW_ENDS, span->flow);
	if (stack)
		proto_varint(p, EVENT_STACK, span->stack);
	proto_end(p, m);
	end_packet(out);
}

static void perfetto_begin(struct timeline_output *out, uint32_t track, const struct timeline_span *span,
			   const struct timeline_stack *stack)
{
	write_event(out, track, TYPE_BEGIN, span, stack);
}

static void perfetto_instant(struct timeline_output *out, uint32_t track, const struct timeline_span *span)
{
	write_event(out, track, TYPE_INSTANT, span, NULL);
}

/* Write an event that needs no interned value. */
static void write_plain(struct timeline_output *out, uint32_t track, uint64_t time, enum event_type type, double value)
{
	struct perfetto *f = out->state;
	struct proto *p = begin_packet(f);
	size_t m;

	proto_varint(p, PACKET_TIMESTAMP, time);
	m = proto_begin(p, PACKET_TRACK_EVENT);
	proto_varint(p, EVENT_TYPE, type);
	proto_varint(p, EVENT_TRACK, uuid_of(f, track));
	if (type == TYPE_COUNTER)
		proto_double(p, EVENT_VALUE, value);
	proto_end(p, m);
	end_packet(out);
}

static void perfetto_end(struct timeline_output *out, uint32_t track, uint64_t time)
{
	write_plain(out, track, time, TYPE_END, 0);
}

static void perfetto_counter(struct timeline_output *out, uint32_t track, uint64_t time, double value)
{
	write_plain(out, track, time, TYPE_COUNTER, value);
}

const struct timeline_format timeline_perfetto = {
	.name = "perfetto",
	.suffix = ".pftrace",
	.open = perfetto_open,
	.track = perfetto_track,
	.begin = perfetto_begin,
	.end = perfetto_end,
	.instant = perfetto_instant,
	.counter = perfetto_counter,
	.restart = perfetto_restart,
	.close = perfetto_close,
};
