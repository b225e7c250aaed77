/* SPDX-License-Identifier: Apache-2.0 */
/*
 * STACK: at most max_entries values, of which the newest comes out first.
 *
 *   ctl + 0              struct gpubpf_map_ctl; drops: values refused because there was no room
 *   ctl + 128            u64: changes << 33 | moving << 32 | values that are there
 *   ctl + 136            u32 cell of the oldest value
 *   ctl + 140            u32 not 0: someone has waited in vain
 *   data + i * stride    cell i: u32 state, u32 0, value; values lie in cells that follow each other, round and round
 *
 * A lane claims a cell with one compare-exchange of the first word: to put a value in the cell behind the newest, to
 * take one out the newest. Where a new value takes the oldest one's place, the word says that it moves until the second
 * one is written.
 * Every claim counts as a change, so a claim that succeeds found all as it had read it. The claimer alone then writes
 * or reads the cell. A cell's state is even when it is free and odd when a value is there, and counts up with each
 * change; nobody claims a cell to take whose value is still being written, or to put whose value is still being read.
 * What must be waited for is a turn of somebody else's loop, in which nothing waits: lanes of a warp cannot block each
 * other. Whoever has waited too long has claimed nothing: -EBUSY, counted in lock_timeouts, and later ones wait
 * briefly until a claim succeeds again.
 *
 * All claims are in one order; a value that was put in before somebody looks is found, and comes out once.
 */
#ifndef GPUBPF_MAPS_STACK_H
#define GPUBPF_MAPS_STACK_H

#include "words.h"

#define GPUBPF_STACK_WORD 128
#define GPUBPF_STACK_OLDEST 136
#define GPUBPF_STACK_STUCK 140
#define GPUBPF_STACK_END 256         /* bytes of ctl */
#define GPUBPF_STACK_VALUE 8         /* in a cell */

#define GPUBPF_STACK_MOVING (1ul << 32)
#define GPUBPF_STACK_CHANGE (1ul << 33)

/* turns of a loop that a lane waits, and where others have done so in vain */
#define GPUBPF_STACK_PATIENCE (1u << 22)
#define GPUBPF_STACK_HASTE (1u << 10)

GPUBPF_FN u64 gpubpf_stack_cell_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 cell)
{
	return env->arena + data + (cell < max_entries ? cell : cell - max_entries) * stride;
}

GPUBPF_FN u32 gpubpf_stack_waits(u64 map, u32 turns)
{
	return turns < GPUBPF_STACK_HASTE ||
	       (turns < GPUBPF_STACK_PATIENCE && !gpubpf_load_u32(map + GPUBPF_STACK_STUCK));
}

GPUBPF_FN s64 gpubpf_stack_give_up(u64 map)
{
	gpubpf_store_u32(map + GPUBPF_STACK_STUCK, 1);
	gpubpf_count(map + 8);
	return -GPUBPF_EBUSY;
}

/* Make of the word, as it was read, one with `count` values, and the oldest the next where it moves. Then the cell, if
 * it is not 0, is one that becomes the newest, and whose value nobody may take any more: its state changes. */
GPUBPF_FN u32 gpubpf_stack_claim(u64 map, u64 word, u32 count, u32 oldest, u32 moves, u32 max_entries, u64 cell,
				 u32 state)
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
 * What is done with a claimed cell ends with a change of its state, and with this, which is always true. It is read
 * from memory, so that no compiler can see it and move what is done out of the loop, where lanes that run in lock-step
 * would do it last (as in hash.h).
 */
GPUBPF_FN u32 gpubpf_stack_done(GPUBPF_ENV, u64 cell, u32 state)
{
	gpubpf_store_release_u32(cell, state);
	return gpubpf_load_u32(env->arena + GPUBPF_ARENA_IS_VERSION) != 0;
}

