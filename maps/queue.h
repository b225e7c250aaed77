/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QUEUE: at most max_entries values, of which the oldest comes out first.
 *
 *   ctl + 0              struct gpubpf_map_ctl; drops: values refused because there was no room
 *   ctl + 128            s64 values that nobody has claimed yet
 *   ctl + 256            s64 how many fewer than max_entries cells are free and nobody's claim
 *   ctl + 384            u64 cells that were used for the first time
 *   ctl + 512            the ring of values: u64 tickets given to who puts in; ctl + 640: to who takes out
 *   ctl + 768            the ring of free cells: the same
 *   ctl + 1024           u32 not 0: someone has tried in vain
 *   data                 entries of the ring of values, 2 max_entries of u64; then those of the other; then the cells
 *
 * A value lies in a cell, and the cell's number + 1 in a ring: in that of values, or in that of cells that were used and are
 * free. Ticket t stands for entry t % n of a ring with n of them in its round t / n + 1, and an entry says which round it is
 * in: round << 33 | unsafe << 32 | number. Who puts a number in draws a ticket and exchanges the entry, if it is empty and of
 * an earlier round, else takes another ticket. Who takes one out draws a ticket and empties the entry. If the number has not
 * come after some looks, the entry is moved on to that round, so that the ticket is void for who puts in too, and both
 * take others; an entry that still has a number of an earlier round becomes unsafe: who puts in by a ticket that
 * may be void passes it over. So nobody ever waits for somebody else, lanes of a warp cannot block each other, and who is
 * killed or stands still costs a cell at most (the rings are those of Nikolaev's SCQ, DISC 2019).
 *
 * Nobody draws a ticket to take out before he has claimed one of the numbers that are there, by counts outside of
 * the rings; so tickets to take out never overtake those to put in, and empty and full are known without a look at
 * the rings. All that many lanes do to one word is to add, and a warp's lanes do that at once. Where little is left a claim is a
 * compare-exchange: what is taken too much, and given back, would hide for a moment what there is.
 *
 * All tickets are in one order; a value that was put in before somebody looks is found, and comes out once.
 */
#ifndef GPUBPF_MAPS_QUEUE_H
#define GPUBPF_MAPS_QUEUE_H

#include "words.h"

#define GPUBPF_QUEUE_VALUES 128
#define GPUBPF_QUEUE_FREE 256
#define GPUBPF_QUEUE_FRESH 384
#define GPUBPF_QUEUE_RING 512        /* of values */
#define GPUBPF_QUEUE_FREE_RING 768
#define GPUBPF_QUEUE_STUCK 1024
#define GPUBPF_QUEUE_END 1152        /* bytes of ctl */
#define GPUBPF_QUEUE_OUT 128         /* in a ring */
#define GPUBPF_QUEUE_ENTRIES 2       /* of a ring, a value */

#define GPUBPF_QUEUE_UNSAFE (1ul << 32)

#define GPUBPF_QUEUE_PLENTY 1024     /* where so many are left, nobody looks before adding */

/* turns of a loop until a ticket is void; until nothing to claim means that there is nothing, though others are in the middle
 * of something */
#define GPUBPF_QUEUE_LATE 32
#define GPUBPF_QUEUE_QUIET 64

/* a ticket to take out, and how often its entry was looked at; 0: there is none */
struct gpubpf_queue_visit {
	u64 ticket;
	u32 looks;
};

/* Of the ring of values, or of free cells. */
GPUBPF_FN u64 gpubpf_queue_entries(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 ring)
{
	return env->arena + data + (ring == GPUBPF_QUEUE_RING ? 0 : 8ul * GPUBPF_QUEUE_ENTRIES * max_entries);
}

GPUBPF_FN u64 gpubpf_queue_cell_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 number)
{
	return env->arena + data + 16ul * GPUBPF_QUEUE_ENTRIES * max_entries + (u64)(number - 1) * stride;
}

GPUBPF_FN u64 gpubpf_queue_entry(u64 round, u32 number)
{
	return round << 33 | number;
}

/* more than 0: the entry is in a later round; less: in an earlier one */
GPUBPF_FN s64 gpubpf_queue_ahead(u64 entry, u64 round)
{
	return (s64)((entry >> 33 << 33) - (round << 33));
}

/* `holds`: a ticket, whose entry's looks come to an end by themselves, or a cell, which is lost with who gives up. */
GPUBPF_FN u32 gpubpf_queue_goes_on(u64 map, u32 turns, u32 holds)
{
	gpubpf_rest(turns);
	return turns < GPUBPF_HASTE || (holds && turns < 2 * GPUBPF_PATIENCE) ||
	       (turns < GPUBPF_PATIENCE && !gpubpf_load_u32(map + GPUBPF_QUEUE_STUCK));
}

