/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HASH, PERCPU_HASH, LRU_HASH and LRU_PERCPU_HASH: at most max_entries keys, with all elements preallocated, as in
 * bpf(2).
 *
 *   ctl + 0              struct gpubpf_map_ctl; drops: updates refused because all elements were in use
 *   ctl + 128            u64 free list: changes << 32 | index + 1 of the first free element
 *   ctl + 256            u64 number of elements ever taken; later elements were never used
 *   ctl + 320            u64 LRU: position of the hand, counted without wrapping
 *   ctl + 384            buckets, gpubpf_hash_nbuckets() of them: u32 lock, u32 head
 *   data + i * stride    element i, a multiple of 16 bytes: u32 next, u32 gen, key, u32 state, u32 free, and the value
 *                        if copies is 1; key and value are padded to 8
 *   values               with copies > 1, one per multiprocessor: summands of one value, or independent values
 *                        (GPUBPF_LAYOUT_COPIES); value i of copy c lies at
 *                        data + max_entries * stride + c * copy_stride + i * round_up(value_size, 8)
 *   marks                LRU: after the values, a u32 per element; not 0: used since the hand last passed it
 *
 *     next               index + 1, or GPUBPF_HASH_END | bucket
 *     gen                odd while key and value are replaced; 0: never used
 *     state              GPUBPF_HASH_LIVE, or GPUBPF_HASH_ZOMBIE while pins remain; plus the number of pins
 *     free               next element of the free list: index + 1; in a live element of an LRU table its bucket
 *
 * Look-ups take no lock. They walk a chain of indices + 1 that ends in GPUBPF_HASH_END | bucket. An element that is
 * reused meanwhile leads into another chain. The end of that chain names another bucket (the kernel's "nulls" lists),
 * and the walk restarts. Keys longer than a word are read between two reads of the element's generation.
 *
 * Insertions and deletions hold the bucket's lock for one turn of a loop that does not wait, so lanes of a warp cannot
 * block each other. If the holder of a lock died, its waiters wait for a bounded time. They then return -EBUSY, count
 * in lock_timeouts and mark the lock, so that later lanes wait only briefly. The holder clears the mark when it
 * releases the lock, for example if a CPU had descheduled its thread.
 *
 * Updates in place take no lock. If programs delete keys (GPUBPF_LAYOUT_DELETES), an update pins the element, and the
 * lane that removes the last pin of a deleted element frees it. If only the host deletes, a deletion may race with an
 * update of the same key. The update then changes the key that reuses the element next, as with a pointer that a
 * program saved.
 *
 * A full LRU table evicts one key for each key that is inserted. The inserter holds the lock of the new key's bucket.
 * Therefore several lanes that insert one key evict only one. A hand cycles over the elements and clears marks. The
 * first element without a mark is evicted, if the lock of its bucket (its `free` word) is available at once.
 *
 * If no key is ever deleted, a successful look-up stays valid, so a multiprocessor may search its own cache
 * (gpubpf_hash_glance()). The cache loads next, gen and a key of one word together, and its stale copy of a chain is a
 * tail of the chain. A key that it does not find may be new, so the caller then does a normal look-up.
 */
#ifndef GPUBPF_MAPS_HASH_H
#define GPUBPF_MAPS_HASH_H

#include "maps/device/words.h"

#define GPUBPF_HASH_NEXT 0
#define GPUBPF_HASH_GEN 4
#define GPUBPF_HASH_KEY 8
#define GPUBPF_HASH_STATE(key_size) (GPUBPF_HASH_KEY + GPUBPF_ROUND8(key_size))
#define GPUBPF_HASH_FREE(key_size) (GPUBPF_HASH_STATE(key_size) + 4)
#define GPUBPF_HASH_VALUE(key_size) (GPUBPF_HASH_STATE(key_size) + 8)
#define GPUBPF_HASH_ALIGN 16         /* alignment of elements */

#define GPUBPF_HASH_END 0x80000000u
#define GPUBPF_HASH_LOST 0xffffffffu /* result of a walk: the chain changed during the walk */
#define GPUBPF_HASH_LIVE 0x80000000u
#define GPUBPF_HASH_ZOMBIE 0x40000000u
#define GPUBPF_HASH_MAX 0x7ffffffeu  /* maximum number of entries */

#define GPUBPF_HASH_FREE_LIST 128
#define GPUBPF_HASH_TAKEN 256
#define GPUBPF_HASH_HAND 320
#define GPUBPF_HASH_BUCKETS 384

/* states of a bucket's lock; 0: free */
#define GPUBPF_HASH_HELD 1u
#define GPUBPF_HASH_STUCK 2u         /* held, and a waiter has timed out */

#define GPUBPF_HASH_SMALL 65536u     /* maximum entries of a small table */
#define GPUBPF_HASH_STEPS 64u        /* steps of the hand in one turn */

/*
 * turns that one fruitless turn of the hand counts for: after two full cycles, and GPUBPF_SHORT_WAIT_TURNS more turns, the
 * operation ends
 */
#define GPUBPF_HASH_FRUITLESS_TURNS(max_entries) \
	(GPUBPF_MAX_WAIT_TURNS / (GPUBPF_SHORT_WAIT_TURNS + (max_entries) / (GPUBPF_HASH_STEPS / 2)))

/*
 * The power of two at or above n, 0 < n <= 2^31. Small tables use the next larger one, so that fewer keys share a
 * bucket.
 */
GPUBPF_FN u32 gpubpf_hash_nbuckets(u32 n)
{
	n = n <= GPUBPF_HASH_SMALL ? 2 * n - 1 : n - 1;
	n |= n >> 1;
	n |= n >> 2;
	n |= n >> 4;
	n |= n >> 8;
	n |= n >> 16;
	return n + 1;
}

#define GPUBPF_HASH_NEAR_BITS 5      /* keys that differ only in these bits have neighbouring buckets */
#define GPUBPF_HASH_NEAR ((1u << GPUBPF_HASH_NEAR_BITS) - 1)

/*
 * Bucket of a key of at most one u32. Nearby keys have nearby buckets, so that a warp, whose keys are often
 * consecutive, touches few cache lines. Consecutive groups of keys are spread by multiples of the golden ratio, so that
 * fewer than 2^16 consecutive keys share no bucket. The higher bits are mixed in, so that no distance between keys is
 * bad.
 */
GPUBPF_FN u32 gpubpf_hash_short(u32 key, u32 max_entries)
{
	u32 nbuckets = gpubpf_hash_nbuckets(max_entries), group = key >> GPUBPF_HASH_NEAR_BITS;

	group ^= (group >> 11) * 0x85ebca77u;
	return (u32)((u64)(group * 0x9e3779b1u) * nbuckets >> 32) ^ (key & GPUBPF_HASH_NEAR & (nbuckets - 1));
}

GPUBPF_FN u32 gpubpf_hash_bucket(GPUBPF_PRIVATE const u8 *key, u32 key_size, u32 max_entries)
{
	u64 hash = key_size;
	u32 i;

	if (key_size <= 4)
		return gpubpf_hash_short((u32)gpubpf_word(key, key_size), max_entries);
	GPUBPF_UNROLL
	for (i = 0; i < key_size; i += 8) {
		hash = (hash ^ gpubpf_word(key + i, key_size - i)) * 0xff51afd7ed558ccdul;
		hash ^= hash >> 32;
	}
	hash *= 0xc4ceb9fe1a85ec53ul;
	return (u32)(hash >> 32) & (gpubpf_hash_nbuckets(max_entries) - 1);
}

GPUBPF_FN u64 gpubpf_hash_elem_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at)
{
	return env->arena + data + (at - 1) * stride;
}

