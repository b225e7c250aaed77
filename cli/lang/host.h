/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-liners on the host, while a session runs: BEGIN, END and interval, what records of kernels ask for, and maps as
 * bpftrace prints them.
 */
#ifndef GPUBPF_CLI_LANG_HOST_H
#define GPUBPF_CLI_LANG_HOST_H

#include "lang.h"

struct gpubpf_session;
struct gpubpf_event;

#define LANG_QUEUE (64u << 20)         /* bytes of records that may wait */

/* one key of a map and what is there; values of several devices taken together where that is possible */
struct lang_row {
	uint8_t *key, *value;
	int arena;                     /* of what cannot be taken together; -1: all */
};

struct lang_rows {
	const struct lang_map *map;
	struct lang_row *row;
	uint32_t n, room;
	uint8_t *bytes;                /* keys and values */
	bool failed;
};

struct lang_host {
	struct lang *l;
	struct gpubpf_session *s;
	FILE *out;
	const char *(*shown)(void *ctx, uint64_t kernel); /* a kernel's name */
	void *ctx;
	uint64_t start_ns;
	bool exit;                     /* exit() was called */
	uint64_t dropped;              /* records that found no room here */
	struct lang_rows cleared[LANG_MAPS]; /* what clear() and zero() have taken away, by map */
	bool keeps[LANG_MAPS];         /* after zero(): with their keys */
	struct lang_rows seen[LANG_MAPS]; /* as they were read for the block that runs */
	uint8_t *queue;
	size_t queued, room;
	uint32_t steps;                /* of a block, bounded */
	const struct lang_probe *probe; /* that runs */
};

/* out: where it prints; 0 or -ENOMEM */
void lang_host_begin(struct lang_host *h);
/* A record of the session: true if it is one of ours. It is done by the next lang_host_run(). */
bool lang_host_record(struct lang_host *h, const struct gpubpf_event *event);
/* Do what records ask for, and intervals that are due. */
void lang_host_run(struct lang_host *h);
/* When the next interval is due: CLOCK_MONOTONIC; 0: none. */
uint64_t lang_host_due(const struct lang_host *h);
/* The session has stopped: what is left, then END. */
void lang_host_end(struct lang_host *h);
/* All maps that hold something. */
void lang_host_print_maps(struct lang_host *h, FILE *out);
void lang_host_finish(struct lang_host *h);

/* rows.c */
int lang_rows_read(struct lang_host *h, const struct lang_map *map, struct lang_rows *rows);
void lang_rows_finish(struct lang_rows *rows);
void lang_rows_forget(struct lang_host *h);
struct lang_row *lang_rows_find(const struct lang_rows *rows, const uint8_t *key);
/* What the value is as a number: a count, a sum, a mean, ... */
uint64_t lang_row_number(const struct lang_map *map, const struct lang_row *row);
void lang_host_clear(struct lang_host *h, const struct lang_map *map, bool zero);

/* show.c */
void lang_show_map(struct lang_host *h, const struct lang_map *map, uint64_t top, uint64_t div, FILE *out);
void lang_show_number(FILE *out, uint64_t v, bool is_signed);
/* A stack in one line, until it is called again; "": none is known. */
const char *lang_stack_line(struct lang_host *h, uint64_t id);

/* eval.c: a block on the host */
void lang_eval_block(struct lang_host *h, const struct lang_probe *probe);
/* An action with the values of its arguments; data: as the record has them. */
void lang_act(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe, const uint8_t *data);

#endif
