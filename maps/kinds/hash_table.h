/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data structures of a hash table: buckets with locks, elements, and walks over chains. hash.h describes the memory
 * and has the operations. Only hash.h includes this file, so it has no include guard.
 */
#include "maps/device/words.h"

#define GPUBPF_HASH_NEXT 0
#define GPUBPF_HASH_GEN 4
#define GPUBPF_HASH_KEY 8
#define GPUBPF_HASH_STATE(key_size) (GPUBPF_HASH_KEY + GPUBPF_ROUND8(key_size))
#define GPUBPF_HASH_FREE(key_size) (GPUBPF_HASH_STATE(key_size) + 4)
#define GPUBPF_HASH_VALUE(key_size) (GPUBPF_HASH_STATE(key_size) + 8)
#define GPUBPF_HASH_ALIGN 16         /* alignment of elements */

#define GPUBPF_HASH_END 0x80000000u
#define GPUBPF_HASH_LOST 0xffffffffu /* result of gpubpf_hash_walk(): another lane changed the chain during the walk */
#define GPUBPF_HASH_LIVE 0x80000000u
#define GPUBPF_HASH_ZOMBIE 0x40000000u
#define GPUBPF_HASH_MAX 0x7ffffffeu  /* limit of the number of entries */

#define GPUBPF_HASH_FREE_LIST 128
#define GPUBPF_HASH_TAKEN 256
#define GPUBPF_HASH_HAND 320
#define GPUBPF_HASH_BUCKETS 384

/* Values of a bucket's lock; 0: free. */
#define GPUBPF_HASH_HELD 1u
#define GPUBPF_HASH_STUCK 2u         /* a lane holds the lock, and another lane timed out waiting for it */

#define GPUBPF_HASH_SMALL 65536u     /* tables with at most this many entries get twice as many buckets */
#define GPUBPF_HASH_STEPS 64u        /* number of elements that the hand of an LRU table visits in one search */

/*
 * A search of the hand that finds nothing counts as this many loop iterations. So an operation gives up after two full
 * cycles of the hand plus GPUBPF_SHORT_WAIT_TURNS searches.
 */
#define GPUBPF_HASH_FRUITLESS_TURNS(max_entries) \
	(GPUBPF_MAX_WAIT_TURNS / (GPUBPF_SHORT_WAIT_TURNS + (max_entries) / (GPUBPF_HASH_STEPS / 2)))

/*
 * Return the number of buckets for n entries, 0 < n <= 2^31: the smallest power of two >= n. Small tables have twice as
 * many buckets, so that fewer keys share one.
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

#define GPUBPF_HASH_NEAR_BITS 5      /* keys that differ only in this many low bits have neighbouring buckets */
#define GPUBPF_HASH_NEAR ((1u << GPUBPF_HASH_NEAR_BITS) - 1)

/*
 * Return the bucket of a key of at most 4 bytes. The keys in a warp are often consecutive. So consecutive keys get
 * neighbouring buckets, and a warp touches few cache lines. Groups of consecutive keys are spread by multiples of the
 * golden ratio, so that no two of fewer than 2^16 consecutive keys share a bucket. Higher bits are mixed in, so that no
 * distance between keys leads to many collisions.
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
	return env->arena + data + max_entries * stride + copy * copy_stride + (at - 1) * (u64)GPUBPF_ROUND8(value_size);
}

/*
 * Return the address of the value for this lane: in the copy of its multiprocessor, if the table has copies of values.
 */
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
 * Compare the key of an element with `key`, whose first word is `word`. Returns 1 if they are equal, 0 if not, and 2 if
 * the element's key is being replaced.
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
 * Search the chain of a bucket. Returns the index + 1 of the key's element, 0 if the key does not exist, or
 * GPUBPF_HASH_LOST. Stores the address of the link to the element in *before.
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

/* Returns true if the lane may continue to wait for the bucket's lock after this many iterations. */
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
 * Release the lock, and return true. The result is read from memory, so that no compiler knows it. Otherwise a compiler
 * could move the critical section after the loop. On a machine that executes lanes in lock-step, it would then run
 * only after the last lane has left the loop. Lanes that wait for the lock would never leave. Intel's CPU runtime does
 * so.
 */
GPUBPF_FN u32 gpubpf_hash_unlock(GPUBPF_ENV, u64 bucket)
{
	gpubpf_store_release_u32(bucket, 0);
	return gpubpf_load_u32(env->arena + GPUBPF_ARENA_IS_VERSION) != 0;
}

/*
 * Set the value of an element. If readers sum the copies, the first copy gets the value and the others become 0. If the
 * copies are independent, the lane's copy gets the value, and the others become 0 if the element is new. With
 * GPUBPF_LAYOUT_ALL_COPIES, which bpf(2) on the host uses, `value` contains all copies one after another, each padded
 * to 8 bytes.
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

/* Returns true if an element is free. The result is exact only while no lane inserts or deletes keys. */
GPUBPF_FN u32 gpubpf_hash_has_room(u64 map, u32 max_entries)
{
	return (u32)gpubpf_load_u64(map + GPUBPF_HASH_FREE_LIST) != 0 ||
	       gpubpf_load_u64(map + GPUBPF_HASH_TAKEN) < max_entries;
}

/*
 * Take a free element. Returns its index + 1, or 0 if all elements are in use. The counter of changes prevents the ABA
 * problem: a list head that was removed and added again differs from the one that was read.
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

/* Set the value of an element that was found without the lock. Returns 0 if the element was deleted meanwhile. */
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