GPUBPF_FN u64 gpubpf_hash_bucket_at(GPUBPF_ENV, u64 ctl, u32 bucket)
{
	return env->arena + ctl + GPUBPF_HASH_BUCKETS + bucket * 8ul;
}

GPUBPF_FN u64 gpubpf_hash_value_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at, u32 copy)
{
	if (copies <= 1)
		return gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at) + GPUBPF_HASH_VALUE(key_size);
	return env->arena + data + max_entries * stride + copy * copy_stride +
	       (at - 1) * (u64)GPUBPF_ROUND8(value_size);
}

/* The lane's value: the copy of its multiprocessor, which is a summand or an independent value. */
GPUBPF_FN u64 gpubpf_hash_own_value_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at)
{
	u32 copy = map_flags & GPUBPF_LAYOUT_COPIES ? gpubpf_copy_of(copies) : gpubpf_own_copy(copies);

	return gpubpf_hash_value_at(env, GPUBPF_MAP_PASS, at, copy);
}

GPUBPF_FN u64 gpubpf_hash_mark_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at)
{
	return env->arena + data + max_entries * stride + (copies > 1 ? copies * copy_stride : 0) + (at - 1) * 4ul;
}

GPUBPF_FN void gpubpf_hash_mark(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at)
{
	u64 mark;

	if (!(map_flags & GPUBPF_LAYOUT_LRU))
		return;
	mark = gpubpf_hash_mark_at(env, GPUBPF_MAP_PASS, at);
	if (!gpubpf_load_u32(mark))
		gpubpf_store_u32(mark, 1);
}

