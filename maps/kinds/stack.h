/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STACK: at most max_entries values; the newest is popped first.
 *
 *   ctl + 0              struct gpubpf_map_ctl; drops: values that were refused because the stack was full
 *   ctl + 128            u64 word: number of changes << 33 | moving << 32 | number of values
 *   ctl + 136            u32 number of the cell with the oldest value
 *   ctl + 140            u32 not 0: a lane has timed out
 *   data + i * stride    cell i: u32 state, u32 0, value. The values are in consecutive cells, modulo the number of
 *                        cells
 *
 * A lane claims a cell with one compare-exchange of the word at ctl + 128. A push claims the cell after the newest
 * value, and a pop claims the cell of the newest value. If a new value replaces the oldest one, the word has the flag
 * `moving` until the number of the oldest cell is updated.
 *
 * On NVIDIA, the active lanes of a warp that use the same stack claim their cells with one compare-exchange, in the
 * order of the lanes. The claim is for the first lanes whose cells are ready; the other lanes try again.
 *
 * Every claim counts as a change. So if a claim succeeds, nothing has changed since the lane read the word, and then
 * only this lane writes or reads the cell. The state of a cell is even if it is free and odd if it has a value; each
 * change increments it. A pop never claims a cell whose value is still being written, and a push never claims a cell
 * whose value is still being read.
 *
 * A lane only waits for one iteration of another lane's loop. This iteration does not wait itself, so lanes of a warp
 * cannot block each other. A lane that times out has claimed nothing. It returns -EBUSY and counts in lock_timeouts.
 * Later lanes wait only briefly until a claim succeeds again.
 *
 * All claims are in one order. So a value that was pushed before a pop starts is found, and each value is popped once.
 */
#ifndef GPUBPF_MAPS_STACK_H
#define GPUBPF_MAPS_STACK_H

#include "maps/device/words.h"

#define GPUBPF_STACK_WORD 128
#define GPUBPF_STACK_OLDEST 136
#define GPUBPF_STACK_STUCK 140
#define GPUBPF_STACK_END 256         /* size of ctl in bytes */
#define GPUBPF_STACK_VALUE 8         /* offset of the value in a cell */

#define GPUBPF_STACK_MOVING (1ul << 32)
#define GPUBPF_STACK_CHANGE (1ul << 33)

GPUBPF_FN u64 gpubpf_stack_cell_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 cell)
{
	return env->arena + data + (cell < max_entries ? cell : cell - max_entries) * stride;
}

GPUBPF_FN u32 gpubpf_stack_may_wait(u64 map, u32 turns)
{
	gpubpf_rest(turns);
	return turns < GPUBPF_SHORT_WAIT_TURNS ||
	       (turns < GPUBPF_MAX_WAIT_TURNS && !gpubpf_load_u32(map + GPUBPF_STACK_STUCK));
}

GPUBPF_FN s64 gpubpf_stack_time_out(u64 map)
{
	gpubpf_store_u32(map + GPUBPF_STACK_STUCK, 1);
	gpubpf_count(map + 8);
	return -GPUBPF_EBUSY;
}

/* Returns true if the flag `moving` is not set, so that the word and the number of the oldest cell are both valid. */
GPUBPF_FN u32 gpubpf_stack_is_still(u64 word, u32 oldest, u32 max_entries)
{
	return !(word & GPUBPF_STACK_MOVING) && (u32)word <= max_entries && oldest < max_entries;
}

/*
 * A state of the stack that one lane has read for all lanes: the word and the number of the oldest cell. `lanes` is the
 * mask of the active lanes that use this stack. `rank` is this lane's rank among them.
 */
struct gpubpf_stack_look {
	u64 word;
	u32 oldest, lanes, rank;
};

GPUBPF_FN void gpubpf_stack_look(u64 map, u32 map_flags, GPUBPF_PRIVATE struct gpubpf_stack_look *l)
{
#ifdef GPUBPF_HAS_WARP
	u32 lanes = gpubpf_warp_with(map, map_flags), first = gpubpf_warp_first(lanes), lane = gpubpf_lane(), oldest = 0;
	u64 word = 0;

	if (lane == first) {
		word = gpubpf_load_acquire_u64(map + GPUBPF_STACK_WORD);
		oldest = gpubpf_load_u32(map + GPUBPF_STACK_OLDEST);
	}
	gpubpf_warp_sync(lanes); /* orders later reads of all lanes after the first lane's read of the word */
	l->word = gpubpf_warp_from(lanes, word, first);
	l->oldest = (u32)gpubpf_warp_from(lanes, oldest, first);
	l->lanes = lanes;
	l->rank = gpubpf_warp_count(lanes & ((1u << lane) - 1));
#else
	l->word = gpubpf_load_acquire_u64(map + GPUBPF_STACK_WORD);
	l->oldest = gpubpf_load_u32(map + GPUBPF_STACK_OLDEST);
	l->lanes = 1;
	l->rank = 0;
#endif
}

