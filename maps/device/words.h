/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies between private memory and the arena, in aligned 8-byte words, so that a reader never sees part of a word. If
 * the size is not a multiple of 8, the last word is padded with zeros. This header also defines errors and flags of
 * bpf(2).
 */
#ifndef GPUBPF_MAPS_WORDS_H
#define GPUBPF_MAPS_WORDS_H

#include "atomics.h"

/* Error numbers of uapi/asm-generic/errno-base.h. */
#define GPUBPF_EPERM 1
#define GPUBPF_ENOENT 2
#define GPUBPF_E2BIG 7
#define GPUBPF_EAGAIN 11
#define GPUBPF_EFAULT 14
#define GPUBPF_EBUSY 16
#define GPUBPF_EEXIST 17
#define GPUBPF_EINVAL 22
#define GPUBPF_ENOSPC 28
#define GPUBPF_ENOSYS 38
#define GPUBPF_ETIMEDOUT 110

/* Flags of BPF_MAP_UPDATE_ELEM, from uapi/linux/bpf.h. */
#define GPUBPF_ANY 0
#define GPUBPF_NOEXIST 1
#define GPUBPF_EXIST 2

#define GPUBPF_ROUND8(n) (((n) + 7u) & ~7u)

/*
 * Return the first n bytes at p as a little-endian word, without reading bytes after them. The function has no loop,
 * because not all compilers unroll loops.
 */
GPUBPF_FN u64 gpubpf_word(GPUBPF_PRIVATE const u8 *p, u64 n)
{
	u64 word = 0;
	u32 at = 0;

	if (n >= 8)
		return *(GPUBPF_PRIVATE const gpubpf_u64u *)p;
	if (n & 4) {
		word = *(GPUBPF_PRIVATE const gpubpf_u32u *)p;
		at = 4;
	}
	if (n & 2) {
		word |= (u64) * (GPUBPF_PRIVATE const gpubpf_u16u *)(p + at) << (8 * at);
		at += 2;
	}
	if (n & 1)
		word |= (u64)p[at] << (8 * at);
	return word;
}

/* Store the first n bytes of a word at p, at most 8. */
GPUBPF_FN void gpubpf_set_word(GPUBPF_PRIVATE u8 *p, u64 word, u64 n)
{
	u32 at = 0;

	if (n >= 8) {
		*(GPUBPF_PRIVATE gpubpf_u64u *)p = word;
		return;
	}
	if (n & 4) {
		*(GPUBPF_PRIVATE gpubpf_u32u *)p = (u32)word;
		at = 4;
	}
	if (n & 2) {
		*(GPUBPF_PRIVATE gpubpf_u16u *)(p + at) = (u16)(word >> (8 * at));
		at += 2;
	}
	if (n & 1)
		p[at] = (u8)(word >> (8 * at));
}

GPUBPF_FN void gpubpf_copy_in(u64 to, GPUBPF_PRIVATE const u8 *from, u64 size)
{
	u64 i;

	GPUBPF_UNROLL
	for (i = 0; i < size; i += 8)
		gpubpf_store_u64(to + i, gpubpf_word(from + i, size - i));
}

/*
 * Store the value of an update at address `to`. With GPUBPF_LAYOUT_BY_ADDRESS, the word at `value` is the device
 * address of the value.
 */
GPUBPF_FN void gpubpf_put_value(u64 to, GPUBPF_PRIVATE const u8 *value, u64 size, u32 map_flags)
{
	u64 from, i;

	if (!(map_flags & GPUBPF_LAYOUT_BY_ADDRESS)) {
		gpubpf_copy_in(to, value, size);
		return;
	}
	from = *(GPUBPF_PRIVATE const gpubpf_u64u *)value;
	GPUBPF_NOUNROLL
	for (i = 0; i < size; i += 8)
		gpubpf_store_u64(to + i, gpubpf_load_u64(from + i));
}

GPUBPF_FN void gpubpf_zero(u64 to, u64 size)
{
	u64 i;

	for (i = 0; i < size; i += 8)
		gpubpf_store_u64(to + i, 0);
}

/* Copy `size` bytes from the arena to private memory. The arena is read in aligned words. */
GPUBPF_FN void gpubpf_copy_out(GPUBPF_PRIVATE u8 *to, u64 from, u32 size)
{
	u32 i, k;
	u64 word;

	GPUBPF_UNROLL
	for (i = 0; i < size; i += 8) {
		word = gpubpf_load_u64(from + i);
		if (size - i >= 8)
			*(GPUBPF_PRIVATE gpubpf_u64u *)(to + i) = word;
		for (k = i; size - i < 8 && k < size; k++)
			to[k] = (u8)(word >> (8 * (k - i)));
	}
}

GPUBPF_FN void gpubpf_clear(GPUBPF_PRIVATE u8 *to, u32 size)
{
	u32 i;

	GPUBPF_UNROLL
	for (i = 0; i < size; i++)
		to[i] = 0;
}

/* Return the index of the copy that the lane uses, below `copies`. */
GPUBPF_FN u32 gpubpf_copy_of(u32 copies)
{
	return copies > 1 ? gpubpf_sm() % copies : 0;
}

/*
 * Return the index of the copy that the lane uses, for data in which any copy is correct. `copies` is the number of
 * multiprocessors. A device that numbers its multiprocessors from 0 usually needs no remainder, which is slow.
 */
GPUBPF_FN u32 gpubpf_own_copy(u32 copies)
{
#ifdef GPUBPF_NUMBERS_SMS
	u32 sm = gpubpf_sm();

	return sm < copies ? sm : copies - 1;
#else
	return gpubpf_copy_of(copies);
#endif
}

/* Increment the counter at the address, for example a word of the map's ctl. */
GPUBPF_FN void gpubpf_count(u64 address)
{
#ifdef GPUBPF_COMBINES_ADDS
	gpubpf_add_u64(address, 1);
#else
	gpubpf_atomic_add_warp_u64(address, 1);
#endif
}

#ifdef GPUBPF_HAS_WARP
/*
 * Return the mask of the active lanes that use the same map as this lane. `address` is an address in this lane's map.
 * If the map is not an element of a map of maps, all active lanes use the same map.
 */
GPUBPF_FN u32 gpubpf_warp_with(u64 address, u32 map_flags)
{
	return map_flags & GPUBPF_LAYOUT_ELEMENT ? gpubpf_warp_peers(address) : gpubpf_warp_active();
}
#endif

#endif