/*
 * Returns 1 if the element holds the key with first word `word`, and 0 if it does not. A result of 2 means that the key
 * is being replaced.
 */
GPUBPF_FN u32 gpubpf_hash_holds_word(u64 elem, GPUBPF_PRIVATE const u8 *key, u32 key_size, u64 word)
{
	u32 i, gen, same = 1;

	if (key_size <= 8)
		return gpubpf_load_u64(elem + GPUBPF_HASH_KEY) == word;
	gen = gpubpf_load_acquire_u32(elem + GPUBPF_HASH_GEN);
	GPUBPF_UNROLL
	for (i = 0; i < key_size && (same || GPUBPF_UNROLLED); i += 8)
		same &= gpubpf_load_acquire_u64(elem + GPUBPF_HASH_KEY + i) == gpubpf_word(key + i, key_size - i);
	return (gen & 1) || gpubpf_load_u32(elem + GPUBPF_HASH_GEN) != gen ? 2 : same;
}

GPUBPF_FN u32 gpubpf_hash_holds(u64 elem, GPUBPF_PRIVATE const u8 *key, u32 key_size)
{
	return gpubpf_hash_holds_word(elem, key, key_size, gpubpf_word(key, key_size));
}

/*
 * Returns the key's element as index + 1, 0 if it does not exist, or GPUBPF_HASH_LOST. *before is the address of the
 * word that points to the element.
 */
GPUBPF_FN u32 gpubpf_hash_walk(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key, u32 bucket,
			       GPUBPF_PRIVATE u64 *before)
{
	u64 link = gpubpf_hash_bucket_at(env, ctl, bucket) + 4, word = gpubpf_word(key, key_size);
	u32 at, steps, holds;

	for (steps = 0; steps <= max_entries; steps++) {
		at = gpubpf_load_acquire_u32(link);
		if (at == 0 || at == (GPUBPF_HASH_END | bucket))
			return 0;
		if (at > max_entries)
			return GPUBPF_HASH_LOST;
		holds = gpubpf_hash_holds_word(gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at), key, key_size, word);
		if (holds == 2)
			return GPUBPF_HASH_LOST;
		*before = link;
		if (holds)
			return at;
		link = gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at) + GPUBPF_HASH_NEXT;
	}
	return GPUBPF_HASH_LOST;
}

/* after this many turns, may the lane wait for the lock once more? */
GPUBPF_FN u32 gpubpf_hash_may_wait(u64 bucket, u32 turns)
{
	u32 lock;

	if (turns < GPUBPF_SHORT_WAIT_TURNS || turns >= GPUBPF_MAX_WAIT_TURNS)
		return turns < GPUBPF_SHORT_WAIT_TURNS;
	lock = gpubpf_load_u32(bucket);
	if (lock)
		gpubpf_rest(turns);
	return lock <= GPUBPF_HASH_HELD;
}