/* Return the number of lanes that can claim a cell: those before the first lane that is not ready. */
GPUBPF_FN u32 gpubpf_stack_ready(GPUBPF_PRIVATE const struct gpubpf_stack_look *l, u32 ready)
{
#ifdef GPUBPF_HAS_WARP
	u32 others = l->lanes & ~gpubpf_warp_ballot(l->lanes, ready);

	gpubpf_warp_sync(l->lanes); /* orders the reads of all cells before the first lane's claim */
	return gpubpf_warp_count(others ? l->lanes & ((others & (0 - others)) - 1) : l->lanes);
#else
	return ready;
#endif
}

/*
 * If the word is unchanged, replace it by a word with `count` values. Returns 1 on success. If `moves` is set, also
 * increment the number of the oldest cell. If `cell` is not 0, it becomes the newest cell, and its state changes so
 * that no lane pops its old value.
 */
GPUBPF_FN u32 gpubpf_stack_claim(u64 map, u64 word, u32 count, u32 oldest, u32 moves, u32 max_entries, u64 cell, u32 state)
{
	u64 next = ((word >> 33) + 1) << 33 | count;

	if (gpubpf_cas_u64(map + GPUBPF_STACK_WORD, word, moves ? next | GPUBPF_STACK_MOVING : next) != word)
		return 0;
	if (moves) {
		if (cell)
			gpubpf_store_u32(cell, state + 1);
		gpubpf_store_u32(map + GPUBPF_STACK_OLDEST, oldest + 1 < max_entries ? oldest + 1 : 0);
		gpubpf_store_release_u64(map + GPUBPF_STACK_WORD, next);
	}
	if (gpubpf_load_u32(map + GPUBPF_STACK_STUCK))
		gpubpf_store_u32(map + GPUBPF_STACK_STUCK, 0);
	return 1;
}

/*
 * Claim cells for all lanes of the look with one exchange, after which the stack has `count` values. Returns 1 on
 * success.
 */
GPUBPF_FN u32 gpubpf_stack_claim_together(u64 map, GPUBPF_PRIVATE const struct gpubpf_stack_look *l, u32 count)
{
#ifdef GPUBPF_HAS_WARP
	u32 first = gpubpf_warp_first(l->lanes), got = 0;

	if (gpubpf_lane() == first)
		got = gpubpf_stack_claim(map, l->word, count, l->oldest, 0, 0, 0, 0);
	return (u32)gpubpf_warp_from(l->lanes, got, first);
#else
	return gpubpf_stack_claim(map, l->word, count, l->oldest, 0, 0, 0, 0);
#endif
}

/*
 * Completes an operation on a claimed cell by changing its state, and returns true. The result is read from memory, so
 * that no compiler knows it and moves the operation after the loop. There, lanes in lock-step would execute it only
 * when all have left the loop (as for gpubpf_hash_unlock()).
 */
GPUBPF_FN u32 gpubpf_stack_done(GPUBPF_ENV, u64 cell, u32 state)
{
	gpubpf_store_release_u32(cell, state);
	return gpubpf_load_u32(env->arena + GPUBPF_ARENA_IS_VERSION) != 0;
}

/* Replace the oldest value of a full stack by the lane's value. */
GPUBPF_FN u32 gpubpf_stack_replace(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const struct gpubpf_stack_look *l,
				   GPUBPF_PRIVATE const u8 *value)
{
	u64 cell = gpubpf_stack_cell_at(env, GPUBPF_MAP_PASS, l->oldest);
	u32 state = gpubpf_load_acquire_u32(cell);

	if (!(state & 1) ||
	    !gpubpf_stack_claim(env->arena + ctl, l->word, max_entries, l->oldest, 1, max_entries, cell, state))
		return 0;
	gpubpf_copy_in(cell + GPUBPF_STACK_VALUE, value, value_size);
	return gpubpf_stack_done(env, cell, state + 2);
}

/*
 * Push a value. flags is BPF_ANY, or BPF_EXIST, with which a full stack replaces its oldest value. Returns 0, -E2BIG,
 * -EINVAL or -EBUSY.
 */