GPUBPF_FN s64 gpubpf_queue_give_up(u64 map)
{
	gpubpf_store_u32(map + GPUBPF_QUEUE_STUCK, 1);
	gpubpf_count(map + 8);
	return -GPUBPF_EBUSY;
}

/* What is done ends with this, which is always true. It is read from memory, so that no compiler can see it and move what is
 * done out of the loop, where lanes that run in lock-step would do it last (as in hash.h). */
GPUBPF_FN u32 gpubpf_queue_done(GPUBPF_ENV, u64 map)
{
	if (gpubpf_load_u32(map + GPUBPF_QUEUE_STUCK))
		gpubpf_store_u32(map + GPUBPF_QUEUE_STUCK, 0);
	return gpubpf_load_u32(env->arena + GPUBPF_ARENA_IS_VERSION) != 0;
}

/* A number for each of the lanes that are here with this queue. */
GPUBPF_FN u64 gpubpf_queue_ticket(u64 next, u32 map_flags)
{
#ifdef GPUBPF_HAS_WARP
	u32 lanes = gpubpf_warp_with(next, map_flags), first = gpubpf_warp_first(lanes), lane = gpubpf_lane();
	u64 base = 0;

	if (lane == first)
		base = gpubpf_fetch_add_relaxed_u64(next, gpubpf_warp_count(lanes));
	return gpubpf_warp_from(lanes, base, first) + gpubpf_warp_count(lanes & ((1u << lane) - 1));
#else
	return gpubpf_fetch_add_relaxed_u64(next, 1);
#endif
}

/* Claim up to n of the `base` and the count at `at`: how many. */
GPUBPF_FN u32 gpubpf_queue_claim_some(u64 at, u64 base, u32 n)
{
	u64 count = gpubpf_load_u64(at);
	s64 left = (s64)(base + count);
	u32 got;

	if (left >= GPUBPF_QUEUE_PLENTY) {
		left = (s64)(base + gpubpf_fetch_add_relaxed_u64(at, 0 - (u64)n));
		got = left >= (s64)n ? n : left > 0 ? (u32)left : 0;
		if (got < n)
			gpubpf_add_u64(at, n - got);
		return got;
	}
	if (left <= 0)
		return 0;
	got = left < (s64)n ? (u32)left : n;
	return gpubpf_cas_relaxed_u64(at, count, count - got) == count ? got : 0;
}

/* Of the lanes that are here with this queue: has this one got one? */
GPUBPF_FN u32 gpubpf_queue_claim(u64 at, u64 base, u32 map_flags)
{
#ifdef GPUBPF_HAS_WARP
	u32 lanes = gpubpf_warp_with(at, map_flags), first = gpubpf_warp_first(lanes), lane = gpubpf_lane(), got = 0;

	if (lane == first)
		got = gpubpf_queue_claim_some(at, base, gpubpf_warp_count(lanes));
	got = (u32)gpubpf_warp_from(lanes, got, first);
	return gpubpf_warp_count(lanes & ((1u << lane) - 1)) < got;
#else
	return gpubpf_queue_claim_some(at, base, 1);
#endif
}

/* Nothing was there to claim: is that so, and not because others are in the middle of something? After some turns it is. */
GPUBPF_FN u32 gpubpf_queue_is_over(u64 map, u64 at, u64 base, u32 quiet)
{
	u64 values = gpubpf_load_u64(map + GPUBPF_QUEUE_VALUES), free = gpubpf_load_u64(map + GPUBPF_QUEUE_FREE);

	return (s64)(base + gpubpf_load_u64(at)) <= 0 && (values + free == 0 || quiet >= GPUBPF_QUEUE_QUIET);
}

/* May a number be put into an entry by this ticket? Not if who takes out by it may have been there. */
GPUBPF_FN u32 gpubpf_queue_takes(u64 ring, u64 entry, u64 ticket, u64 round)
{
	return (u32)entry == 0 && gpubpf_queue_ahead(entry, round) < 0 &&
	       (!(entry & GPUBPF_QUEUE_UNSAFE) || gpubpf_load_u64(ring + GPUBPF_QUEUE_OUT) <= ticket);
}