GPUBPF_FN u32 gpubpf_hash_trylock(u64 bucket)
{
	return gpubpf_load_u32(bucket) == 0 && gpubpf_cas_u32(bucket, 0, GPUBPF_HASH_HELD) == 0;
}

GPUBPF_FN void gpubpf_hash_time_out(u64 map, u64 bucket)
{
	gpubpf_cas_u32(bucket, GPUBPF_HASH_HELD, GPUBPF_HASH_STUCK);
	gpubpf_count(map + 8);
}

/*
 * Unlock, and return true. The result is read from memory, so that no compiler can know it. Otherwise a compiler could
 * move the critical section out of the loop. In lock-step execution it would then run when the last lane has left the
 * loop, and lanes that wait for the lock would never leave (seen on Intel's CPU runtime).
 */
GPUBPF_FN u32 gpubpf_hash_unlock(GPUBPF_ENV, u64 bucket)
{
	gpubpf_store_release_u32(bucket, 0);
	return gpubpf_load_u32(env->arena + GPUBPF_ARENA_IS_VERSION) != 0;
}

/*
 * Set the value. Summands: the first copy gets it, and the others become 0. Independent values: the lane's copy gets
 * it, and the others become 0 if the element is new. With GPUBPF_LAYOUT_ALL_COPIES, used by bpf(2) on the host, `value` has
 * all copies in a row, each padded to 8 bytes.
 */
GPUBPF_FN void gpubpf_hash_set_value(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at, u32 is_new, GPUBPF_PRIVATE const u8 *value)
{
	u32 own = map_flags & GPUBPF_LAYOUT_COPIES ? gpubpf_copy_of(copies) : 0, copy;

	if (map_flags & GPUBPF_LAYOUT_ALL_COPIES) {
		for (copy = 0; copy < copies; copy++)
			gpubpf_copy_in(gpubpf_hash_value_at(env, GPUBPF_MAP_PASS, at, copy),
				       value + copy * GPUBPF_ROUND8(value_size), value_size);
		return;
	}
	GPUBPF_NOUNROLL
	for (copy = 0; copy < copies && (is_new || !(map_flags & GPUBPF_LAYOUT_COPIES)); copy++)
		if (copy != own)
			gpubpf_zero(gpubpf_hash_value_at(env, GPUBPF_MAP_PASS, at, copy), value_size);
	gpubpf_put_value(gpubpf_hash_value_at(env, GPUBPF_MAP_PASS, at, own), value, value_size, map_flags);
}

/* Is an element free? A hint that is exact while no lane inserts or deletes. */
GPUBPF_FN u32 gpubpf_hash_has_room(u64 map, u32 max_entries)
{
	return (u32)gpubpf_load_u64(map + GPUBPF_HASH_FREE_LIST) != 0 ||
	       gpubpf_load_u64(map + GPUBPF_HASH_TAKEN) < max_entries;
}

/*
 * Take a free element: index + 1, or 0 if all are in use. The counter of changes prevents the ABA problem: a list head
 * that was removed and added again differs from the one that was read.
 */
GPUBPF_FN u32 gpubpf_hash_alloc_elem(GPUBPF_ENV, GPUBPF_MAP_ARGS)
{
	u64 map = env->arena + ctl, head = gpubpf_load_acquire_u64(map + GPUBPF_HASH_FREE_LIST), seen;
	u32 at = 0, next;

	while ((u32)head != 0 && (u32)head <= max_entries && at == 0) {
		next = gpubpf_load_u32(gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, (u32)head) + GPUBPF_HASH_FREE(key_size));
		seen = gpubpf_cas_u64(map + GPUBPF_HASH_FREE_LIST, head, ((head >> 32) + 1) << 32 | next);
		if (seen == head)
			at = (u32)head;
		head = seen;
	}
	if (at == 0 && gpubpf_load_u64(map + GPUBPF_HASH_TAKEN) < max_entries) {
		head = gpubpf_rmw_add_u64(map + GPUBPF_HASH_TAKEN, 1);
		at = head < max_entries ? (u32)head + 1 : 0;
	}
	return at;
}

