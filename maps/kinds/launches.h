/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LAUNCHES: a row for each launch, with the time of its first begin and of its last end (include/gpubpf/launch.h).
 *
 * The control words and the rows are at ctl (maps/layout.h). The last word of a row is a checksum
 * (maps/device/launch_row.h).
 *
 * At data are GPUBPF_LAUNCHES_SLOTS slots of `stride` bytes, for launches that run. After them are the copies. A copy
 * has copy_stride bytes: for each slot a u64, the number of ends in this copy. The number of copies is a power of two.
 *
 * The first word of a slot has the mark of the launch in its upper 40 bits, and the number of holds in its lower 24
 * bits. The slot is free if the word is 0. The second word is the maximum of the complements of begins. The third word
 * counts ends, or the copies that are complete. The last four words have a bit per multiprocessor.
 *
 * A launch has the slot at its home, or one of the next slots if others have these. Before a block claims a slot, it adds
 * a hold to each slot before it. A slot with holds is not free, although its launch may have ended. So a later block of
 * the launch cannot claim an earlier slot. The last block of the launch removes the holds.
 *
 * Block b of a launch counts its ends in copy b % copies. Each block knows how many ends this copy receives. The block
 * with the last end of a copy counts the copy in the slot. The block that completes the last copy writes the row and frees
 * the slot. So few blocks change the same word, and no block waits for another.
 */
#ifndef GPUBPF_MAPS_LAUNCHES_H
#define GPUBPF_MAPS_LAUNCHES_H

#include "maps/device/ctx.h"
#include "maps/device/helpers.h"
#include "maps/device/words.h"
#include "maps/device/launch_row.h"

#define GPUBPF_LAUNCHES_SLOTS 256u /* launches that may run at once; NVIDIA's devices run at most 128 */
#define GPUBPF_LAUNCHES_STRIDE 64
#define GPUBPF_LAUNCHES_COPY_STRIDE (8 * GPUBPF_LAUNCHES_SLOTS)
#define GPUBPF_LAUNCHES_MAX_COPIES 128u
#define GPUBPF_LAUNCHES_TRIES 16u /* slots that a launch tries */
#define GPUBPF_LAUNCHES_HOLDS 24  /* bits of the number of holds */

/* Offsets in a slot. */
#define GPUBPF_LAUNCHES_BEGIN 8
#define GPUBPF_LAUNCHES_DONE 16
#define GPUBPF_LAUNCHES_SMS 32
#define GPUBPF_LAUNCHES_SM_WORDS 4u

/* A launch: its mark, its home, and the values of its row. */
struct gpubpf_launches_id {
	u64 mark, home;
	u64 launch, origin, blocks;
};

/*
 * Identify the launch of the calling thread. On CUDA the grid id identifies it. Elsewhere the launch path passes the
 * launch's number and process. The mark is never 0. Two of 32 launches that run have the same mark with a probability
 * below 2^-31.
 */
GPUBPF_FN void gpubpf_launches_identify(GPUBPF_ENV, GPUBPF_PRIVATE struct gpubpf_launches_id *id)
{
	u64 own = (id->origin & 0xffffffff) * 0xc2b2ae3d27d4eb4ful + id->blocks * 0xd6e8feb86659fd93ul;

#ifdef GPUBPF_HAS_GRID_ID
	u64 grid = gpubpf_grid_id();

	own = gpubpf_launches_mix(own + grid * 0x9e3779b97f4a7c15ul);
	grid ^= grid >> 32;
	grid ^= grid >> 16;
	id->home = grid ^ grid >> 8; /* consecutive grids have different homes */
#else
	own += env->launch * 0x9e3779b97f4a7c15ul + (env->pid_tgid >> 32);
	own = gpubpf_launches_mix(own);
	id->home = own;
#endif
	id->mark = own >> GPUBPF_LAUNCHES_HOLDS | 1;
}

/* Return the address of a slot that the launch may have. `slots` is the address of all slots. */
GPUBPF_FN u64 gpubpf_launches_slot(u64 slots, u64 home, u32 tries)
{
	return slots + ((home + tries) & (GPUBPF_LAUNCHES_SLOTS - 1)) * GPUBPF_LAUNCHES_STRIDE;
}

