/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the JSON of Chrome's trace viewer (the Trace Event Format), which many tools read. Times are in microseconds. A
 * track that is no thread of the application becomes a thread with an invented number, because the format knows only
 * threads. It has no stacks, so a stack is an argument.
 */
#include "timeline.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_INVENTED 0x40000000u /* no thread of Linux has such a number */
#define LINE_BYTES 32768

struct place {
	uint32_t pid, tid;
	uint32_t name;
};

struct chrome {
	struct place *place; /* [nplaces], by track */
	uint32_t nplaces;
	bool has_events;
	size_t size;
	char line[LINE_BYTES];
};

/* -- text -- */

static void put_text(struct chrome *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put_text(struct chrome *f, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(f->line + f->size, sizeof(f->line) - f->size, fmt, args);
	va_end(args);
	f->size += n > 0 ? (size_t)n : 0;
	f->size = f->size < sizeof(f->line) ? f->size : sizeof(f->line);
}

/* Control characters do not occur in names except from hostile processes; they become question marks. */
static void put_string(struct chrome *f, const char *text)
{
	put_text(f, "\"");
	for (; *text; text++) {
		bool is_special = *text == '"' || *text == '\\';

		if (f->size + 2 < sizeof(f->line) && is_special)
			f->line[f->size++] = '\\';
		if (f->size + 1 < sizeof(f->line))
			f->line[f->size++] = (unsigned char)*text < ' ' ? '?' : *text;
	}
	put_text(f, "\"");
}

static const struct place *place_of(const struct chrome *f, uint32_t track)
{
	static const struct place none;

	return track < f->nplaces ? &f->place[track] : &none;
}

static struct chrome *begin_event(struct timeline_output *out, const char *type, uint32_t track, uint64_t time)
{
	struct chrome *f = out->state;
	const struct place *at = place_of(f, track);

	f->size = 0;
	put_text(f, "%s{\"ph\":\"%s\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32 ",\"ts\":%" PRIu64 ".%03u",
		 f->has_events ? ",\n" : "", type, at->pid, at->tid, time / 1000, (unsigned int)(time % 1000));
	return f;
}

/* An event that is too long is left out. */
static void end_event(struct timeline_output *out)
{
	struct chrome *f = out->state;

	put_text(f, "}");
	if (f->size == sizeof(f->line))
		return;
	timeline_sink_write(out->sink, f->line, f->size);
	f->has_events = true;
}

/* -- the format -- */

static int chrome_open(struct timeline_output *out)
{
	static const char head[] =
		"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":\"CLOCK_MONOTONIC\"},\"traceEvents\":[\n";

	out->state = calloc(1, sizeof(struct chrome));
	if (!out->state)
		return -1;
	timeline_sink_write(out->sink, head, sizeof(head) - 1);
	return 0;
}

static void chrome_close(struct timeline_output *out)
{
	struct chrome *f = out->state;

	timeline_sink_write(out->sink, "\n]}\n", 4);
	free(f->place);
	free(f);
	out->state = NULL;
}

static bool keep_place(struct chrome *f, uint32_t index, const struct timeline_track *track)
{
	const struct place *parent;

	if (index >= f->nplaces) {
		uint32_t n = 2 * index + 64;
		struct place *all = realloc(f->place, n * sizeof(*all));

		if (!all)
			return false;
		memset(all + f->nplaces, 0, (n - f->nplaces) * sizeof(*all));
		f->place = all;
		f->nplaces = n;
	}
	parent = place_of(f, track->parent);
	f->place[index] = (struct place){
		.pid = track->kind == TIMELINE_PROCESS || track->kind == TIMELINE_THREAD ? track->pid : parent->pid,
		.tid = track->kind == TIMELINE_THREAD  ? track->tid :
		       track->kind == TIMELINE_PROCESS ? track->pid :
							 FIRST_INVENTED + index,
		.name = track->name,
	};
	return true;
}

static void chrome_track(struct timeline_output *out, uint32_t index, const struct timeline_track *track)
{
	struct chrome *f = out->state;

	if (!keep_place(f, index, track) || track->kind == TIMELINE_COUNTER)
		return;
	begin_event(out, "M", index, 0);
	put_text(f, ",\"name\":\"%s\",\"args\":{\"name\":", track->kind == TIMELINE_PROCESS ? "process_name" : "thread_name");
	put_string(f, timeline_name_text(out->names, track->name));
	put_text(f, "}");
	end_event(out);
}

static void put_arguments(struct timeline_output *out, const struct timeline_span *span, const struct timeline_stack *stack)
{
	const struct timeline_kind_info *kind = &timeline_kinds[span->kind];
	struct chrome *f = out->state;
	const char *comma = "";

	put_text(f, ",\"args\":{");
	for (uint32_t i = 0; i < TIMELINE_ARGS && kind->arg[i]; i++) {
		bool is_string = kind->arg[i][0] == '$';

		if (span->arg[i] == TIMELINE_ABSENT)
			continue;
		put_text(f, "%s\"%s\":", comma, kind->arg[i] + is_string);
		if (is_string)
			put_string(f, timeline_name_text(out->names, (uint32_t)span->arg[i]));
		else
			put_text(f, "%" PRId64, (int64_t)span->arg[i]);
		comma = ",";
	}
	for (uint32_t i = 0; stack && i < stack->n; i++) {
		put_text(f, "%s%s", i ? "," : comma, i ? "" : "\"stack\":[");
		put_string(f, timeline_name_text(out->names, stack->frame[i]));
	}
	put_text(f, "%s}", stack && stack->n ? "]" : "");
}

static void put_event(struct timeline_output *out, const char *type, uint32_t track, const struct timeline_span *span,
		      const struct timeline_stack *stack)
{
	struct chrome *f = begin_event(out, type, track, span->begin);

	put_text(f, ",\"cat\":\"%s\",\"name\":", timeline_kinds[span->kind].category);
	put_string(f, timeline_name_text(out->names, span->name));
	put_arguments(out, span, stack);
	if (type[0] == 'i')
		put_text(f, ",\"s\":\"t\"");
	end_event(out);
}

/* A flow binds to the slice that encloses its time. */
static void put_flow(struct timeline_output *out, uint32_t track, const struct timeline_span *span)
{
	bool ends = span->flow_is == TIMELINE_FLOW_ENDS;
	struct chrome *f;

	if (!span->flow_is)
		return;
	f = begin_event(out, ends ? "f" : "s", track, span->begin);
	put_text(f, ",\"cat\":\"flow\",\"name\":\"launch\",\"id\":\"0x%" PRIx64 "\"%s", span->flow,
		 ends ? ",\"bp\":\"e\"" : "");
	end_event(out);
}

static void chrome_begin(struct timeline_output *out, uint32_t track, const struct timeline_span *span,
			 const struct timeline_stack *stack)
{
	put_event(out, "B", track, span, stack);
	put_flow(out, track, span);
}

static void chrome_instant(struct timeline_output *out, uint32_t track, const struct timeline_span *span)
{
	put_event(out, "i", track, span, NULL);
	put_flow(out, track, span);
}

static void chrome_end(struct timeline_output *out, uint32_t track, uint64_t time)
{
	begin_event(out, "E", track, time);
	end_event(out);
}

static void chrome_counter(struct timeline_output *out, uint32_t track, uint64_t time, double value)
{
	struct chrome *f = begin_event(out, "C", track, time);

	put_text(f, ",\"name\":");
	put_string(f, timeline_name_text(out->names, place_of(f, track)->name));
	put_text(f, ",\"args\":{\"value\":%.17g}", value);
	end_event(out);
}

const struct timeline_format timeline_chrome = {
	.name = "chrome",
	.suffix = ".json",
	.open = chrome_open,
	.track = chrome_track,
	.begin = chrome_begin,
	.end = chrome_end,
	.instant = chrome_instant,
	.counter = chrome_counter,
	.close = chrome_close,
};