/* Put a number into a ring by a ticket. 0: its entry did not take it. Most entries are as the round before left them. */
GPUBPF_FN u32 gpubpf_queue_offer(u64 ring, u64 entries, u32 max_entries, u32 map_flags, u32 number)
{
	u64 ticket = gpubpf_queue_ticket(ring, map_flags), n = (u64)GPUBPF_QUEUE_ENTRIES * max_entries, round = ticket / n + 1;
	u64 at = entries + ticket % n * 8, entry = gpubpf_queue_entry(round - 1, 0), seen;

	seen = gpubpf_cas_u64(at, entry, gpubpf_queue_entry(round, number));
	if (seen != entry && gpubpf_queue_takes(ring, seen, ticket, round)) {
		entry = seen;
		seen = gpubpf_cas_u64(at, entry, gpubpf_queue_entry(round, number));
	}
	return seen == entry;
}

/* A look at a ticket's entry: the number that was in it, or 0. The exchange is made even if it changes nothing: who finds the
 * entry empty later sees then that this ticket was drawn. */
GPUBPF_FN u32 gpubpf_queue_fetch(u64 ring, u64 entries, u32 max_entries, u32 map_flags,
				 GPUBPF_PRIVATE struct gpubpf_queue_visit *v)
{
	u64 n = (u64)GPUBPF_QUEUE_ENTRIES * max_entries, round, at, entry, moved;
	s64 ahead;

	if (!v->looks)
		v->ticket = gpubpf_queue_ticket(ring + GPUBPF_QUEUE_OUT, map_flags);
	round = v->ticket / n + 1;
	at = entries + v->ticket % n * 8;
	entry = gpubpf_load_acquire_u64(at);
	ahead = gpubpf_queue_ahead(entry, round);
	if (ahead >= 0) {
		v->looks = 0;
		if (ahead == 0 && (u32)entry)
			gpubpf_add_u64(at, 0 - (u64)(u32)entry);
		return ahead == 0 && (u32)entry <= max_entries ? (u32)entry : 0;
	}
	if (v->looks++ < GPUBPF_QUEUE_LATE)
		return 0;
	moved = gpubpf_queue_entry(round, 0) | (entry & GPUBPF_QUEUE_UNSAFE);
	if (gpubpf_cas_u64(at, entry, (u32)entry ? entry | GPUBPF_QUEUE_UNSAFE : moved) == entry)
		v->looks = 0;
	return 0;
}

/* A cell for who has claimed one: one that was never used, or a free one. */
GPUBPF_FN u32 gpubpf_queue_cell(u64 map, u64 entries, u32 max_entries, u32 map_flags,
				GPUBPF_PRIVATE struct gpubpf_queue_visit *v)
{
	u64 fresh;

	if (!v->looks && gpubpf_load_u64(map + GPUBPF_QUEUE_FRESH) < max_entries) {
		fresh = gpubpf_queue_ticket(map + GPUBPF_QUEUE_FRESH, map_flags);
		if (fresh < max_entries)
			return (u32)fresh + 1;
	}
	return gpubpf_queue_fetch(map + GPUBPF_QUEUE_FREE_RING, entries, max_entries, map_flags, v);
}

/* flags: BPF_ANY, or BPF_EXIST: where there is no room, in place of the oldest. 0, -E2BIG, -EINVAL, -EBUSY. */
GPUBPF_FN s64 gpubpf_queue_push(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u64 map = env->arena + ctl, values = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_RING);
	u64 cells = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_FREE_RING), free = map + GPUBPF_QUEUE_FREE;
	struct gpubpf_queue_visit visit = { 0, 0 };
	u32 turns, quiet = 0, has = 0, oldest = 0, cell = 0, done = 0;
	s64 ret = 0;

	if (flags != GPUBPF_ANY && flags != GPUBPF_EXIST)
		return -GPUBPF_EINVAL;
	for (turns = 0; !done && gpubpf_queue_goes_on(map, turns, visit.looks | cell); turns++) {
		if (!has) {
			has = gpubpf_queue_claim(free, max_entries, map_flags);
			if (!has && gpubpf_queue_is_over(map, free, max_entries, quiet++)) {
				done = flags != GPUBPF_EXIST;
				ret = done ? -GPUBPF_E2BIG : 0;
				has = oldest = !done && gpubpf_queue_claim(map + GPUBPF_QUEUE_VALUES, 0, map_flags);
			}
			if (!has)
				continue;
		}
		if (!cell) {
			cell = oldest ? gpubpf_queue_fetch(map + GPUBPF_QUEUE_RING, values, max_entries, map_flags, &visit) :
					gpubpf_queue_cell(map, cells, max_entries, map_flags, &visit);
			if (!cell)
				continue;
			gpubpf_copy_in(gpubpf_queue_cell_at(env, GPUBPF_MAP_PASS, cell), value, value_size);
		}
		if (gpubpf_queue_offer(map + GPUBPF_QUEUE_RING, values, max_entries, map_flags, cell)) {
			gpubpf_count(map + GPUBPF_QUEUE_VALUES);
			done = gpubpf_queue_done(env, map);
		}
	}
	if (!done && has && !cell)
		gpubpf_count(oldest ? map + GPUBPF_QUEUE_VALUES : free);
	if (!done)
		ret = gpubpf_queue_give_up(map);
	if (ret == -GPUBPF_E2BIG)
		gpubpf_count(map);
	return ret;
}

