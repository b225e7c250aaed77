/* SPDX-License-Identifier: Apache-2.0 */
/* collect.c: turns the records of a session into spans on tracks of processes, threads and queues. */
#ifndef GPUBPF_CLI_TIMELINE_COLLECT_H
#define GPUBPF_CLI_TIMELINE_COLLECT_H

#include "timeline.h"

struct gpubpf_event;
struct gpubpf_session;

struct collect_counts {
	uint64_t lost;    /* records and rows that did not fit into rings and maps */
	uint64_t invalid; /* records with impossible values */
	uint64_t kernels;
	uint64_t incomplete; /* launches whose end the device has not reported */
	uint32_t processes, threads, queues;
};

struct collect;
struct collect *collect_create(struct timeline *t, struct timeline_names *names); /* NULL: out of memory */
void collect_destroy(struct collect *c);
/* Report kernels and calls that last longer than this. */
void collect_set_limit(struct collect *c, uint64_t ns);
/* Returns the first such span since the last call, as text, or NULL. The text is valid until the next record. */
const char *collect_long_span(struct collect *c);
void collect_event(struct collect *c, struct gpubpf_session *s, const struct gpubpf_event *event);
/* Read rows and losses, and write spans that are old enough. */
void collect_tick(struct collect *c, struct gpubpf_session *s);
/* Read and write the rest, after the session has stopped. */
void collect_finish(struct collect *c, struct gpubpf_session *s);
const struct collect_counts *collect_counted(const struct collect *c);

#endif
