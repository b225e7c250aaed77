/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QUEUE: at most max_entries values, of which the oldest comes out first.
 *
 *   ctl + 0              struct gpubpf_map_ctl; drops: values refused because there was no room
 *   ctl + 128            s64 values that nobody has claimed yet
 *   ctl + 256            s64 cells in use: of values, and of those that are being put in or taken out
 *   ctl + 384            u64 tickets given to those who put in; ctl + 512: to those who take out
 *   ctl + 640            u32 not 0: someone has waited in vain
 *   data + i * stride    cell i: u64 turn << 32 | void, value
 *
 * Who puts a value in claims one of the cells that are not in use, then a ticket; who takes one out claims one of the values,
 * then a ticket. Tickets follow each other, and number t stands for cell t % max_entries in its round t / max_entries = r. The
 * cell's turn says whose turn it is: 4 r, who puts in; 4 r + 1, it is being written; 4 r + 2, who takes out; then 4 (r + 1).
 * So all that many lanes do to one word is to add, and a warp's lanes do that at once. Where little is left a claim is a
 * compare-exchange: what is added too much would hide for a moment what there is.
 *
 * Between claim and turn a lane may have to wait: for one that claimed before it and is in the middle of a copy, which is
 * one turn of that one's loop, in which nothing waits: lanes of a warp cannot block each other. Who waits too long makes the
 * ticket void for both of its owners, takes another, and so does the other one when it comes: a cell that nobody is at
 * is moved on, else void = 4 r + 1 says so, and who finds the cell at that turn moves it on. Who waits much too long gives up with -EBUSY, counted in lock_timeouts,
 * and later ones wait briefly until something is done again.
 *
 * Tickets are in one order; a value that was put in before somebody looks is found, and comes out once.
 */
#ifndef GPUBPF_MAPS_QUEUE_H
#define GPUBPF_MAPS_QUEUE_H

#include "words.h"

#define GPUBPF_QUEUE_VALUES 128
#define GPUBPF_QUEUE_USED 256
#define GPUBPF_QUEUE_IN 384
#define GPUBPF_QUEUE_OUT 512
#define GPUBPF_QUEUE_STUCK 640
#define GPUBPF_QUEUE_END 768         /* bytes of ctl */
#define GPUBPF_QUEUE_VALUE 8         /* in a cell */

#define GPUBPF_QUEUE_PLENTY 1024     /* where so many are left, nobody looks before adding */

/* turns of a loop that a lane waits, and where others have done so in vain; for its turn at a cell */
#define GPUBPF_QUEUE_PATIENCE (1u << 22)
#define GPUBPF_QUEUE_HASTE (1u << 10)
#define GPUBPF_QUEUE_LATE (1u << 16)

enum gpubpf_queue_end { GPUBPF_QUEUE_PUTS, GPUBPF_QUEUE_TAKES };

GPUBPF_FN u64 gpubpf_queue_cell_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u64 ticket)
{
	return env->arena + data + ticket % max_entries * stride;
}

/* the turn of who puts in by a ticket */
GPUBPF_FN u32 gpubpf_queue_turn(u64 ticket, u32 max_entries)
{
	return (u32)(ticket / max_entries) * 4;
}

GPUBPF_FN u64 gpubpf_queue_word(u32 turn, u32 is_void)
{
	return (u64)turn << 32 | is_void;
}

GPUBPF_FN u32 gpubpf_queue_is_stuck(u64 map)
{
	return gpubpf_load_u32(map + GPUBPF_QUEUE_STUCK);
}

GPUBPF_FN u32 gpubpf_queue_waits(u64 map, u32 turns, u32 patience)
{
	return turns < GPUBPF_QUEUE_HASTE || (turns < patience && !gpubpf_queue_is_stuck(map));
}

/* What was claimed, if it was, is there for others again. */
GPUBPF_FN s64 gpubpf_queue_give_up(u64 map, u32 end, u32 claimed)
{
	if (claimed && end == GPUBPF_QUEUE_PUTS)
		gpubpf_add_u64(map + GPUBPF_QUEUE_USED, ~0ul);
	if (claimed && end == GPUBPF_QUEUE_TAKES)
		gpubpf_count(map + GPUBPF_QUEUE_VALUES);
	gpubpf_store_u32(map + GPUBPF_QUEUE_STUCK, 1);
	gpubpf_count(map + 8);
	return -GPUBPF_EBUSY;
}

