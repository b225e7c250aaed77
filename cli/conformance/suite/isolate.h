/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes items in groups, in a child process, because building a module costs far more than running it. If a group
 * fails, each half is tried again. So if a vendor's compiler or runtime fails for one item, only that item fails. A
 * crash or a timeout of the runtime becomes the item's error.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_ISOLATE_H
#define GPUBPF_CLI_CONFORMANCE_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct isolate_item {
	uint32_t group; /* maximum size of a group that contains this item; 0: the item is done */
	/* the weights in a group add up to at most isolate.weight, unless the group has only one item */
	uint32_t weight;
	uint64_t value;                 /* result of the work on this item */
	char expected[160], error[400]; /* the error ("": none), and the expected result */
};

struct isolate_shared;

struct isolate {
	size_t n;
	uint32_t group, weight; /* maximum number of items, and maximum sum of weights, in a group */
	/*
	 * Called in the child. Processes groups until none is left. If it returns earlier, a new child processes the
	 * remaining groups.
	 */
	void (*work)(struct isolate *a);
	void (*progress)(void *arg, size_t done); /* called with the number of items that are done; may be NULL */
	void *arg;                                /* first argument of progress() */
	struct isolate_shared *shared;
	struct isolate_item *items; /* [n], in memory that is shared with the child */
};

/* Create the items, with no item done. Returns 0 or -ENOMEM. */
int isolate_init(struct isolate *a);
void isolate_finish(struct isolate *a);
/* Run children until all items are done. */
void isolate_run(struct isolate *a);

/* Called by work(): stores the next group, items *begin to *end - 1. Returns false if all items are done. */
bool isolate_next(struct isolate *a, uint32_t *begin, uint32_t *end);
/*
 * Record that the current group failed. Its halves are tried again. A group of one item is done, and gets this error.
 */
void isolate_split(struct isolate *a, const char *error);
void isolate_done(struct isolate *a, size_t i, const char *error);

#endif