GPUBPF_FN void gpubpf_hash_free_elem(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at)
{
	u64 map = env->arena + ctl, head = gpubpf_load_u64(map + GPUBPF_HASH_FREE_LIST), seen;
	u32 freed = 0;

	while (!freed) {
		gpubpf_store_u32(gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at) + GPUBPF_HASH_FREE(key_size), (u32)head);
		gpubpf_fence();
		seen = gpubpf_cas_u64(map + GPUBPF_HASH_FREE_LIST, head, ((head >> 32) + 1) << 32 | at);
		freed = seen == head;
		head = seen;
	}
}

GPUBPF_FN void gpubpf_hash_unpin(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at)
{
	u64 state = gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at) + GPUBPF_HASH_STATE(key_size);

	if (gpubpf_rmw_add_u32(state, 0u - 1) == (GPUBPF_HASH_ZOMBIE | 1) &&
	    gpubpf_cas_u32(state, GPUBPF_HASH_ZOMBIE, 0) == GPUBPF_HASH_ZOMBIE)
		gpubpf_hash_free_elem(env, GPUBPF_MAP_PASS, at);
}

/* Set the value of an element that a walk without lock found. 0: the element was deleted meanwhile. */
GPUBPF_FN u32 gpubpf_hash_set_found(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at, GPUBPF_PRIVATE const u8 *key,
				    GPUBPF_PRIVATE const u8 *value)
{
	u64 elem = gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at);
	u32 valid = 1;

	if (map_flags & GPUBPF_LAYOUT_DELETES)
		valid = gpubpf_rmw_add_u32(elem + GPUBPF_HASH_STATE(key_size), 1) >= GPUBPF_HASH_LIVE &&
			gpubpf_hash_holds(elem, key, key_size) == 1;
	if (valid) {
		gpubpf_hash_set_value(env, GPUBPF_MAP_PASS, at, 0, value);
		gpubpf_hash_mark(env, GPUBPF_MAP_PASS, at);
	}
	if (map_flags & GPUBPF_LAYOUT_DELETES)
		gpubpf_hash_unpin(env, GPUBPF_MAP_PASS, at);
	return valid;
}

/*
 * Unlink an element from its chain. The caller holds the bucket's lock, and `before` is the link to the element.
 * Returns 1 if the caller owns the element. On 0 the lane that removes the last pin will free it.
 */
GPUBPF_FN u32 gpubpf_hash_unlink(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 before, u32 at)
{
	u64 elem = gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at), state = elem + GPUBPF_HASH_STATE(key_size);

	gpubpf_store_release_u32(before, gpubpf_load_u32(elem + GPUBPF_HASH_NEXT));
	gpubpf_rmw_add_u32(state, GPUBPF_HASH_ZOMBIE - GPUBPF_HASH_LIVE);
	return gpubpf_cas_u32(state, GPUBPF_HASH_ZOMBIE, 0) == GPUBPF_HASH_ZOMBIE;
}

/*
 * The address of the link to an element in a bucket's chain, or 0 if the chain does not contain it. The caller holds
 * the bucket's lock.
 */
GPUBPF_FN u64 gpubpf_hash_find_link(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 bucket, u32 wanted)
{
	u64 link = gpubpf_hash_bucket_at(env, ctl, bucket) + 4;
	u32 at = gpubpf_load_u32(link), steps;

	for (steps = 0; steps < max_entries && at != wanted && at - 1 < max_entries; steps++) {
		link = gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at) + GPUBPF_HASH_NEXT;
		at = gpubpf_load_u32(link);
	}
	return at == wanted ? link : 0;
}

/*
 * Evict the key of an element, if its bucket's lock is available at once. The caller holds the lock of bucket `held`.
 * 1: the caller owns the element.
 */