/* How many there are to claim: cells that are free, or values. */
GPUBPF_FN s64 gpubpf_queue_left(u64 word, u32 max_entries, u32 end)
{
	return (s64)(end == GPUBPF_QUEUE_PUTS ? max_entries - word : word);
}

/* Claim up to n: how many. */
GPUBPF_FN u32 gpubpf_queue_claim(u64 map, u32 max_entries, u32 end, u32 n)
{
	u64 at = map + (end == GPUBPF_QUEUE_PUTS ? GPUBPF_QUEUE_USED : GPUBPF_QUEUE_VALUES), word = gpubpf_load_u64(at);
	u64 one = end == GPUBPF_QUEUE_PUTS ? 1 : ~0ul;
	s64 left = gpubpf_queue_left(word, max_entries, end);

	if (left >= GPUBPF_QUEUE_PLENTY) {
		if (gpubpf_queue_left(gpubpf_fetch_add_relaxed_u64(at, one * n), max_entries, end) >= (s64)n)
			return n;
		gpubpf_add_u64(at, 0 - one * n);
		return 0;
	}
	if (left <= 0)
		return 0;
	n = left < (s64)n ? (u32)left : n;
	return gpubpf_cas_relaxed_u64(at, word, word + one * n) == word ? n : 0;
}

/* A claim and its ticket for each of the lanes that are here. 0: not for this one. */
GPUBPF_FN u32 gpubpf_queue_enter(u64 map, u32 max_entries, u32 end, GPUBPF_PRIVATE u64 *ticket)
{
	u64 tickets = map + (end == GPUBPF_QUEUE_PUTS ? GPUBPF_QUEUE_IN : GPUBPF_QUEUE_OUT);
#ifdef GPUBPF_HAS_WARP
	u32 lanes = gpubpf_warp_active(), first = gpubpf_warp_first(lanes), lane = gpubpf_lane(), got = 0;
	u32 rank = gpubpf_warp_count(lanes & ((1u << lane) - 1));
	u64 base = 0;

	if (lane == first)
		got = gpubpf_queue_claim(map, max_entries, end, gpubpf_warp_count(lanes));
	if (got)
		base = gpubpf_fetch_add_relaxed_u64(tickets, got);
	got = (u32)gpubpf_warp_from(lanes, got, first);
	*ticket = gpubpf_warp_from(lanes, base, first) + rank;
	return rank < got;
#else
	u32 got = gpubpf_queue_claim(map, max_entries, end, 1);

	if (got)
		*ticket = gpubpf_fetch_add_relaxed_u64(tickets, 1);
	return got;
#endif
}

GPUBPF_FN u64 gpubpf_queue_next_ticket(u64 map, u32 end)
{
	return gpubpf_fetch_add_relaxed_u64(map + (end == GPUBPF_QUEUE_PUTS ? GPUBPF_QUEUE_IN : GPUBPF_QUEUE_OUT), 1);
}

/* Is the ticket void, or has its cell been moved on, which is so of void ones alone? */
GPUBPF_FN u32 gpubpf_queue_is_void(u64 word, u32 turn)
{
	return (u32)word == turn + 1 || (s32)((u32)(word >> 32) - turn) > 2;
}

/* It is not our turn at the cell, whose word is `word`: may the ticket still come to it? If not, another is to be taken. The
 * cell of a void ticket, ours or an older one, is moved on; a ticket that is late becomes void. */
GPUBPF_FN u32 gpubpf_queue_may_come(u64 map, u64 cell, u64 word, u32 turn, u32 waited)
{
	u32 is_void = (u32)word;

	if (is_void && (u32)(word >> 32) == is_void - 1) {
		gpubpf_cas_u64(cell, word, gpubpf_queue_word(is_void + 3, 0));
		return is_void != turn + 1;
	}
	if (gpubpf_queue_is_void(word, turn))
		return 0;
	if (gpubpf_queue_waits(map, waited, GPUBPF_QUEUE_LATE))
		return 1;
	if (!(word >> 32 & 3))
		return gpubpf_cas_u64(cell, word, gpubpf_queue_word(turn + 4, 0)) != word;
	return !is_void && gpubpf_cas_u64(cell, word, word | (turn + 1)) != word;
}

