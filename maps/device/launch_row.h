/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A row of a map of launches (maps/kinds/launches.h): eight words. The last one is a checksum of the others and of the row's number.
 * So a reader detects a row that is not written or copied completely.
 */
#ifndef GPUBPF_MAPS_LAUNCH_ROW_H
#define GPUBPF_MAPS_LAUNCH_ROW_H

#include "maps/device/machine.h"

enum {
	GPUBPF_LAUNCH_ROW_ORIGIN, /* the kernel's id, and the process in the upper half */
	GPUBPF_LAUNCH_ROW_NUMBER,
	GPUBPF_LAUNCH_ROW_BEGIN,
	GPUBPF_LAUNCH_ROW_TIME,
	GPUBPF_LAUNCH_ROW_BLOCKS,
	GPUBPF_LAUNCH_ROW_SMS,
	GPUBPF_LAUNCH_ROW_UNUSED,
	GPUBPF_LAUNCH_ROW_CHECK,
	GPUBPF_LAUNCH_ROW_WORDS,
};

GPUBPF_FN u64 gpubpf_launches_mix(u64 x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebul;
	return x ^ (x >> 31);
}

/* Return the checksum of row n. */
GPUBPF_FN u64 gpubpf_launch_row_check(GPUBPF_PRIVATE const u64 *word, u64 n)
{
	u64 sum = (n + 1) * 0x9e3779b97f4a7c15ul;
	u32 i;

	GPUBPF_UNROLL
	for (i = 0; i < GPUBPF_LAUNCH_ROW_CHECK; i++)
		sum += (2 * i + 1) * word[i];
	return gpubpf_launches_mix(sum) | 1;
}

/* Store row n, whose last word the function computes. */
GPUBPF_FN void gpubpf_launch_row_store(u64 at, GPUBPF_PRIVATE u64 *word, u64 n)
{
	u32 i;

	word[GPUBPF_LAUNCH_ROW_CHECK] = gpubpf_launch_row_check(word, n);
	GPUBPF_UNROLL
	for (i = 0; i < GPUBPF_LAUNCH_ROW_WORDS; i++)
		gpubpf_store_u64(at + 8 * i, word[i]);
}

/* Load row n. Returns true if it is whole. */
GPUBPF_FN bool gpubpf_launch_row_load(u64 at, GPUBPF_PRIVATE u64 *word, u64 n)
{
	u32 i;

	GPUBPF_UNROLL
	for (i = 0; i < GPUBPF_LAUNCH_ROW_WORDS; i++)
		word[i] = gpubpf_load_u64(at + 8 * i);
	return word[GPUBPF_LAUNCH_ROW_CHECK] == gpubpf_launch_row_check(word, n);
}

#endif