GPUBPF_FN u32 gpubpf_hash_evict_key(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at, u32 held)
{
	u64 elem = gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at), lock, before;
	u32 bucket = gpubpf_load_u32(elem + GPUBPF_HASH_FREE(key_size)), mine = 0;

	if (!(gpubpf_load_u32(elem + GPUBPF_HASH_STATE(key_size)) & GPUBPF_HASH_LIVE) ||
	    bucket >= gpubpf_hash_nbuckets(max_entries))
		return 0;
	lock = gpubpf_hash_bucket_at(env, ctl, bucket);
	if (bucket != held && !gpubpf_hash_trylock(lock))
		return 0;
	before = gpubpf_hash_find_link(env, GPUBPF_MAP_PASS, bucket, at);
	if (before)
		mine = gpubpf_hash_unlink(env, GPUBPF_MAP_PASS, before, at);
	if (bucket != held)
		gpubpf_store_release_u32(lock, 0);
	return mine;
}

/*
 * Evict an element of a full LRU table for the holder of a bucket's lock: index + 1, or 0 if the hand found none in one
 * turn.
 */
GPUBPF_FN u32 gpubpf_hash_evict(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 held)
{
	u32 at = 0, found = 0, steps;
	u64 mark;

	for (steps = 0; steps < GPUBPF_HASH_STEPS && !found; steps++) {
		at = (u32)(gpubpf_fetch_add_relaxed_u64(env->arena + ctl + GPUBPF_HASH_HAND, 1) % max_entries) + 1;
		mark = gpubpf_hash_mark_at(env, GPUBPF_MAP_PASS, at);
		if (gpubpf_load_u32(mark))
			gpubpf_store_u32(mark, 0);
		else
			found = gpubpf_hash_evict_key(env, GPUBPF_MAP_PASS, at, held);
	}
	return found ? at : 0;
}

/* Fill a free element and insert it as the first one of its bucket, whose lock is held. */
GPUBPF_FN void gpubpf_hash_insert(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at, u32 bucket,
				  GPUBPF_PRIVATE const u8 *key, GPUBPF_PRIVATE const u8 *value)
{
	u64 elem = gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at);
	u64 head = gpubpf_hash_bucket_at(env, ctl, bucket) + 4;
	u32 first = gpubpf_load_u32(head), gen = gpubpf_load_u32(elem + GPUBPF_HASH_GEN) | 1;

	gpubpf_store_u32(elem + GPUBPF_HASH_GEN, gen);
	gpubpf_fence();
	gpubpf_hash_set_value(env, GPUBPF_MAP_PASS, at, 1, value);
	gpubpf_store_u32(elem + GPUBPF_HASH_NEXT, first ? first : GPUBPF_HASH_END | bucket);
	gpubpf_fence();
	gpubpf_copy_in(elem + GPUBPF_HASH_KEY, key, key_size);
	if (map_flags & GPUBPF_LAYOUT_LRU) {
		gpubpf_store_u32(elem + GPUBPF_HASH_FREE(key_size), bucket);
		gpubpf_store_u32(gpubpf_hash_mark_at(env, GPUBPF_MAP_PASS, at), 0);
	}
	gpubpf_store_release_u32(elem + GPUBPF_HASH_GEN, gen + 1);
	gpubpf_rmw_add_u32(elem + GPUBPF_HASH_STATE(key_size), GPUBPF_HASH_LIVE);
	gpubpf_store_release_u32(head, at);
}

/* Set the key, whether it exists or not. The caller holds the lock. */
GPUBPF_FN s64 gpubpf_hash_set_locked(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 bucket, GPUBPF_PRIVATE const u8 *key,
				     GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u64 before = 0;
	u32 at = gpubpf_hash_walk(env, GPUBPF_MAP_PASS, key, bucket, &before);

	if (at == GPUBPF_HASH_LOST)
		return -GPUBPF_EBUSY;
	if (at && flags == GPUBPF_NOEXIST)
		return -GPUBPF_EEXIST;
	if (at) {
		gpubpf_hash_set_value(env, GPUBPF_MAP_PASS, at, 0, value);
		gpubpf_hash_mark(env, GPUBPF_MAP_PASS, at);
		return 0;
	}
	if (flags == GPUBPF_EXIST)
		return -GPUBPF_ENOENT;
	at = gpubpf_hash_alloc_elem(env, GPUBPF_MAP_PASS);
	if (!at && (map_flags & GPUBPF_LAYOUT_LRU))
		at = gpubpf_hash_evict(env, GPUBPF_MAP_PASS, bucket);
	if (!at)
		return -GPUBPF_E2BIG;
	gpubpf_hash_insert(env, GPUBPF_MAP_PASS, at, bucket, key, value);
	return 0;
}

