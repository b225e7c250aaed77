/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes items in a child process, in groups, since building a module costs far more than running one. A group that
 * fails is tried again in halves. So if a vendor's compiler or runtime fails for one item, only that item fails. A
 * crash or a timeout of the runtime is reported as the item's error.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_ISOLATE_H
#define GPUBPF_CLI_CONFORMANCE_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct isolate_item {
	uint32_t group;          /* maximum number of items in a group with this item; 0: done */
	uint32_t weight;         /* the sum over a group is at most isolate.weight, unless the group is one item */
	uint64_t value;          /* result of the work */
	char expected[160], error[400]; /* the error; "": none */
};

struct isolate_shared;

struct isolate {
	size_t n;
	uint32_t group, weight;  /* maximum of a group */
	/* Runs in the child: takes groups until none are left, or returns earlier; then a new child continues. */
	void (*work)(struct isolate *a);
	void (*progress)(void *arg, size_t done); /* may be NULL */
	void *arg;               /* argument of progress */
	struct isolate_shared *shared;
	struct isolate_item *items; /* [n], shared with the child */
};

/* Create the items, none of them done. Returns 0 or -ENOMEM. */
int isolate_init(struct isolate *a);
void isolate_finish(struct isolate *a);
/* Run until all items are done. */
void isolate_run(struct isolate *a);

/* For work(): get the next group, items *begin to *end - 1, none of them done. */
bool isolate_next(struct isolate *a, uint32_t *begin, uint32_t *end);
/* The group failed: retry it in halves. A single item is done, with this error. */
void isolate_split(struct isolate *a, const char *error);
void isolate_done(struct isolate *a, size_t i, const char *error);

#endif
