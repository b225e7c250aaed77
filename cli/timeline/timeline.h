/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of `gpubpf timeline`.
 *
 *	collect.c (records of the session) → order.c (sorted spans, lanes, flows) → perfetto.c (bytes) → file
 *
 * All times are in ns of CLOCK_MONOTONIC. Memory is bounded: order.c keeps at most TIMELINE_WAITING spans, and writes
 * the oldest when it has more.
 */
#ifndef GPUBPF_CLI_TIMELINE_TIMELINE_H
#define GPUBPF_CLI_TIMELINE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* -- names.c: numbers for strings; 0 is the empty string. Returns 0 if memory is exhausted. -- */

struct timeline_names;
struct timeline_names *timeline_names_create(void); /* NULL: out of memory */
void timeline_names_destroy(struct timeline_names *names);
uint32_t timeline_name(struct timeline_names *names, const char *text);
const char *timeline_name_text(const struct timeline_names *names, uint32_t name);
uint32_t timeline_names_count(const struct timeline_names *names);

/* -- the model -- */

enum timeline_track_kind {
	TIMELINE_PROCESS,
	TIMELINE_THREAD,
	TIMELINE_QUEUE,  /* a stream or queue: spans do not nest */
	TIMELINE_NESTED, /* spans nest */
	TIMELINE_COUNTER,
};

#define TIMELINE_NO_TRACK UINT32_MAX

struct timeline_track {
	uint64_t uuid; /* not 0 */
	enum timeline_track_kind kind;
	uint32_t parent; /* index, or TIMELINE_NO_TRACK */
	uint32_t name;
	uint32_t pid, tid; /* of a process or thread */
	uint32_t unit;     /* name of a counter's unit */
};

/* Kinds of spans. kinds.def lists their categories and arguments. */
enum timeline_kind {
#define TIMELINE_KIND(id, category, a0, a1, a2, a3) TIMELINE_##id,
#include "kinds.def"
	TIMELINE_KINDS,
};

#define TIMELINE_ARGS 4
#define TIMELINE_ABSENT UINT64_MAX /* value of an argument that is not written */
struct timeline_kind_info {
	const char *category;
	const char *arg[TIMELINE_ARGS]; /* NULL: none. If the name begins with '$', the value is the number of a name. */
};
extern const struct timeline_kind_info timeline_kinds[TIMELINE_KINDS];

enum timeline_flow {
	TIMELINE_FLOW_NONE,
	TIMELINE_FLOW_BEGINS,
	TIMELINE_FLOW_ENDS,
};

struct timeline_span {
	uint64_t begin, end;
	uint64_t flow; /* number of the flow */
	uint64_t arg[TIMELINE_ARGS];
	uint32_t track, name;
	uint32_t stack;        /* 1 + index of the stack; 0: none */
	uint8_t kind, flow_is; /* enum timeline_kind, enum timeline_flow */
};

/* A stack: numbers of the names of its frames, the outermost first. */
struct timeline_stack {
	uint32_t n;
	uint32_t frame[128];
};

/* -- formats: perfetto.c, chrome.c -- */

struct timeline_sink;
struct timeline_output {
	const struct timeline_format *format;
	struct timeline_names *names;
	struct timeline_sink *sink;
	void *state; /* of the format */
};

/* A format writes to out->sink. Tracks are described once, before their first use, and after their parents. */
struct timeline_format {
	const char *name, *suffix;
	int (*open)(struct timeline_output *out); /* 0 or -ENOMEM */
	void (*track)(struct timeline_output *out, uint32_t index, const struct timeline_track *track);
	/* stack: NULL, or the span's stack */
	void (*begin)(struct timeline_output *out, uint32_t track, const struct timeline_span *span,
		      const struct timeline_stack *stack);
	void (*end)(struct timeline_output *out, uint32_t track, uint64_t time);
	void (*instant)(struct timeline_output *out, uint32_t track, const struct timeline_span *span);
	void (*counter)(struct timeline_output *out, uint32_t track, uint64_t time, double value);
	/* Begin anew in a part that can be read alone. Tracks are described again. NULL: the format has no parts. */
	void (*restart)(struct timeline_output *out);
	void (*close)(struct timeline_output *out); /* frees `state` */
};
extern const struct timeline_format timeline_perfetto, timeline_chrome;

/* -- sink.c: the file, or the ring of a flight recorder -- */

struct ring;
struct timeline_sink {
	struct ring *ring; /* NULL: bytes go to the file */
	int fd;
	int error; /* first error of write(2), negative; later bytes are dropped */
	uint64_t bytes;
	size_t used;
	uint8_t buffer[1 << 16];
};
void timeline_sink_write(struct timeline_sink *sink, const void *data, size_t size);
void timeline_sink_flush(struct timeline_sink *sink);

/* -- order.c: sorts spans by their begins, and writes them so that spans of a track nest -- */

#define TIMELINE_WAITING (1u << 18) /* maximum number of spans that wait for earlier ones */
#define TIMELINE_OPEN_FLOWS (1u << 16)

struct timeline_counts {
	uint64_t spans, instants, counters, flows;
	uint64_t late;    /* spans that came after later spans had been written */
	uint64_t unended; /* flows without an end, because the kernel was not recorded */
};

struct timeline;
/* Returns NULL if memory is exhausted. The names and the output belong to the caller. */
struct timeline *timeline_create(struct timeline_output *out);
void timeline_destroy(struct timeline *t);
/* Add a track. Returns its index, or TIMELINE_NO_TRACK if memory is exhausted. */
uint32_t timeline_add_track(struct timeline *t, const struct timeline_track *track);
const struct timeline_track *timeline_track_at(const struct timeline *t, uint32_t track);
/* Add a stack. Returns the value for timeline_span.stack, or 0 if memory is exhausted. */
uint32_t timeline_add_stack(struct timeline *t, const struct timeline_stack *stack);
/* Add a span. If it begins before spans that were written already, it may need another lane. */
void timeline_add(struct timeline *t, const struct timeline_span *span);
void timeline_add_instant(struct timeline *t, const struct timeline_span *span);
void timeline_add_counter(struct timeline *t, uint32_t track, uint64_t time, double value);
/* Write all that begins before `time`. */
void timeline_flush(struct timeline *t, uint64_t time);
/* Write the rest, and end all flows. */
void timeline_finish(struct timeline *t);
/* After the ring was written: begin a new part. */
void timeline_restart(struct timeline *t);
const struct timeline_counts *timeline_counted(const struct timeline *t);

#endif
