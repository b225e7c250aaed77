/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LAUNCHES: a row for each launch, with the time of its first begin and of its last end (include/gpubpf/launch.h).
 *
 * At ctl is the struct gpubpf_map_ctl. Its drops are launches without a row. At ctl + 128 is a u64, the number of launches
 * that have claimed a slot. At ctl + 256 is a u64 per row: 1 + its slot, or 0 if the row does not exist.
 *
 * At data are the slots, whose number is a power of two. A slot has `stride` bytes, four u64. The first is the mark of the
 * launch, or 0 if the slot is free. The second is the number of the launch. The third has the kernel's id, and the process
 * in its upper half. The fourth is the number of ends of the launch.
 *
 * At data + copy_stride are the values of each copy (one per multiprocessor). A copy has copy_stride bytes, and four u64
 * for each slot. The first is the maximum of the complements of all begins. The second is the maximum of all ends. The
 * third is the number of ends. The fourth is 1 + the multiprocessor.
 *
 * The first block of a launch claims a slot by a compare-and-exchange, and later blocks find it by its mark. At least
 * half of the slots stay free until the map is full. So a block usually loads one word. The updates of values are
 * maxima and adds without results, in the multiprocessor's copy, so blocks do not wait for one another.
 *
 * A slot is never freed. So all blocks of a launch find the same slot, or all find none.
 */
#ifndef GPUBPF_MAPS_LAUNCHES_H
#define GPUBPF_MAPS_LAUNCHES_H

#include "maps/device/ctx.h"
#include "maps/device/helpers.h"
#include "maps/device/words.h"

#define GPUBPF_LAUNCHES_CLAIMED 128
#define GPUBPF_LAUNCHES_ROWS 256
#define GPUBPF_LAUNCHES_STRIDE 32
#define GPUBPF_LAUNCHES_TRIES 128u /* slots that a launch tries */

/* Offsets in a slot, and in the values of a copy. */
#define GPUBPF_LAUNCHES_NUMBER 8
#define GPUBPF_LAUNCHES_ORIGIN 16
#define GPUBPF_LAUNCHES_ENDS 24
#define GPUBPF_LAUNCHES_END 8
#define GPUBPF_LAUNCHES_ENDED 16
#define GPUBPF_LAUNCHES_SM 24

/*
 * Return the mark of a launch, which is not 0. On CUDA, overlapping launches may have the same number, but not the same
 * grid id. Two of 4096 launches have the same mark with a probability below 2^-39.
 */
GPUBPF_FN u64 gpubpf_launches_hash(u64 launch, u64 origin)
{
	u64 x = launch * 0x9e3779b97f4a7c15ul + origin * 0xc2b2ae3d27d4eb4ful + gpubpf_grid_id() * 0xd6e8feb86659fd93ul;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ul;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebul;
	return (x ^ (x >> 31)) | 1;
}

/* Fill the slot that the caller has claimed, and add its row. */
GPUBPF_FN void gpubpf_launches_fill(u64 map, u64 at, u32 max_entries, u64 slot, u64 launch, u64 origin, u64 ends)
{
	u64 row = gpubpf_fetch_add_relaxed_u64(map + GPUBPF_LAUNCHES_CLAIMED, 1);

	gpubpf_store_u64(at + GPUBPF_LAUNCHES_NUMBER, launch);
	gpubpf_store_u64(at + GPUBPF_LAUNCHES_ORIGIN, origin);
	gpubpf_store_u64(at + GPUBPF_LAUNCHES_ENDS, ends);
	if (row < max_entries)
		gpubpf_store_release_u64(map + GPUBPF_LAUNCHES_ROWS + 8 * row, slot + 1);
	else
		gpubpf_count(map);
}

/* Return the offset of the launch's slot from data, or copy_stride if all slots that it may use belong to others. */
GPUBPF_FN u64 gpubpf_launches_find(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 launch, u64 origin, u64 ends)
{
	u64 mark = gpubpf_launches_hash(launch, origin), slots = copy_stride / GPUBPF_LAUNCHES_STRIDE;
	u64 slot = mark >> 1, at, has;
	u32 tries;

	GPUBPF_NOUNROLL
	for (tries = 0; tries < GPUBPF_LAUNCHES_TRIES; tries++, slot++) {
		slot &= slots - 1;
		at = env->arena + data + slot * GPUBPF_LAUNCHES_STRIDE;
		has = gpubpf_load_u64(at);
		if (!has) {
			has = gpubpf_cas_u64(at, 0, mark);
			if (!has)
				gpubpf_launches_fill(env->arena + ctl, at, max_entries, slot, launch, origin, ends);
		}
		if (!has || has == mark)
			return slot * GPUBPF_LAUNCHES_STRIDE;
	}
	return copy_stride;
}

/*
 * Helper 539. Marks the begin of a block if ended is 0, else `ended` ends of a block. A launch without a slot is counted
 * by its first block.
 */
GPUBPF_FN s64 gpubpf_launches_mark(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 launch, u64 origin, u64 ends, u64 ended)
{
	u64 now = gpubpf_helper_ktime_get_ns(env), offset, at;
	u32 copy = gpubpf_own_copy(copies);

	offset = gpubpf_launches_find(env, GPUBPF_MAP_PASS, launch, origin, ends);
	if (offset == copy_stride) {
		if (!ended && !(gpubpf_block_idx_at(0) | gpubpf_block_idx_at(1) | gpubpf_block_idx_at(2)))
			gpubpf_count(env->arena + ctl);
		return -GPUBPF_E2BIG;
	}
	at = env->arena + data + (1 + (u64)copy) * copy_stride + offset;
	if (!ended) {
		gpubpf_max_u64(at, ~now);
#ifdef GPUBPF_NUMBERS_SMS
		gpubpf_max_u64(at + GPUBPF_LAUNCHES_SM, 1 + (u64)gpubpf_sm());
#endif
		return 0;
	}
	gpubpf_max_u64(at + GPUBPF_LAUNCHES_END, now);
	gpubpf_add_u64(at + GPUBPF_LAUNCHES_ENDED, ended);
	return 0;
}

#endif