/* Remove holds from the first n slots that the launch may have. */
GPUBPF_FN void gpubpf_launches_release(u64 slots, u64 home, u32 n)
{
	u32 i;

	GPUBPF_NOUNROLL
	for (i = 0; i < n; i++)
		gpubpf_add_u64(gpubpf_launches_slot(slots, home, i), -(u64)1);
}

/*
 * Return the number of slots before the launch's slot, or GPUBPF_LAUNCHES_TRIES if other launches have all slots that it
 * may have. The first block claims a slot.
 */
GPUBPF_FN u32 gpubpf_launches_find(u64 slots, u64 mark, u64 home)
{
	bool holds = false;
	u64 at, has;
	u32 tries;

	GPUBPF_NOUNROLL
	for (tries = 0; tries < GPUBPF_LAUNCHES_TRIES; tries++) {
		at = gpubpf_launches_slot(slots, home, tries);
		has = gpubpf_load_u64(at);
		if (!has && tries && !holds) { /* the launch has no slot: begin again, and hold the slots before this one */
			holds = true;
			tries = ~(u32)0;
			continue;
		}
		if (!has) {
			has = gpubpf_cas_relaxed_u64(at, 0, mark << GPUBPF_LAUNCHES_HOLDS);
			if (!has)
				return tries;
		}
		if (has >> GPUBPF_LAUNCHES_HOLDS == mark)
			break;
		if (holds && gpubpf_fetch_add_relaxed_u64(at, 1) >> GPUBPF_LAUNCHES_HOLDS == mark) {
			gpubpf_add_u64(at, -(u64)1);
			break;
		}
	}
	if (holds)
		gpubpf_launches_release(slots, home, tries);
	return tries;
}

/* Return the number of multiprocessors that ran blocks of the launch, and clear their bits. */
GPUBPF_FN u64 gpubpf_launches_take_sms(u64 at)
{
	u64 sms = 0;
#ifdef GPUBPF_NUMBERS_SMS
	u32 i;

	GPUBPF_UNROLL
	for (i = 0; i < GPUBPF_LAUNCHES_SM_WORDS; i++) {
		sms += (u32)__builtin_popcountll(gpubpf_load_u64(at + GPUBPF_LAUNCHES_SMS + 8 * i));
		gpubpf_store_u64(at + GPUBPF_LAUNCHES_SMS + 8 * i, 0);
	}
#endif
	return sms;
}

/* Set the bit of the thread's multiprocessor. */
GPUBPF_FN void gpubpf_launches_note_sm(u64 at)
{
#ifdef GPUBPF_NUMBERS_SMS
	u32 sm = gpubpf_sm();
	u64 word = at + GPUBPF_LAUNCHES_SMS + 8 * (sm / 64 % GPUBPF_LAUNCHES_SM_WORDS), bit = (u64)1 << sm % 64;

	if (!(gpubpf_load_u64(word) & bit))
		gpubpf_or_u64(word, bit);
#endif
}

/* Write the row of a launch that has ended. */
GPUBPF_FN void gpubpf_launches_put_row(u64 map, u32 max_entries, GPUBPF_PRIVATE const struct gpubpf_launches_id *id,
				       u64 begin, u64 time, u64 sms)
{
	u64 n = gpubpf_fetch_add_relaxed_u64(map + GPUBPF_LAUNCHES_COUNT, 1);
	u64 row = map + GPUBPF_LAUNCHES_ROWS + n % max_entries * GPUBPF_LAUNCHES_ROW;
	u64 word[GPUBPF_LAUNCH_ROW_WORDS] = { id->origin, id->launch, begin, time, id->blocks, sms };

	gpubpf_launch_row_store(row, word, n);
}

/*
 * Finish a launch whose last block ends: write its row and free its slot. Returns the launch's time in ns, at least 1.
 * Another thread may have stored the begin without a fence, so the load is repeated.
 */