GPUBPF_FN s64 gpubpf_stack_push(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u64 map = env->arena + ctl, cell;
	struct gpubpf_stack_look l;
	u32 turns, count, room, state, n, done = 0;
	s64 ret = 0;

	if (flags != GPUBPF_ANY && flags != GPUBPF_EXIST)
		return -GPUBPF_EINVAL;
	for (turns = 0; !done && gpubpf_stack_may_wait(map, turns); turns++) {
		gpubpf_stack_look(map, map_flags, &l);
		count = (u32)l.word;
		if (!gpubpf_stack_is_still(l.word, l.oldest, max_entries))
			continue;
		room = max_entries - count;
		if (room == 0) {
			done = flags != GPUBPF_EXIST || gpubpf_stack_replace(env, GPUBPF_MAP_PASS, &l, value);
			ret = flags != GPUBPF_EXIST ? -GPUBPF_E2BIG : 0;
			continue;
		}
		cell = gpubpf_stack_cell_at(env, GPUBPF_MAP_PASS, l.oldest + count + (l.rank < room ? l.rank : 0));
		state = gpubpf_load_acquire_u32(cell);
		n = gpubpf_stack_ready(&l, l.rank < room && !(state & 1));
		if (!n || !gpubpf_stack_claim_together(map, &l, count + n) || l.rank >= n)
			continue;
		gpubpf_copy_in(cell + GPUBPF_STACK_VALUE, value, value_size);
		done = gpubpf_stack_done(env, cell, state + 1);
	}
	if (!done)
		ret = gpubpf_stack_time_out(map);
	if (ret == -GPUBPF_E2BIG)
		gpubpf_count(map);
	return ret;
}

/*
 * Return the address of the cell of the newest value, and store *word, *oldest and *state as they were read. Returns 0
 * if the stack is empty (the count in *word is 0) or the cell is being changed.
 */
GPUBPF_FN u64 gpubpf_stack_next(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u64 *word, GPUBPF_PRIVATE u32 *oldest,
				GPUBPF_PRIVATE u32 *state)
{
	u64 map = env->arena + ctl, cell;
	u32 count;

	*word = gpubpf_load_acquire_u64(map + GPUBPF_STACK_WORD);
	*oldest = gpubpf_load_u32(map + GPUBPF_STACK_OLDEST);
	count = (u32)*word;
	if (count == 0 || !gpubpf_stack_is_still(*word, *oldest, max_entries))
		return 0;
	cell = gpubpf_stack_cell_at(env, GPUBPF_MAP_PASS, *oldest + count - 1);
	*state = gpubpf_load_acquire_u32(cell);
	return *state & 1 ? cell : 0;
}

/* Returns true if the stack is empty and no change is in progress. */
GPUBPF_FN u32 gpubpf_stack_is_empty(u64 word)
{
	return !(word & GPUBPF_STACK_MOVING) && (u32)word == 0;
}

/* Pop the newest value. Returns 0, -ENOENT or -EBUSY. On an error the value is zeroed, as in the Linux kernel. */
GPUBPF_FN s64 gpubpf_stack_pop(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, cell;
	struct gpubpf_stack_look l;
	u32 turns, count, state, n, done = 0;
	s64 ret = 0;

	gpubpf_clear(value, value_size);
	for (turns = 0; !done && gpubpf_stack_may_wait(map, turns); turns++) {
		gpubpf_stack_look(map, map_flags, &l);
		count = (u32)l.word;
		if (!gpubpf_stack_is_still(l.word, l.oldest, max_entries))
			continue;
		if (count == 0) {
			done = 1;
			ret = -GPUBPF_ENOENT;
			continue;
		}
		cell = gpubpf_stack_cell_at(env, GPUBPF_MAP_PASS, l.oldest + count - 1 - (l.rank < count ? l.rank : 0));
		state = gpubpf_load_acquire_u32(cell);
		n = gpubpf_stack_ready(&l, l.rank < count && (state & 1));
		if (!n || !gpubpf_stack_claim_together(map, &l, count - n) || l.rank >= n)
			continue;
		gpubpf_copy_out(value, cell + GPUBPF_STACK_VALUE, value_size);
		done = gpubpf_stack_done(env, cell, state + 1);
	}
	return done ? ret : gpubpf_stack_time_out(map);
}

/*
 * Read the newest value without removing it. The second read of the cell's state is the linearization point of the
 * peek.
 */
GPUBPF_FN s64 gpubpf_stack_peek(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, word, cell;
	u32 turns, oldest, state, done = 0;
	s64 ret = 0;

	for (turns = 0; !done && gpubpf_stack_may_wait(map, turns); turns++) {
		cell = gpubpf_stack_next(env, GPUBPF_MAP_PASS, &word, &oldest, &state);
		if (cell == 0) {
			done = gpubpf_stack_is_empty(word);
			ret = -GPUBPF_ENOENT;
		} else if (gpubpf_load_acquire_u64(map + GPUBPF_STACK_WORD) == word) {
			gpubpf_copy_out(value, cell + GPUBPF_STACK_VALUE, value_size);
			gpubpf_fence();
			done = gpubpf_load_u32(cell) == state;
			ret = 0;
		}
	}
	if (!done)
		ret = gpubpf_stack_time_out(map);
	if (ret)
		gpubpf_clear(value, value_size);
	return ret;
}

#endif
