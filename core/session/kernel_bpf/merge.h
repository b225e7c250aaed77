/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronizes two maps with keys, which are called side 0 and side 1. Each pass applies the changes of one map to the
 * other, and loses no addition. A pass reads both maps completely, and changes them by operations that do not overwrite
 * concurrent writes. In kernel_maps.c, side 0 is the session's map in its arenas, and side 1 is a Linux map.
 */
#ifndef GPUBPF_SESSION_MERGE_H
#define GPUBPF_SESSION_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Called for each element of a side. If it returns a value other than 0, the iteration stops. `last` is true if a write
 * to the side changes the value that later reads return. It is false if the value comes from the own memory of a
 * device, which the write does not change.
 */
typedef int (*gpubpf_merge_found_fn)(void *arg, const void *key, const void *value, bool last);

/*
 * Operations on one side, which return 0 or -errno. `add` and `exchange` return -ENOENT if the key was deleted.
 * `insert` returns -EEXIST if another writer has inserted the key. `exchange` writes only words that differ and still
 * have the old value.
 */
struct gpubpf_merge_side {
	void *side;
	int (*each)(void *side, gpubpf_merge_found_fn found, void *arg);
	int (*one)(void *side, const void *key, void *value, bool *last); /* read one key; -ENOENT: no such key */
	int (*add)(void *side, const void *key, const void *value);       /* add to each word atomically */
	int (*exchange)(void *side, const void *key, const void *old, const void *value);
	int (*insert)(void *side, const void *key, const void *value);
	int (*erase)(void *side, const void *key);
};

struct gpubpf_merge_opts {
	uint32_t key_size, value_size;
	uint32_t word; /* bytes of the words that are merged one by one: 4, 8, or the size of the value */
	bool sums;     /* values are sums: side 0 only adds to their words of 4 or 8 bytes */
	bool evicts;   /* the maps evict keys (LRU), so a missing key is not a deletion */
	/*
	 * only keys are synchronized; they are inserted with zero values. The value only shows that its key has changed
	 */
	bool keys_only;
};

struct gpubpf_merge;

/* Returns NULL if memory is short. If both sides change the same word, the value of side 0 wins. */
struct gpubpf_merge *gpubpf_merge_new(const struct gpubpf_merge_opts *opts, const struct gpubpf_merge_side sides[2]);
void gpubpf_merge_free(struct gpubpf_merge *m);
/*
 * Run one pass. Returns 0, -ENOMEM, or -errno if a side cannot be read. The next pass applies the changes that this one
 * could not apply.
 */
int gpubpf_merge_pass(struct gpubpf_merge *m);
/* Synchronize one key, which both sides read with one(). */
int gpubpf_merge_key(struct gpubpf_merge *m, const void *key);
/* Returns the number of keys that the side could not insert in the last pass, for example because it was full. */
uint64_t gpubpf_merge_rejected(const struct gpubpf_merge *m, int side);
/* Returns the number of changes that the last pass made. */
uint64_t gpubpf_merge_change_count(const struct gpubpf_merge *m);

#endif