/* 0, -ENOENT, -EBUSY; the value is 0 then, as the kernel has it. */
GPUBPF_FN s64 gpubpf_queue_pop(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, values = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_RING);
	u64 cells = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_FREE_RING), count = map + GPUBPF_QUEUE_VALUES;
	struct gpubpf_queue_visit visit = { 0, 0 };
	u32 turns, quiet = 0, has = 0, cell = 0, done = 0;
	s64 ret = 0;

	gpubpf_clear(value, value_size);
	for (turns = 0; !done && gpubpf_queue_goes_on(map, turns, visit.looks | cell); turns++) {
		if (!has) {
			has = gpubpf_queue_claim(count, 0, map_flags);
			if (!has) {
				done = gpubpf_queue_is_over(map, count, 0, quiet++);
				ret = done ? -GPUBPF_ENOENT : 0;
				continue;
			}
		}
		if (!cell) {
			cell = gpubpf_queue_fetch(map + GPUBPF_QUEUE_RING, values, max_entries, map_flags, &visit);
			if (!cell)
				continue;
			gpubpf_copy_out(value, gpubpf_queue_cell_at(env, GPUBPF_MAP_PASS, cell), value_size);
		}
		if (gpubpf_queue_offer(map + GPUBPF_QUEUE_FREE_RING, cells, max_entries, map_flags, cell)) {
			gpubpf_count(map + GPUBPF_QUEUE_FREE);
			done = gpubpf_queue_done(env, map);
		}
	}
	if (!done && has && !cell)
		gpubpf_count(count);
	return done || cell ? ret : gpubpf_queue_give_up(map);
}

/* The ticket, + 1, of the first value that no ticket to take out was drawn for; its entry. 0: none was seen. */
GPUBPF_FN u64 gpubpf_queue_front(u64 ring, u64 entries, u32 max_entries, GPUBPF_PRIVATE u64 *entry)
{
	u64 n = (u64)GPUBPF_QUEUE_ENTRIES * max_entries, ticket = gpubpf_load_acquire_u64(ring + GPUBPF_QUEUE_OUT), i;
	u64 there = gpubpf_load_u64(ring) - ticket;

	for (i = 0; i < there && i < n; i++, ticket++) {
		*entry = gpubpf_load_acquire_u64(entries + ticket % n * 8);
		if ((u32)*entry && (u32)*entry <= max_entries && gpubpf_queue_ahead(*entry, ticket / n + 1) == 0)
			return ticket + 1;
	}
	return 0;
}

/* The value that is next to come out, which it was when its cell was copied, since it is so still. */
GPUBPF_FN s64 gpubpf_queue_peek(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, values = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_RING);
	u64 ring = map + GPUBPF_QUEUE_RING, entry = 0, again = 0, ticket;
	u32 turns, done = 0;
	s64 ret = 0;

	for (turns = 0; !done && gpubpf_queue_goes_on(map, turns, 0); turns++) {
		if (gpubpf_queue_is_over(map, map + GPUBPF_QUEUE_VALUES, 0, turns)) {
			done = 1;
			ret = -GPUBPF_ENOENT;
			continue;
		}
		ticket = gpubpf_queue_front(ring, values, max_entries, &entry);
		if (!ticket)
			continue;
		gpubpf_copy_out(value, gpubpf_queue_cell_at(env, GPUBPF_MAP_PASS, (u32)entry), value_size);
		gpubpf_fence();
		done = gpubpf_queue_front(ring, values, max_entries, &again) == ticket &&
		       (again & ~GPUBPF_QUEUE_UNSAFE) == (entry & ~GPUBPF_QUEUE_UNSAFE);
	}
	if (!done)
		ret = gpubpf_queue_give_up(map);
	if (ret)
		gpubpf_clear(value, value_size);
	return ret;
}

#endif
