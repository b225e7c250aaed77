/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BLOOM_FILTER: a set of values. Programs add values and test for them. Rarely, a test returns true for a value that
 * was never added.
 *
 *   ctl            struct gpubpf_map_ctl
 *   data           the bits, in 8-byte words. The number of bits is a power of two
 *   copy_stride    the number of bits minus 1
 *   stride         the number of bits that each value sets
 *
 * A push sets the bits of a value one after another. A concurrent test may still miss the value. After the push has
 * returned, no test misses it.
 */
#ifndef GPUBPF_MAPS_BLOOM_H
#define GPUBPF_MAPS_BLOOM_H

#include "maps/device/words.h"

/* Store the index of the first bit of a value in *first. Return the distance from each of its bits to the next one. */
GPUBPF_FN u64 gpubpf_bloom_hash(GPUBPF_PRIVATE const u8 *value, u32 size, GPUBPF_PRIVATE u64 *first)
{
	u64 hash = size;
	u32 i;

	GPUBPF_UNROLL
	for (i = 0; i < size; i += 8) {
		hash = (hash ^ gpubpf_word(value + i, size - i)) * 0xff51afd7ed558ccdul;
		hash ^= hash >> 32;
	}
	*first = hash * 0xc4ceb9fe1a85ec53ul >> 20;
	return (hash * 0x9e3779b97f4a7c15ul >> 20) | 1;
}

/* Add a value. flags must be BPF_ANY. Returns 0 or -EINVAL. */
GPUBPF_FN s64 gpubpf_bloom_push(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u64 bit, step, word, mask, i;

	if (flags != GPUBPF_ANY)
		return -GPUBPF_EINVAL;
	step = gpubpf_bloom_hash(value, value_size, &bit);
	for (i = 0; i < stride; i++, bit += step) {
		word = env->arena + data + (bit & copy_stride) / 64 * 8;
		mask = 1ul << (bit & 63);
		if (!(gpubpf_load_u64(word) & mask))
			gpubpf_rmw_or_u64(word, mask);
	}
	return 0;
}

/* Test for a value. Returns 0 if all of its bits are set, because this value or others were pushed; else -ENOENT. */
GPUBPF_FN s64 gpubpf_bloom_peek(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *value)
{
	u64 bit, step, i;
	u32 there = 1;

	step = gpubpf_bloom_hash(value, value_size, &bit);
	for (i = 0; i < stride && there; i++, bit += step)
		there = gpubpf_load_u64(env->arena + data + (bit & copy_stride) / 64 * 8) >> (bit & 63) & 1;
	return there ? 0 : -GPUBPF_ENOENT;
}

#endif