#define GPUBPF_HASH_MAX_CACHED_STEPS 4u

/* A look-up in the multiprocessor's cache; 0: not found there. The lowering emits it before a normal look-up. */
GPUBPF_FN u64 gpubpf_hash_glance(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
#ifdef GPUBPF_HAS_CACHED_LOADS
	u64 wanted = gpubpf_word(key, key_size), head, links, found;
	u32 at, steps;

	if (key_size > 8 || map_flags & (GPUBPF_LAYOUT_DELETES | GPUBPF_LAYOUT_LIVE))
		return 0;
	head = gpubpf_hash_bucket_at(env, ctl, gpubpf_hash_bucket(key, key_size, max_entries));
	at = (u32)(gpubpf_load_cached_u64(head) >> 32);
	GPUBPF_NOUNROLL
	for (steps = 0; steps < GPUBPF_HASH_MAX_CACHED_STEPS && at - 1 < max_entries; steps++) {
		gpubpf_load_cached_pair(gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at), &links, &found);
		if (found == wanted && links >> 32 && !(links >> 32 & 1))
			return gpubpf_hash_own_value_at(env, GPUBPF_MAP_PASS, at);
		at = (u32)links;
	}
#endif
	return 0;
}

GPUBPF_FN u64 gpubpf_hash_lookup(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	u32 bucket = gpubpf_hash_bucket(key, key_size, max_entries), at = GPUBPF_HASH_LOST, tries;
	u64 before = 0;

	for (tries = 0; tries < 64 && at == GPUBPF_HASH_LOST; tries++)
		at = gpubpf_hash_walk(env, GPUBPF_MAP_PASS, key, bucket, &before);
	if (at == GPUBPF_HASH_LOST)
		gpubpf_count(env->arena + ctl + 8);
	if (at == 0 || at == GPUBPF_HASH_LOST)
		return 0;
	gpubpf_hash_mark(env, GPUBPF_MAP_PASS, at);
	return gpubpf_hash_own_value_at(env, GPUBPF_MAP_PASS, at);
}

GPUBPF_FN s64 gpubpf_hash_update(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key,
				 GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u64 map = env->arena + ctl, lock, before = 0;
	u32 bucket, at, turns, full = 0, done = 0;
	s64 ret = -GPUBPF_EBUSY;

	if (flags > GPUBPF_EXIST)
		return -GPUBPF_EINVAL;
	bucket = gpubpf_hash_bucket(key, key_size, max_entries);
	lock = gpubpf_hash_bucket_at(env, ctl, bucket);
	for (turns = 0; !done && gpubpf_hash_may_wait(lock, turns); turns++) {
		at = gpubpf_hash_walk(env, GPUBPF_MAP_PASS, key, bucket, &before);
		if (at != 0 && at != GPUBPF_HASH_LOST) {
			done = flags == GPUBPF_NOEXIST || gpubpf_hash_set_found(env, GPUBPF_MAP_PASS, at, key, value);
			ret = flags == GPUBPF_NOEXIST ? -GPUBPF_EEXIST : 0;
		} else if (at == 0 && (flags == GPUBPF_EXIST || full)) {
			done = 1;
			ret = flags == GPUBPF_EXIST ? -GPUBPF_ENOENT : -GPUBPF_E2BIG;
		} else if (at == 0 && !(map_flags & GPUBPF_LAYOUT_LRU) && !gpubpf_hash_has_room(map, max_entries) &&
			   gpubpf_load_acquire_u32(lock) == 0) {
			/* no lane inserts the key now: if the next walk does not find it, the table is full without
			 * it */
			full = 1;
		} else if (gpubpf_hash_trylock(lock)) {
			ret = gpubpf_hash_set_locked(env, GPUBPF_MAP_PASS, bucket, key, value, flags);
			if ((map_flags & GPUBPF_LAYOUT_LRU) && ret == -GPUBPF_E2BIG) {
				ret = -GPUBPF_EBUSY;
				turns += GPUBPF_HASH_FRUITLESS_TURNS(max_entries);
			}
			done = gpubpf_hash_unlock(env, lock) && ret != -GPUBPF_EBUSY;
		}
	}
	if (!done)
		ret = -GPUBPF_EBUSY;
	if (ret == -GPUBPF_E2BIG)
		gpubpf_count(map);
	if (ret == -GPUBPF_EBUSY)
		gpubpf_hash_time_out(map, lock);
	return ret;
}

