/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the host's part of one-liners during a session: BEGIN, END and interval, and the actions in records of GPU
 * kernels. Also prints maps in bpftrace's format.
 */
#ifndef GPUBPF_CLI_LANG_HOST_H
#define GPUBPF_CLI_LANG_HOST_H

#include "cli/lang/lang.h"

struct gpubpf_session;
struct gpubpf_event;
struct gpubpf_map;

#define LANG_QUEUE (64u << 20)         /* maximum number of bytes in the queue of records */

/* a key of a map with its value; where possible, the values of several devices are combined */
struct lang_row {
	uint8_t *key, *value;
	int arena; /* index of the arena that contains the value; -1: the value combines several arenas */
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
	const char *(*shown)(void *ctx, uint64_t kernel); /* returns the name of a kernel for printing */
	void *ctx;
	uint64_t start_ns;
	bool exit;        /* exit() was called */
	bool left;        /* exit() was called in the current block */
	int status;       /* the status that exit() requests for the tool */
	uint64_t dropped; /* number of records that were lost because the queue was full */
	/* by index of the map: the values at the last clear() or zero(), which are subtracted */
	struct lang_rows cleared[LANG_MAPS];
	/* by index of the map: zero() was called, so keys with the value 0 are printed */
	bool keeps_zeros[LANG_MAPS];
	bool noted[LANG_MAPS];            /* by index of the map: a write that failed was reported */
	struct lang_rows seen[LANG_MAPS]; /* by index of the map: rows that the current block has read */
	struct lang_process {
		uint32_t pid, number; /* number: the session's number of the process, or 0 */
		uint64_t start;       /* in ticks since the start of the machine; 0: unknown */
		bool is_reused;       /* another process has had the id since then */
		char name[16];
		char *mappings; /* /proc/PID/maps when it was read last, or NULL */
		uint64_t read_ns;
	} *process; /* [nprocesses] the processes of the session so far, and their names */
	uint32_t nprocesses;
	struct lang_file *files;    /* files whose symbols were read for stacks */
	uint64_t value[LANG_SLOTS]; /* the value that lang_row_read() read last */
	uint8_t *queue;
	size_t queued, room;
	uint32_t steps;                 /* number of steps of the current block so far */
	const struct lang_probe *probe; /* the probe whose block or action is being executed */
};

/* Start the intervals and execute BEGIN. The caller must have set h->out, the stream for output. */
void lang_host_begin(struct lang_host *h);
/* Add a record of the session to the queue. Returns true if the record belongs to the program text. */
bool lang_host_record(struct lang_host *h, const struct gpubpf_event *event);
/* Execute the records in the queue, and the intervals that are due. */
void lang_host_run(struct lang_host *h);
/* Return when the next interval is due (CLOCK_MONOTONIC in ns), or 0 if there is no interval. */
uint64_t lang_host_due(const struct lang_host *h);
/* Called after the session has stopped: execute the remaining records, then END. */
void lang_host_end(struct lang_host *h);
/* Print all maps that have values. */
void lang_host_print_maps(struct lang_host *h, FILE *out);
void lang_host_finish(struct lang_host *h);

/* rows.c */
int lang_rows_read(struct lang_host *h, const struct lang_map *map, struct lang_rows *rows);
void lang_rows_finish(struct lang_rows *rows);
void lang_rows_invalidate(struct lang_host *h);
void lang_rows_forget(struct lang_host *h, const struct lang_map *map); /* drops the rows of the map that were read */
/* Read the row of a key. Its value is valid until the next call for any map. Returns false if the map lacks the key. */
bool lang_row_read(struct lang_host *h, const struct lang_map *map, const uint8_t *key, struct lang_row *row);
/* Forget the value that was cleared at this key, because the key is removed. */
void lang_row_forget_cleared(struct lang_host *h, const struct lang_map *map, const uint8_t *key);
uint64_t lang_rows_count(struct lang_host *h, const struct lang_map *map); /* returns the number of keys */
/* Return the session's map, or NULL if the session does not have it. */
const struct gpubpf_map *lang_map_target(const struct lang_host *h, const struct lang_map *map);
struct lang_row *lang_rows_find(const struct lang_rows *rows, const uint8_t *key);
/* Return the value as one number, for sorting and for print(): a count, a sum, a mean and so on. */
uint64_t lang_row_number(const struct lang_map *map, const struct lang_row *row);
void lang_host_clear(struct lang_host *h, const struct lang_map *map, bool zero);