GPUBPF_FN s64 gpubpf_launches_finish(u64 map, u32 max_entries, u64 slots, u32 tries,
				     GPUBPF_PRIVATE const struct gpubpf_launches_id *id, u64 now)
{
	u64 at = gpubpf_launches_slot(slots, id->home, tries), begin, sms, time;
	u32 i;

	GPUBPF_NOUNROLL
	for (i = 0; !(begin = gpubpf_load_u64(at + GPUBPF_LAUNCHES_BEGIN)) && i < 1024; i++)
		;
	begin = begin ? ~begin : now;
	sms = gpubpf_launches_take_sms(at);
	gpubpf_store_u64(at + GPUBPF_LAUNCHES_BEGIN, 0);
	gpubpf_store_u64(at + GPUBPF_LAUNCHES_DONE, 0);
	gpubpf_fence();
	gpubpf_add_u64(at, -(id->mark << GPUBPF_LAUNCHES_HOLDS));
	gpubpf_launches_release(slots, id->home, tries);
	time = now > begin ? now - begin : 1;
	gpubpf_launches_put_row(map, max_entries, id, begin, time, sms);
	return (s64)time;
}

/* Return the index of the calling thread's block in the launch. */
GPUBPF_FN u64 gpubpf_launches_block(void)
{
	return (gpubpf_block_idx_at(2) * gpubpf_grid_dim_at(1) + gpubpf_block_idx_at(1)) * gpubpf_grid_dim_at(0) +
	       gpubpf_block_idx_at(0);
}

/*
 * Count `ended` of the `ends` ends of a block. Returns true for the last end of the launch. A launch with few blocks
 * counts in its slot.
 */
GPUBPF_FN bool gpubpf_launches_count(u64 slot, u64 copies_at, u32 copies, u64 blocks, u64 ends, u64 ended)
{
	u64 copy, all;

	if (blocks <= copies)
		return gpubpf_fetch_add_relaxed_u64(slot + GPUBPF_LAUNCHES_DONE, ended) + ended == ends * blocks;
	copy = gpubpf_launches_block() % copies;
	copies_at += copy * GPUBPF_LAUNCHES_COPY_STRIDE;
	all = ends * ((blocks - 1 - copy) / copies + 1);
	if (gpubpf_fetch_add_relaxed_u64(copies_at, ended) + ended != all)
		return false;
	gpubpf_add_u64(copies_at, -all);
	return gpubpf_rmw_add_u64(slot + GPUBPF_LAUNCHES_DONE, 1) + 1 == copies;
}

/*
 * Helper 539. Marks the begin of a block if ended is 0, else `ended` of the `ends` ends of a block. A launch without a
 * slot is counted by its first block.
 */
GPUBPF_FN s64 gpubpf_launches_mark(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 launch, u64 origin, u64 ends, u64 ended)
{
	u64 now = gpubpf_helper_ktime_get_ns(env), map = env->arena + ctl, slots = env->arena + data, at, copy_at;
	struct gpubpf_launches_id id;
	u32 tries;

	id.launch = launch;
	id.origin = origin;
	id.blocks = gpubpf_grid_dim_at(0) * gpubpf_grid_dim_at(1) * gpubpf_grid_dim_at(2);
	gpubpf_launches_identify(env, &id);
	tries = gpubpf_launches_find(slots, id.mark, id.home);
	if (tries == GPUBPF_LAUNCHES_TRIES) {
		if (!ended && !gpubpf_launches_block())
			gpubpf_count(map);
		return -GPUBPF_E2BIG;
	}
	at = gpubpf_launches_slot(slots, id.home, tries);
	if (!ended) {
		if (!gpubpf_load_u64(at + GPUBPF_LAUNCHES_BEGIN))
			gpubpf_max_u64(at + GPUBPF_LAUNCHES_BEGIN, ~now);
		gpubpf_launches_note_sm(at);
		return 0;
	}
	copy_at = slots + GPUBPF_LAUNCHES_SLOTS * GPUBPF_LAUNCHES_STRIDE + (at - slots) / GPUBPF_LAUNCHES_STRIDE * 8;
	if (!gpubpf_launches_count(at, copy_at, copies, id.blocks, ends, ended))
		return 0;
	return gpubpf_launches_finish(map, max_entries, slots, tries, &id, now);
}

#endif