/* Unlink the key's element. The caller holds the lock. */
GPUBPF_FN s64 gpubpf_hash_delete_locked(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 bucket, GPUBPF_PRIVATE const u8 *key)
{
	u64 before = 0;
	u32 at = gpubpf_hash_walk(env, GPUBPF_MAP_PASS, key, bucket, &before);

	if (at == GPUBPF_HASH_LOST)
		return -GPUBPF_EBUSY;
	if (at == 0)
		return -GPUBPF_ENOENT;
	if (gpubpf_hash_unlink(env, GPUBPF_MAP_PASS, before, at))
		gpubpf_hash_free_elem(env, GPUBPF_MAP_PASS, at);
	return 0;
}

GPUBPF_FN s64 gpubpf_hash_delete(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	u64 map = env->arena + ctl, lock, before = 0;
	u32 bucket = gpubpf_hash_bucket(key, key_size, max_entries), turns, done = 0;
	s64 ret = -GPUBPF_ENOENT;

	lock = gpubpf_hash_bucket_at(env, ctl, bucket);
	for (turns = 0; !done && gpubpf_hash_may_wait(lock, turns); turns++) {
		if (gpubpf_hash_walk(env, GPUBPF_MAP_PASS, key, bucket, &before) == 0) {
			done = 1;
		} else if (gpubpf_hash_trylock(lock)) {
			ret = gpubpf_hash_delete_locked(env, GPUBPF_MAP_PASS, bucket, key);
			done = gpubpf_hash_unlock(env, lock) && ret != -GPUBPF_EBUSY;
		}
	}
	if (!done)
		ret = -GPUBPF_EBUSY;
	if (ret == -GPUBPF_EBUSY)
		gpubpf_hash_time_out(map, lock);
	return ret;
}

/* Read the key of an element atomically. 0: the key is being replaced. */
GPUBPF_FN u32 gpubpf_hash_key_of(u64 elem, GPUBPF_PRIVATE u8 *key, u32 key_size)
{
	u32 gen = gpubpf_load_acquire_u32(elem + GPUBPF_HASH_GEN), i;

	GPUBPF_UNROLL
	for (i = 0; i < key_size; i += 8)
		gpubpf_set_word(key + i, gpubpf_load_acquire_u64(elem + GPUBPF_HASH_KEY + i), key_size - i);
	return key_size <= 8 || (!(gen & 1) && gpubpf_load_u32(elem + GPUBPF_HASH_GEN) == gen);
}

/*
 * Returns the lane's value of the first live element from *at on, writes its key and advances *at; 0 after the last
 * one. An element that is reused meanwhile has a new key, which may be skipped.
 */
GPUBPF_FN u64 gpubpf_hash_each(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u64 *at, GPUBPF_PRIVATE u8 *key)
{
	u64 taken = gpubpf_load_u64(env->arena + ctl + GPUBPF_HASH_TAKEN), index = *at, elem, value = 0;

	taken = taken < max_entries ? taken : max_entries;
	GPUBPF_NOUNROLL
	while (!value && index < taken) {
		elem = gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, (u32)++index);
		if ((gpubpf_load_acquire_u32(elem + GPUBPF_HASH_STATE(key_size)) & GPUBPF_HASH_LIVE) &&
		    gpubpf_hash_key_of(elem, key, key_size))
			value = gpubpf_hash_own_value_at(env, GPUBPF_MAP_PASS, (u32)index);
	}
	*at = index;
	return value;
}

#endif