/* flags: BPF_ANY, or BPF_EXIST: where there is no room, in place of the oldest. 0, -E2BIG, -EINVAL, -EBUSY. */
GPUBPF_FN s64 gpubpf_stack_push(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u64 map = env->arena + ctl, word, cell;
	u32 turns, count, oldest, full, state, done = 0;
	s64 ret = 0;

	if (flags != GPUBPF_ANY && flags != GPUBPF_EXIST)
		return -GPUBPF_EINVAL;
	for (turns = 0; !done && gpubpf_stack_waits(map, turns); turns++) {
		word = gpubpf_load_acquire_u64(map + GPUBPF_STACK_WORD);
		count = (u32)word;
		oldest = gpubpf_load_u32(map + GPUBPF_STACK_OLDEST);
		if ((word & GPUBPF_STACK_MOVING) || count > max_entries || oldest >= max_entries)
			continue;
		full = count == max_entries;
		if (full && flags != GPUBPF_EXIST) {
			done = 1;
			ret = -GPUBPF_E2BIG;
			continue;
		}
		cell = gpubpf_stack_cell_at(env, GPUBPF_MAP_PASS, full ? oldest : oldest + count);
		state = gpubpf_load_acquire_u32(cell);
		if ((state & 1) != full || !gpubpf_stack_claim(map, word, full ? count : count + 1, oldest, full,
							       max_entries, full ? cell : 0, state))
			continue;
		gpubpf_copy_in(cell + GPUBPF_STACK_VALUE, value, value_size);
		done = gpubpf_stack_done(env, cell, full ? state + 2 : state + 1);
	}
	if (!done)
		ret = gpubpf_stack_give_up(map);
	if (ret == -GPUBPF_E2BIG)
		gpubpf_count(map);
	return ret;
}

/* The cell of the newest value, if there is one that can be read; *word, *oldest and *state as they
 * were. 0: there is none, with *word a count of 0, or it is being changed. */
GPUBPF_FN u64 gpubpf_stack_next(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u64 *word,
				GPUBPF_PRIVATE u32 *oldest, GPUBPF_PRIVATE u32 *state)
{
	u64 map = env->arena + ctl, cell;
	u32 count;

	*word = gpubpf_load_acquire_u64(map + GPUBPF_STACK_WORD);
	*oldest = gpubpf_load_u32(map + GPUBPF_STACK_OLDEST);
	count = (u32)*word;
	if ((*word & GPUBPF_STACK_MOVING) || count == 0 || count > max_entries || *oldest >= max_entries)
		return 0;
	cell = gpubpf_stack_cell_at(env, GPUBPF_MAP_PASS, *oldest + count - 1);
	*state = gpubpf_load_acquire_u32(cell);
	return *state & 1 ? cell : 0;
}

/* Nothing there, and not because somebody is at it? */
GPUBPF_FN u32 gpubpf_stack_is_empty(u64 word)
{
	return !(word & GPUBPF_STACK_MOVING) && (u32)word == 0;
}

/* 0, -ENOENT, -EBUSY; the value is 0 then, as the kernel has it. */
GPUBPF_FN s64 gpubpf_stack_pop(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, word, cell;
	u32 turns, oldest, state, done = 0;
	s64 ret = 0;

	gpubpf_clear(value, value_size);
	for (turns = 0; !done && gpubpf_stack_waits(map, turns); turns++) {
		cell = gpubpf_stack_next(env, GPUBPF_MAP_PASS, &word, &oldest, &state);
		if (cell == 0) {
			done = gpubpf_stack_is_empty(word);
			ret = -GPUBPF_ENOENT;
		} else if (gpubpf_stack_claim(map, word, (u32)word - 1, oldest, 0, max_entries, 0, 0)) {
			gpubpf_copy_out(value, cell + GPUBPF_STACK_VALUE, value_size);
			ret = 0;
			done = gpubpf_stack_done(env, cell, state + 1);
		}
	}
	return done ? ret : gpubpf_stack_give_up(map);
}

/* The same, but the value stays: as it was when the cell was looked at for the second time. */
GPUBPF_FN s64 gpubpf_stack_peek(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, word, cell;
	u32 turns, oldest, state, done = 0;
	s64 ret = 0;

	for (turns = 0; !done && gpubpf_stack_waits(map, turns); turns++) {
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
		ret = gpubpf_stack_give_up(map);
	if (ret)
		gpubpf_clear(value, value_size);
	return ret;
}

#endif
