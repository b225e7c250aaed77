/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HASH, PERCPU_HASH, LRU_HASH and LRU_PERCPU_HASH: at most max_entries keys. All elements are preallocated, as in
 * bpf(2).
 *
 *   ctl + 0              struct gpubpf_map_ctl; drops: updates that failed because all elements were in use
 *   ctl + 128            u64 free list: number of changes << 32 | index + 1 of the first free element
 *   ctl + 256            u64 number of elements that were ever taken; elements after these were never used
 *   ctl + 320            u64 LRU: position of the hand, counted without wrapping
 *   ctl + 384            gpubpf_hash_nbuckets() buckets: u32 lock, u32 head
 *   data + i * stride    element i, a multiple of 16 bytes: u32 next, u32 gen, key, u32 state, u32 free, and the value
 *                        if copies is 1. The key and the value are padded to 8 bytes
 *   values               if copies > 1: one value per multiprocessor. Either readers sum them, or they are independent
 *                        (GPUBPF_LAYOUT_COPIES). Value i of copy c is at
 *                        data + max_entries * stride + c * copy_stride + i * round_up(value_size, 8)
 *   marks                LRU: after the values, a u32 per element. It is not 0 if the element was used since the hand
 *                        last passed it
 *
 *     next               index + 1 of the next element of the chain, or GPUBPF_HASH_END | bucket
 *     gen                generation: odd while key and value are replaced; 0: never used
 *     state              GPUBPF_HASH_LIVE, or GPUBPF_HASH_ZOMBIE if deleted but still pinned; plus the number of pins
 *     free               index + 1 of the next element of the free list; LRU: in a live element, its bucket
 *
 * Look-ups take no lock. They walk a chain of elements, which ends with GPUBPF_HASH_END | bucket. If an element is
 * reused during the walk, the walk continues in another chain. At the end of this chain it finds the number of another
 * bucket (like the "nulls" lists of the Linux kernel), and restarts. A key longer than a word is compared between two
 * reads of the element's generation.
 *
 * Insertions and deletions hold the bucket's lock during one iteration of a loop. This iteration does not wait, so the
 * lanes of a warp cannot block each other. If the holder of a lock was killed, the waiting lanes time out. They return
 * -EBUSY, count in lock_timeouts and mark the lock, so that later lanes wait only briefly. A holder that was only
 * delayed, for example because the system descheduled its CPU thread, clears the mark when it releases the lock.
 *
 * Updates in place take no lock. If programs delete keys (GPUBPF_LAYOUT_DELETES), an update pins the element, and the
 * lane that removes the last pin of a deleted element frees it. If only the host deletes keys, an update may race with
 * the deletion of its key. Then the update changes the value of the key that reuses the element next, like a program
 * that writes through a pointer that it has saved.
 *
 * An insertion into a full LRU table evicts one key. The inserting lane holds the lock of the new key's bucket, so
 * several lanes that insert the same key evict only one. The hand cycles over the elements and clears marks. It evicts
 * the first element without a mark, if the lock of that element's bucket (its member `free`) is available at once.
 *
 * If keys are never deleted, a successful look-up stays valid. So a look-up may first search the table through the
 * cache of its multiprocessor (gpubpf_hash_glance()). It loads next, gen and a key of one word together. A stale chain
 * in the cache is a tail of the current chain. So a key that is not found may be new, and a normal look-up follows.
 */
#ifndef GPUBPF_MAPS_HASH_H
#define GPUBPF_MAPS_HASH_H

#include "hash_table.h"

/*
 * Unlink an element from its chain. The caller holds the bucket's lock; `before` is the address of the link to the
 * element. Returns 1 if the caller now owns the element. Returns 0 if other lanes still pin it; the last of them frees
 * it.
 */
GPUBPF_FN u32 gpubpf_hash_unlink(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 before, u32 at)
{
	u64 elem = gpubpf_hash_elem_at(env, GPUBPF_MAP_PASS, at), state = elem + GPUBPF_HASH_STATE(key_size);

	gpubpf_store_release_u32(before, gpubpf_load_u32(elem + GPUBPF_HASH_NEXT));
	gpubpf_rmw_add_u32(state, GPUBPF_HASH_ZOMBIE - GPUBPF_HASH_LIVE);
	return gpubpf_cas_u32(state, GPUBPF_HASH_ZOMBIE, 0) == GPUBPF_HASH_ZOMBIE;
}

/*
 * Return the address of the link to an element in the chain of a bucket, or 0 if the chain does not contain it. The
 * caller holds the bucket's lock.
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
 * Evict the key of element `at`, unless another lane holds the lock of its bucket. The caller holds the lock of bucket
 * `held`. Returns 1 if the caller now owns the element.
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
 * Evict an element of a full LRU table. The caller holds the lock of bucket `held`. Returns the index + 1 of the
 * element, or 0 if GPUBPF_HASH_STEPS steps of the hand found none.
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

/* Fill a free element, and insert it at the begin of a bucket's chain. The caller holds the bucket's lock. */
GPUBPF_FN void gpubpf_hash_insert(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 at, u32 bucket, GPUBPF_PRIVATE const u8 *key,
				  GPUBPF_PRIVATE const u8 *value)
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

/* Set the value of a key, and insert the key if it does not exist. The caller holds the bucket's lock. */
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

/*
 * Look up a key through the multiprocessor's cache. Returns 0 if it is not found there. Lowered code calls this
 * function before a normal look-up.
 */
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
			/*
			 * No lane holds the lock, so no other lane inserts this key now. If the next walk does not find
			 * the key, the table is full of other keys.
			 */
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

/* Delete a key. The caller holds the bucket's lock. */
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

/* Read the key of an element. Returns 0 if the key is being replaced. */
GPUBPF_FN u32 gpubpf_hash_key_of(u64 elem, GPUBPF_PRIVATE u8 *key, u32 key_size)
{
	u32 gen = gpubpf_load_acquire_u32(elem + GPUBPF_HASH_GEN), i;

	GPUBPF_UNROLL
	for (i = 0; i < key_size; i += 8)
		gpubpf_set_word(key + i, gpubpf_load_acquire_u64(elem + GPUBPF_HASH_KEY + i), key_size - i);
	return key_size <= 8 || (!(gen & 1) && gpubpf_load_u32(elem + GPUBPF_HASH_GEN) == gen);
}

/*
 * Return the lane's value in the first element in use from index *at on. Stores the key, and sets *at to the index
 * after the element. Returns 0 after the last element. If an element is reused meanwhile, its new key may be skipped.
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
