/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes items in a child process, in groups, since building a module costs far more than running it. If a group
 * fails, each half is tried again. So if a vendor's compiler or runtime fails for one item, only that item fails. A
 * crash or a timeout of the runtime becomes the item's error.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_ISOLATE_H
#define GPUBPF_CLI_CONFORMANCE_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct isolate_item {
	uint32_t group;  /* maximum number of items in a group with this item; 0: the item is done */
	uint32_t weight; /* the sum over the items of a group is at most isolate.weight, except in a group of
				  * one item */
	uint64_t value;  /* result of the work on the item */
	char expected[160], error[400]; /* the error, and what was expected; error "": none */
};

struct isolate_shared;

struct isolate {
	size_t n;
	uint32_t group, weight; /* maximum items and maximum weight of a group */
	/* Called in the child: processes groups until none are left. If it returns earlier, a new child continues. */
	void (*work)(struct isolate *a);
	void (*progress)(void *arg, size_t done); /* reports the number of items that are done; may be NULL */
	void *arg;                                /* first argument of progress */
	struct isolate_shared *shared;
	struct isolate_item *items; /* [n], shared with the child */
};

/* Create the items; none is done. Returns 0 or -ENOMEM. */
int isolate_init(struct isolate *a);
void isolate_finish(struct isolate *a);
/* Run children until all items are done. */
void isolate_run(struct isolate *a);

/* For work(): returns the next group, items *begin to *end - 1, none of which is done. False: all items are done. */
bool isolate_next(struct isolate *a, uint32_t *begin, uint32_t *end);
/*
 * Record that the current group failed. Its halves are tried again; if it is a single item, the item is done, with this
 * error.
 */
void isolate_split(struct isolate *a, const char *error);
void isolate_done(struct isolate *a, size_t i, const char *error);

#endif