/* What is done ends with this, which is always true. It is read from memory, so that no compiler can see it and move what is
 * done out of the loop, where lanes that run in lock-step would do it last (as in hash.h). */
GPUBPF_FN u32 gpubpf_queue_done(GPUBPF_ENV, u64 map)
{
	if (gpubpf_queue_is_stuck(map))
		gpubpf_store_u32(map + GPUBPF_QUEUE_STUCK, 0);
	return gpubpf_load_u32(env->arena + GPUBPF_ARENA_IS_VERSION) != 0;
}

/* The ticket's turn: write the value, and let who takes out have it. 0: the ticket was void. */
GPUBPF_FN u32 gpubpf_queue_write(u64 map, u64 cell, u32 turn, GPUBPF_PRIVATE const u8 *value, u32 value_size)
{
	u64 writing = gpubpf_queue_word(turn + 1, 0);

	if (gpubpf_cas_u64(cell, gpubpf_queue_word(turn, 0), writing) != gpubpf_queue_word(turn, 0))
		return 0;
	gpubpf_copy_in(cell + GPUBPF_QUEUE_VALUE, value, value_size);
	if (gpubpf_cas_u64(cell, writing, gpubpf_queue_word(turn + 2, 0)) != writing) {
		gpubpf_store_release_u64(cell, gpubpf_queue_word(turn + 4, 0));
		return 0;
	}
	gpubpf_count(map + GPUBPF_QUEUE_VALUES);
	return 1;
}

/* Nothing to claim: is that so, and not because others are in the middle of something? After some turns it is. */
GPUBPF_FN u32 gpubpf_queue_is_over(u64 map, u32 max_entries, u32 end, u32 quiet)
{
	u64 used = gpubpf_load_u64(map + GPUBPF_QUEUE_USED), values = gpubpf_load_u64(map + GPUBPF_QUEUE_VALUES);

	if (end == GPUBPF_QUEUE_PUTS)
		return (s64)used >= (s64)max_entries && ((s64)values >= (s64)max_entries || quiet >= GPUBPF_QUEUE_HASTE);
	return (s64)values <= 0 && ((s64)used <= 0 || quiet >= GPUBPF_QUEUE_HASTE);
}

/* flags: BPF_ANY, or BPF_EXIST: where there is no room, in place of the oldest, whose cell is then the caller's to use. 0, -E2BIG,
 * -EINVAL, -EBUSY. */
GPUBPF_FN s64 gpubpf_queue_push(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u64 map = env->arena + ctl, ticket = 0, cell, word;
	u32 turns, turn, waited = 0, quiet = 0, has = 0, end = GPUBPF_QUEUE_PUTS, done = 0;
	s64 ret = 0;

	if (flags != GPUBPF_ANY && flags != GPUBPF_EXIST)
		return -GPUBPF_EINVAL;
	for (turns = 0; !done && gpubpf_queue_waits(map, turns, GPUBPF_QUEUE_PATIENCE); turns++) {
		if (!has) {
			has = gpubpf_queue_enter(map, max_entries, end, &ticket);
			waited = 0;
			if (!has && end == GPUBPF_QUEUE_TAKES) {
				end = GPUBPF_QUEUE_PUTS;
			} else if (!has && gpubpf_queue_is_over(map, max_entries, end, quiet++)) {
				end = flags == GPUBPF_EXIST ? GPUBPF_QUEUE_TAKES : end;
				done = flags != GPUBPF_EXIST;
				ret = done ? -GPUBPF_E2BIG : 0;
			}
			continue;
		}
		cell = gpubpf_queue_cell_at(env, GPUBPF_MAP_PASS, ticket);
		turn = gpubpf_queue_turn(ticket, max_entries);
		word = gpubpf_load_acquire_u64(cell);
		if (end == GPUBPF_QUEUE_PUTS && word == gpubpf_queue_word(turn, 0)) {
			if (gpubpf_queue_write(map, cell, turn, value, value_size))
				done = gpubpf_queue_done(env, map);
		} else if (end == GPUBPF_QUEUE_TAKES && word >> 32 == turn + 2) {
			gpubpf_rmw_add_u64(cell, gpubpf_queue_word(2, 0));
			end = GPUBPF_QUEUE_PUTS;
			ticket = gpubpf_queue_next_ticket(map, end);
			waited = 0;
		} else if (!gpubpf_queue_may_come(map, cell, word, turn, waited++)) {
			ticket = gpubpf_queue_next_ticket(map, end);
			waited = 0;
		}
	}
	if (!done)
		ret = gpubpf_queue_give_up(map, end, has);
	if (ret == -GPUBPF_E2BIG)
		gpubpf_count(map);
	return ret;
}

