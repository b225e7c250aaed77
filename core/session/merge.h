/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two maps with keys that are kept alike: what either side did since the last pass is done to the other, by rules that lose
 * no addition. A side is read whole and changed by operations that spare what happens there meanwhile; the rules know
 * nothing of what it is (linux_maps.c: arenas, and a map of the Linux kernel's).
 */
#ifndef GPUBPF_SESSION_MERGE_H
#define GPUBPF_SESSION_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One element that a side has. `last`: what is written to its words is what is read of them later; false where a device
 * keeps its own. Non-zero ends the walk. */
typedef int (*gpubpf_merge_found_fn)(void *arg, const void *key, const void *value, bool last);

/* 0 or -errno. -ENOENT of add and exchange: the key is gone; -EEXIST of insert: somebody was faster. Of words that differ,
 * exchange leaves alone those that are not the old ones any more. */
struct gpubpf_merge_side {
	void *side;
	int (*each)(void *side, gpubpf_merge_found_fn found, void *arg);
	int (*one)(void *side, const void *key, void *value, bool *last); /* of that key alone, as each tells it; or -ENOENT */
	int (*add)(void *side, const void *key, const void *value);     /* to each word, atomically */
	int (*exchange)(void *side, const void *key, const void *old, const void *value);
	int (*insert)(void *side, const void *key, const void *value);
	int (*erase)(void *side, const void *key);
};

struct gpubpf_merge_opts {
	uint32_t key_size, value_size;
	uint32_t word;                 /* bytes that are a number, or change together: 4, 8, or all */
	bool sums;                     /* side 0 does nothing but add, in words of 4 or 8 */
	bool forgets;                  /* keys go by themselves (LRU): that one is gone is no news */
	bool apart;                    /* keys alone are carried, and inserted with values of zeros; others tell of a change */
};

struct gpubpf_merge;

/* Side 0 wins where both have changed a word. NULL: no memory. */
struct gpubpf_merge *gpubpf_merge_new(const struct gpubpf_merge_opts *opts, const struct gpubpf_merge_side sides[2]);
void gpubpf_merge_free(struct gpubpf_merge *m);
/* One pass. 0, or -errno of a side that could not be read, or -ENOMEM: what was not carried is carried by the next. */
int gpubpf_merge_pass(struct gpubpf_merge *m);
/* The same of one key, by both sides' one(). */
int gpubpf_merge_key(struct gpubpf_merge *m, const void *key);
/* Keys that the last pass found no room for on the side. */
uint64_t gpubpf_merge_homeless(const struct gpubpf_merge *m, int side);
/* What the last pass changed. */
uint64_t gpubpf_merge_carried(const struct gpubpf_merge *m);

#endif