/* show.c */
void lang_show_map(struct lang_host *h, const struct lang_map *map, uint64_t top, uint64_t div, FILE *out);
/* Print the name of a map, with the key of a row. The number of an interval of a time series is not part of it. */
void lang_show_name(struct lang_host *h, const struct lang_map *map, const struct lang_row *row, FILE *out);
/* series.c: prints the time series of a map, whose rows are ordered by key */
void lang_show_series(struct lang_host *h, const struct lang_map *map, const struct lang_rows *rows, FILE *out);
void lang_show_number(FILE *out, uint64_t v, bool is_signed);
/* Return the stack in one line, which is valid until the next call, or "" if the stack is not known. */
const char *lang_stack_line(struct lang_host *h, uint64_t id);

/* Print a value in one line, as in a tuple. */
void lang_show_inline(struct lang_host *h, struct lang_type type, const uint8_t *at, FILE *out);
/* Print the bytes of buf(), at most `capacity`. style: 0 prints printable characters as they are, x all bytes as \xNN, h as NN NN. */
void lang_show_buffer(const uint8_t *at, uint32_t capacity, char style, FILE *out);

/* labels.c: prints a number as a text, such as the name of a user */
void lang_show_label(enum lang_label label, uint64_t v, FILE *out);
void lang_show_ip6(const uint8_t *at, FILE *out); /* prints the 16 bytes of an IPv6 address */
/* frames.c: the value of a word of the host, and stacks of the Linux kernel's probes */
uint64_t lang_host_word(enum lang_host_word word);
void lang_show_frames(struct lang_host *h, struct lang_type type, const uint8_t *at, FILE *out);
void lang_frames_free(struct lang_host *h);

/* process.c: names of the session's processes, which are read while the processes run */
void lang_note_processes(struct lang_host *h);
void lang_note_process(struct lang_host *h, uint32_t pid, uint32_t number); /* number: as in struct lang_process */
/*
 * Return the mappings of a process as in /proc/PID/maps, read now or while the process ran. Return NULL if they are
 * unknown, or if two processes had the id.
 */
const char *lang_process_mappings(struct lang_host *h, uint32_t pid);
const char *lang_process_name(const struct lang_host *h, uint32_t pid);

/* operate.c */
uint64_t lang_operate(enum lang_token op, uint64_t a, uint64_t b, bool is_signed);
/* Truncate v to `bits` bits. 0 means that all bits are kept. */
uint64_t lang_narrow(uint64_t v, uint64_t bits, bool is_signed);

/* value.c */
void lang_put(struct lang_host *h, const struct lang_node *n, uint8_t *to); /* stores lang_size() bytes */
/* Return the string value of a node, or the name of a kernel or process. The string may be a copy in buf. */
const char *lang_text(struct lang_host *h, const struct lang_node *n, char buf[LANG_STRING_SIZE]);
uint64_t lang_strings(struct lang_host *h, const struct lang_node *call); /* strncmp(), strstr(), ... */

/* write.c: single elements of maps */
/* Store the value of the element: the bytes of an assigned value, or a number. Returns false if the map lacks the key. */
bool lang_map_read(struct lang_host *h, const struct lang_node *map, uint8_t *value);
uint64_t lang_map_assign(struct lang_host *h, const struct lang_node *set); /* @x = ..., also aggregations, and @x op= ... */
uint64_t lang_map_step(struct lang_host *h, const struct lang_node *step); /* @x++ */
bool lang_map_remove(struct lang_host *h, const struct lang_node *map);    /* returns false if the map lacked the key */

/* eval.c: executes a block on the host */
void lang_eval_block(struct lang_host *h, const struct lang_probe *probe);
uint64_t lang_eval(struct lang_host *h, const struct lang_node *n);
void lang_run_list(struct lang_host *h, const struct lang_node *list);
void lang_run_function(struct lang_host *h, const struct lang_node *call); /* the result is then in call->var */
/*
 * print.c: Execute an action. The values of its arguments are at `data`, in a record. If `data` is NULL, evaluate the arguments.
 */
void lang_act(struct lang_host *h, const struct lang_node *call, const struct lang_probe *probe, const uint8_t *data);

#endif