/* 0, -ENOENT, -EBUSY; the value is 0 then, as the kernel has it. */
GPUBPF_FN s64 gpubpf_queue_pop(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, ticket = 0, cell, word;
	u32 turns, turn, waited = 0, quiet = 0, has = 0, done = 0;
	s64 ret = 0;

	gpubpf_clear(value, value_size);
	for (turns = 0; !done && gpubpf_queue_waits(map, turns, GPUBPF_QUEUE_PATIENCE); turns++) {
		if (!has) {
			has = gpubpf_queue_enter(map, max_entries, GPUBPF_QUEUE_TAKES, &ticket);
			if (!has && gpubpf_queue_is_over(map, max_entries, GPUBPF_QUEUE_TAKES, quiet++)) {
				done = 1;
				ret = -GPUBPF_ENOENT;
			}
			continue;
		}
		cell = gpubpf_queue_cell_at(env, GPUBPF_MAP_PASS, ticket);
		turn = gpubpf_queue_turn(ticket, max_entries);
		word = gpubpf_load_acquire_u64(cell);
		if (word >> 32 == turn + 2) {
			gpubpf_copy_out(value, cell + GPUBPF_QUEUE_VALUE, value_size);
			gpubpf_rmw_add_u64(cell, gpubpf_queue_word(2, 0));
			gpubpf_add_u64(map + GPUBPF_QUEUE_USED, ~0ul);
			done = gpubpf_queue_done(env, map);
		} else if (!gpubpf_queue_may_come(map, cell, word, turn, waited++)) {
			ticket = gpubpf_queue_next_ticket(map, GPUBPF_QUEUE_TAKES);
			waited = 0;
		}
	}
	return done ? ret : gpubpf_queue_give_up(map, GPUBPF_QUEUE_TAKES, has);
}

/* The value that is next to come out, behind tickets that are void, as it was when its cell was looked at for the second time. */
GPUBPF_FN s64 gpubpf_queue_peek(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, first, seen = 0, cell, word;
	u32 turns, turn, past = 0, waited = 0, done = 0;
	s64 ret = 0;

	for (turns = 0; !done && gpubpf_queue_waits(map, turns, GPUBPF_QUEUE_PATIENCE); turns++) {
		first = gpubpf_load_acquire_u64(map + GPUBPF_QUEUE_OUT);
		past = first == seen ? past : 0;
		seen = first;
		cell = gpubpf_queue_cell_at(env, GPUBPF_MAP_PASS, first + past);
		turn = gpubpf_queue_turn(first + past, max_entries);
		word = gpubpf_load_acquire_u64(cell);
		if (gpubpf_queue_is_over(map, max_entries, GPUBPF_QUEUE_TAKES, turns)) {
			done = 1;
			ret = -GPUBPF_ENOENT;
		} else if (word >> 32 == turn + 2) {
			gpubpf_copy_out(value, cell + GPUBPF_QUEUE_VALUE, value_size);
			gpubpf_fence();
			done = gpubpf_load_u64(cell) == word && gpubpf_load_u64(map + GPUBPF_QUEUE_OUT) == first;
		} else if (!gpubpf_queue_may_come(map, cell, word, turn, waited++)) {
			past++;
			waited = 0;
		}
	}
	if (!done)
		ret = gpubpf_queue_give_up(map, GPUBPF_QUEUE_TAKES, 0);
	if (ret)
		gpubpf_clear(value, value_size);
	return ret;
}

#endif
