/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LPM_TRIE: keys are prefixes. A look-up finds the longest prefix of its key.
 *
 *   key                  u32 prefix length in bits, then the bits, most significant first, as in bpf(2)
 *   elements             a hash table (hash.h) whose keys are the prefixes; bits after a prefix are 0
 *   after the elements   u64 words: bit n is set if the table ever had a prefix of n bits
 *
 * There is no trie. A look-up searches the hash table once for each possible length, from the length of its key
 * downwards. So the properties of hash tables hold here too. If a look-up races with an insertion or deletion, it
 * searches the lengths at different times during the call.
 */
#ifndef GPUBPF_MAPS_LPM_H
#define GPUBPF_MAPS_LPM_H

#include "hash.h"

#define GPUBPF_LPM_HEAD 4u             /* bytes of the prefix length, which precedes the bits in a key */
#define GPUBPF_LPM_KEY 260u            /* limit of the bytes of a key, with the prefix length */
#define GPUBPF_LPM_WORDS ((GPUBPF_LPM_KEY + 7) / 8)

GPUBPF_FN u32 gpubpf_lpm_most(u32 key_size)
{
	return (key_size - GPUBPF_LPM_HEAD) * 8;
}

/* Return the mask of the first n of 64 bits, as a little-endian word. */
GPUBPF_FN u64 gpubpf_lpm_mask(u32 n)
{
	if (n >= 64)
		return ~0ul;
	return ((1ul << (n & 56)) - 1) | (u64)(0xff00u >> (n & 7) & 0xff) << (n & 56);
}

/* Store the prefix of n bits of the key in *to, with its length. */
GPUBPF_FN void gpubpf_lpm_cut(GPUBPF_PRIVATE u64 *to, GPUBPF_PRIVATE const u8 *key, u32 key_size, u32 n)
{
	u32 i, before;

	to[0] = (gpubpf_word(key, key_size) >> 32 & gpubpf_lpm_mask(n < 32 ? n : 32)) << 32 | n;
	GPUBPF_UNROLL
	for (i = 8; i < key_size; i += 8) {
		before = (i - GPUBPF_LPM_HEAD) * 8;
		to[i / 8] = n > before ? gpubpf_word(key + i, key_size - i) & gpubpf_lpm_mask(n - before) : 0;
	}
}

GPUBPF_FN u64 gpubpf_lpm_lengths_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 n)
{
	return env->arena + data + max_entries * stride + n / 64 * 8;
}

/* Return the index of the highest set bit of a word, which must not be 0. */
GPUBPF_FN u32 gpubpf_lpm_top(u64 word)
{
	u32 top = 0, step;

	for (step = 32; step; step /= 2)
		top += word >> (top + step) ? step : 0;
	return top;
}

/* Return 1 + the longest prefix length below n that a prefix in the table may have, or 0 if there is none. */
GPUBPF_FN u32 gpubpf_lpm_next(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 n)
{
	u32 words = (n + 63) / 64, found = 0;
	u64 mask = ~0ul >> ((0 - n) & 63), lengths;

	while (words && !found) {
		words--;
		lengths = gpubpf_load_acquire_u64(gpubpf_lpm_lengths_at(env, GPUBPF_MAP_PASS, words * 64)) & mask;
		if (lengths)
			found = words * 64 + gpubpf_lpm_top(lengths) + 1;
		mask = ~0ul;
	}
	return found;
}

GPUBPF_FN u64 gpubpf_lpm_lookup(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	u32 n = (u32)gpubpf_word(key, GPUBPF_LPM_HEAD);
	u64 prefix[GPUBPF_LPM_WORDS], address = 0;

	n = n > gpubpf_lpm_most(key_size) ? 0 : n + 1;
	/* calls are inlined, so each function is called at only one place */
	while (n && !address) {
		n = gpubpf_lpm_next(env, GPUBPF_MAP_PASS, n);
		if (n) {
			gpubpf_lpm_cut(prefix, key, key_size, --n);
			address = gpubpf_hash_lookup(env, GPUBPF_MAP_PASS, (GPUBPF_PRIVATE const u8 *)prefix);
		}
	}
	return address;
}

GPUBPF_FN s64 gpubpf_lpm_update(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key,
				GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u32 n = (u32)gpubpf_word(key, GPUBPF_LPM_HEAD);
	u64 prefix[GPUBPF_LPM_WORDS], lengths;
	s64 ret;

	if (flags > GPUBPF_EXIST || n > gpubpf_lpm_most(key_size))
		return -GPUBPF_EINVAL;
	gpubpf_lpm_cut(prefix, key, key_size, n);
	lengths = gpubpf_lpm_lengths_at(env, GPUBPF_MAP_PASS, n);
	if (!(gpubpf_load_u64(lengths) >> (n & 63) & 1))
		gpubpf_rmw_or_u64(lengths, 1ul << (n & 63));
	ret = gpubpf_hash_update(env, GPUBPF_MAP_PASS, (GPUBPF_PRIVATE const u8 *)prefix, value, flags);
	return ret == -GPUBPF_E2BIG ? -GPUBPF_ENOSPC : ret;
}

GPUBPF_FN s64 gpubpf_lpm_delete(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *key)
{
	u32 n = (u32)gpubpf_word(key, GPUBPF_LPM_HEAD);
	u64 prefix[GPUBPF_LPM_WORDS];

	if (n > gpubpf_lpm_most(key_size))
		return -GPUBPF_EINVAL;
	gpubpf_lpm_cut(prefix, key, key_size, n);
	return gpubpf_hash_delete(env, GPUBPF_MAP_PASS, (GPUBPF_PRIVATE const u8 *)prefix);
}

#endif
