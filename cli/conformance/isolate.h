/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work on items in a child process, in groups, since building a module costs far more than running one. A group that
 * fails is tried again in halves, so that an item which a vendor's compiler or runtime cannot take costs itself alone. A
 * runtime that crashes or hangs is a message too.
 */
#ifndef GPUBPF_CLI_CONFORMANCE_ISOLATE_H
#define GPUBPF_CLI_CONFORMANCE_ISOLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct isolate_item {
	uint32_t group;          /* most items that a group with this one may have; 0: done */
	uint32_t weight;         /* of the next group in all at most isolate.weight, or it is one item */
	uint64_t value;          /* what the work says of it */
	char expected[160], error[400]; /* what went wrong; "": nothing */
};

struct isolate_shared;

struct isolate {
	size_t n;
	uint32_t group, weight;  /* of a group at most */
	/* In the child: take groups until there is none, or for a while: then the next child goes on. */
	void (*work)(struct isolate *a);
	void (*progress)(void *arg, size_t done); /* may be NULL */
	void *arg;               /* progress's */
	struct isolate_shared *shared;
	struct isolate_item *items; /* [n], shared with the child */
};

/* Make the items, all to be done. 0 or -ENOMEM. */
int isolate_init(struct isolate *a);
void isolate_finish(struct isolate *a);
/* Until all items are done. */
void isolate_run(struct isolate *a);

/* For the work: the next group, items *begin to *end - 1, of which all are to be done. */
bool isolate_next(struct isolate *a, uint32_t *begin, uint32_t *end);
/* The group cannot be done together; a single item is done, with this error. */
void isolate_split(struct isolate *a, const char *error);
void isolate_done(struct isolate *a, size_t i, const char *error);

#endif
