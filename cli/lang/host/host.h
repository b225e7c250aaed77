/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host side of one-liners while a session runs: BEGIN, END and interval, the actions in kernels' records, and maps
 * in bpftrace's format.
 */
#ifndef GPUBPF_CLI_LANG_HOST_H
#define GPUBPF_CLI_LANG_HOST_H

#include "cli/lang/lang.h"

struct gpubpf_session;
struct gpubpf_event;

#define LANG_QUEUE (64u << 20)         /* maximum bytes of queued records */

/* one key of a map and its value, combined over several devices where possible */
struct lang_row {
	uint8_t *key, *value;
	int arena; /* arena whose value this is, if values of several arenas cannot be combined;
				        * -1: combined from all arenas */
};

struct lang_rows {
	const struct lang_map *map;
	struct lang_row *row;
	uint32_t n, room;
	uint8_t *bytes; /* memory of the keys and values */
	bool failed;
};

struct lang_host {
	struct lang *l;
	struct gpubpf_session *s;
	FILE *out;
	const char *(*shown)(void *ctx, uint64_t kernel); /* returns the name of a kernel to print */
	void *ctx;
	uint64_t start_ns;
	bool exit;                           /* exit() was called */
	uint64_t dropped;                    /* records lost because the queue was full */
	struct lang_rows cleared[LANG_MAPS]; /* by map: the values that clear() and zero() removed */
	bool keeps_zeros[LANG_MAPS];         /* by map: zero() was called, so keys with a value of 0 are printed */
	struct lang_rows seen[LANG_MAPS];    /* by map: the rows as read for the current block */
	uint8_t *queue;
	size_t queued, room;
	uint32_t steps;                 /* steps of the current block so far */
	const struct lang_probe *probe; /* the probe whose block or action is executed */
};

/* Starts the intervals and executes BEGIN. The caller has set h->out, the stream for output. */
void lang_host_begin(struct lang_host *h);
/* Queue a record of the session for the next lang_host_run(). Returns true if the record belongs to the program. */
bool lang_host_record(struct lang_host *h, const struct gpubpf_event *event);
/* Execute queued records, and intervals that are due. */
void lang_host_run(struct lang_host *h);
/* Return the time of the next interval, CLOCK_MONOTONIC in ns; 0: there is none. */
uint64_t lang_host_due(const struct lang_host *h);
/* Call after the session has stopped: executes the remaining records, then END. */
void lang_host_end(struct lang_host *h);
/* Print all maps that have values. */
void lang_host_print_maps(struct lang_host *h, FILE *out);
void lang_host_finish(struct lang_host *h);

/* rows.c */
int lang_rows_read(struct lang_host *h, const struct lang_map *map, struct lang_rows *rows);
void lang_rows_finish(struct lang_rows *rows);
void lang_rows_invalidate(struct lang_host *h);
struct lang_row *lang_rows_find(const struct lang_rows *rows, const uint8_t *key);
/* Return the number that represents the value, for sorting and for print(): a count, a sum, a mean, ... */
uint64_t lang_row_number(const struct lang_map *map, const struct lang_row *row);
void lang_host_clear(struct lang_host *h, const struct lang_map *map, bool zero);

/* show.c */
void lang_show_map(struct lang_host *h, const struct lang_map *map, uint64_t top, uint64_t div, FILE *out);
void lang_show_number(FILE *out, uint64_t v, bool is_signed);
/* Return a stack in one line, valid until the next call; "": the stack is unknown. */
const char *lang_stack_line(struct lang_host *h, uint64_t id);

/* eval.c: executes a block on the host */
void lang_eval_block(struct lang_host *h, const struct lang_probe *probe);
/* Execute an action. `data` has its arguments' values, from a record; NULL: the function evaluates the arguments. */
void lang_act(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe, const uint8_t *data);

#endif
