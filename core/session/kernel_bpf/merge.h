/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronizes two maps with keys: each pass applies the changes of either side to the other, and loses no addition. A
 * pass reads both sides completely, and changes them by operations that do not overwrite concurrent writes. The rules
 * do not depend on the kind of side. In kernel_maps.c, side 0 is arenas, and side 1 is a map of the Linux kernel.
 */
#ifndef GPUBPF_SESSION_MERGE_H
#define GPUBPF_SESSION_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Called for each element of a side. `last`: a write to the side's words changes the value that later reads return. It
 * is false if a device has its own copy of the value. A non-zero result ends the walk. */
typedef int (*gpubpf_merge_found_fn)(void *arg, const void *key, const void *value, bool last);

/* 0 or -errno. -ENOENT of add and exchange: the key was deleted. -EEXIST of insert: another writer inserted it. An
 * exchange only writes words that differ and still have the old value. */
struct gpubpf_merge_side {
	void *side;
	int (*each)(void *side, gpubpf_merge_found_fn found, void *arg);
	int (*one)(void *side, const void *key, void *value, bool *last); /* reads one key, as each does; or -ENOENT */
	int (*add)(void *side, const void *key, const void *value);       /* to each word, atomically */
	int (*exchange)(void *side, const void *key, const void *old, const void *value);
	int (*insert)(void *side, const void *key, const void *value);
	int (*erase)(void *side, const void *key);
};

struct gpubpf_merge_opts {
	uint32_t key_size, value_size;
	uint32_t word;  /* bytes of a word, which is merged as a unit: 4, 8, or the whole value */
	bool sums;      /* side 0 only adds, in words of 4 or 8 bytes */
	bool evicts;    /* keys are evicted (LRU), so a missing key is no deletion */
	bool keys_only; /* only keys are synchronized, and inserted with zero values; a value only shows
					* that its key has changed */
};

struct gpubpf_merge;

/* If both sides have changed a word, side 0's value wins. NULL: no memory. */
struct gpubpf_merge *gpubpf_merge_new(const struct gpubpf_merge_opts *opts, const struct gpubpf_merge_side sides[2]);
void gpubpf_merge_free(struct gpubpf_merge *m);
/* One pass. 0, or -ENOMEM, or -errno of a side that cannot be read. The next pass applies the changes that this one
 * could not. */
int gpubpf_merge_pass(struct gpubpf_merge *m);
/* Synchronizes one key, with the one() of both sides. */
int gpubpf_merge_key(struct gpubpf_merge *m, const void *key);
/* The number of keys for which the side had no room in the last pass. */
uint64_t gpubpf_merge_rejected(const struct gpubpf_merge *m, int side);
/* The number of changes in the last pass. */
uint64_t gpubpf_merge_change_count(const struct gpubpf_merge *m);

#endif
