/* SPDX-License-Identifier: Apache-2.0 */
/*
 * QUEUE: at most max_entries values; the oldest is popped first.
 *
 *   ctl + 0              struct gpubpf_map_ctl; drops: values that were refused because the queue was full
 *   ctl + 128            s64 number of values that no lane has claimed
 *   ctl + 256            s64 number of cells that are free and that no lane has claimed, minus max_entries
 *   ctl + 384            u64 number of cells that were ever used
 *   ctl + 512            the ring of values: u64 enqueue tickets; at ctl + 640: u64 dequeue tickets
 *   ctl + 768            the ring of free cells: the same, at ctl + 768 and ctl + 896
 *   ctl + 1024           u32 not 0: a lane has timed out
 *   data                 2 * max_entries u64 entries of the ring of values; as many entries of the ring of free
 *                        cells; the cells
 *
 * A cell contains a value, and a ring contains numbers of cells, which are index + 1. One ring has the cells with
 * values. The other ring has the cells that were used before and are free. Ticket t belongs to entry t % n of a ring
 * with n entries, in round t / n + 1. An entry consists of its round, a flag and a number: round << 33 | unsafe << 32 |
 * number.
 *
 * To enqueue a number, a lane draws a ticket. If the ticket's entry is empty and of an earlier round, the lane
 * exchanges the entry; otherwise it draws another ticket. To dequeue, a lane draws a ticket and empties its entry. If
 * the number has not arrived after some reads, the lane advances the entry to its round. This voids the ticket for the
 * enqueuer too, and both draw other tickets. If the entry still has a number of an earlier round, it becomes unsafe
 * instead. An enqueuer skips an unsafe entry if its ticket may be void. So no lane ever waits for another, and lanes of
 * a warp cannot block each other. A killed or stopped lane costs at most one cell. (The rings are the SCQ of Nikolaev,
 * DISC 2019.)
 *
 * Before a lane draws a dequeue ticket, it claims one of the existing numbers with a counter outside of the rings. So
 * dequeue tickets never overtake enqueue tickets, and the counters show whether the queue is empty or full. Normally a
 * claim is an add to a word, and a warp combines its adds. When only few numbers are left, a claim is a
 * compare-exchange instead. An add that claims too many and returns them would hide values from other lanes for a short
 * time.
 *
 * All tickets are in one order. So a value that was pushed before a pop starts is found, and each value is popped once.
 */
#ifndef GPUBPF_MAPS_QUEUE_H
#define GPUBPF_MAPS_QUEUE_H

#include "maps/device/words.h"

#define GPUBPF_QUEUE_VALUES 128
#define GPUBPF_QUEUE_FREE 256
#define GPUBPF_QUEUE_FRESH 384
#define GPUBPF_QUEUE_RING 512        /* offset of the counters of the ring of values */
#define GPUBPF_QUEUE_FREE_RING 768
#define GPUBPF_QUEUE_STUCK 1024
#define GPUBPF_QUEUE_END 1152        /* size of ctl in bytes */
#define GPUBPF_QUEUE_OUT 128         /* offset of a ring's dequeue tickets from its enqueue tickets */
#define GPUBPF_QUEUE_ENTRIES 2       /* number of ring entries per value */

#define GPUBPF_QUEUE_UNSAFE (1ul << 32)

#define GPUBPF_QUEUE_FAST_CLAIM_MIN 1024     /* minimum of a counter for claims with an add, not a compare-exchange */

/*
 * MAX_LOOKS: number of times that a lane reads the entry of a ticket before it voids the ticket. MAX_IDLE_TURNS: number
 * of iterations without a successful claim after which an operation reports an empty or full queue. Other lanes may be
 * in the middle of an operation then.
 */
#define GPUBPF_QUEUE_MAX_LOOKS 32
#define GPUBPF_QUEUE_MAX_IDLE_TURNS 64

/* A dequeue ticket, and the number of times that the lane has read its entry. looks 0: the lane has no ticket. */
struct gpubpf_queue_visit {
	u64 ticket;
	u32 looks;
};

/* Return the address of the entries of the ring of values or of the ring of free cells. */
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

/*
 * Compare the round of an entry with `round`. Returns a positive number if the entry's round is later, a negative one
 * if it is earlier, and 0 if they are equal.
 */
GPUBPF_FN s64 gpubpf_queue_ahead(u64 entry, u64 round)
{
	return (s64)((entry >> 33 << 33) - (round << 33));
}

/*
 * Returns true if the lane may continue its loop after this many iterations. `holds`: the lane has a ticket or a cell.
 * Such a lane may continue longer, because giving up would lose the cell. It needs few iterations, because the reads of
 * a ticket are bounded.
 */
GPUBPF_FN u32 gpubpf_queue_may_continue(u64 map, u32 turns, u32 holds)
{
	gpubpf_rest(turns);
	return turns < GPUBPF_SHORT_WAIT_TURNS || (holds && turns < 2 * GPUBPF_MAX_WAIT_TURNS) ||
	       (turns < GPUBPF_MAX_WAIT_TURNS && !gpubpf_load_u32(map + GPUBPF_QUEUE_STUCK));
}

GPUBPF_FN s64 gpubpf_queue_time_out(u64 map)
{
	gpubpf_store_u32(map + GPUBPF_QUEUE_STUCK, 1);
	gpubpf_count(map + 8);
	return -GPUBPF_EBUSY;
}

/*
 * Ends an operation, and returns true. The result is read from memory, so that no compiler knows it and moves the
 * operation after the loop. There, lanes in lock-step would execute it only when all have left the loop (as for
 * gpubpf_hash_unlock()).
 */
GPUBPF_FN u32 gpubpf_queue_done(GPUBPF_ENV, u64 map)
{
	if (gpubpf_load_u32(map + GPUBPF_QUEUE_STUCK))
		gpubpf_store_u32(map + GPUBPF_QUEUE_STUCK, 0);
	return gpubpf_load_u32(env->arena + GPUBPF_ARENA_IS_VERSION) != 0;
}

/* Draw one ticket for each active lane that uses this queue, with a single add. Returns this lane's ticket. */
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

/*
 * Claim up to n units of a resource. The number of available units is `base` plus the counter at `at`. Returns the
 * number of claimed units.
 */
GPUBPF_FN u32 gpubpf_queue_claim_some(u64 at, u64 base, u32 n)
{
	u64 count = gpubpf_load_u64(at);
	s64 left = (s64)(base + count);
	u32 got;

	if (left >= GPUBPF_QUEUE_FAST_CLAIM_MIN) {
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

/* Claim one unit for each active lane that uses this queue. Returns true if this lane got a unit. */
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

/*
 * After a failed claim: returns true if the queue is really empty or full, or after MAX_IDLE_TURNS iterations. Returns
 * false if other lanes are in the middle of operations.
 */
GPUBPF_FN u32 gpubpf_queue_is_exhausted(u64 map, u64 at, u64 base, u32 idle_turns)
{
	u64 values = gpubpf_load_u64(map + GPUBPF_QUEUE_VALUES), free = gpubpf_load_u64(map + GPUBPF_QUEUE_FREE);

	return (s64)(base + gpubpf_load_u64(at)) <= 0 && (values + free == 0 || idle_turns >= GPUBPF_QUEUE_MAX_IDLE_TURNS);
}

/*
 * Returns true if an enqueuer with this ticket may store its number in the entry. It may not if the dequeuer with the
 * same ticket may already have read the entry.
 */
GPUBPF_FN u32 gpubpf_queue_accepts(u64 ring, u64 entry, u64 ticket, u64 round)
{
	return (u32)entry == 0 && gpubpf_queue_ahead(entry, round) < 0 &&
	       (!(entry & GPUBPF_QUEUE_UNSAFE) || gpubpf_load_u64(ring + GPUBPF_QUEUE_OUT) <= ticket);
}

/*
 * Enqueue a number in a ring, with a new ticket. Returns 0 if the ticket's entry did not accept it. The function first
 * tries an exchange that expects an empty entry of the previous round, the most frequent state.
 */
GPUBPF_FN u32 gpubpf_queue_offer(u64 ring, u64 entries, u32 max_entries, u32 map_flags, u32 number)
{
	u64 ticket = gpubpf_queue_ticket(ring, map_flags), n = (u64)GPUBPF_QUEUE_ENTRIES * max_entries,
	    round = ticket / n + 1;
	u64 at = entries + ticket % n * 8, entry = gpubpf_queue_entry(round - 1, 0), seen;

	seen = gpubpf_cas_u64(at, entry, gpubpf_queue_entry(round, number));
	if (seen != entry && gpubpf_queue_accepts(ring, seen, ticket, round)) {
		entry = seen;
		seen = gpubpf_cas_u64(at, entry, gpubpf_queue_entry(round, number));
	}
	return seen == entry;
}

/*
 * Read the entry of a dequeue ticket. Returns its number, or 0. The exchange is done even if it does not change the
 * entry. So an enqueuer that later finds the entry empty sees that this ticket was drawn.
 */
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
	if (v->looks++ < GPUBPF_QUEUE_MAX_LOOKS)
		return 0;
	moved = gpubpf_queue_entry(round, 0) | (entry & GPUBPF_QUEUE_UNSAFE);
	if (gpubpf_cas_u64(at, entry, (u32)entry ? entry | GPUBPF_QUEUE_UNSAFE : moved) == entry)
		v->looks = 0;
	return 0;
}

/*
 * Returns the number of a cell for a lane that has claimed a free cell. The cell was never used, or is from the ring of
 * free cells. Returns 0 if no cell is available yet.
 */
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

/*
 * Push a value. flags is BPF_ANY, or BPF_EXIST, with which a full queue replaces its oldest value. Returns 0, -E2BIG,
 * -EINVAL or -EBUSY.
 */
GPUBPF_FN s64 gpubpf_queue_push(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *value, u64 flags)
{
	u64 map = env->arena + ctl, values = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_RING);
	u64 cells = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_FREE_RING), free = map + GPUBPF_QUEUE_FREE;
	struct gpubpf_queue_visit visit = { 0, 0 };
	u32 turns, idle_turns = 0, has = 0, oldest = 0, cell = 0, done = 0;
	s64 ret = 0;

	if (flags != GPUBPF_ANY && flags != GPUBPF_EXIST)
		return -GPUBPF_EINVAL;
	for (turns = 0; !done && gpubpf_queue_may_continue(map, turns, visit.looks | cell); turns++) {
		if (!has) {
			has = gpubpf_queue_claim(free, max_entries, map_flags);
			if (!has && gpubpf_queue_is_exhausted(map, free, max_entries, idle_turns++)) {
				done = flags != GPUBPF_EXIST;
				ret = done ? -GPUBPF_E2BIG : 0;
				has = oldest = !done && gpubpf_queue_claim(map + GPUBPF_QUEUE_VALUES, 0, map_flags);
			}
			if (!has)
				continue;
		}
		if (!cell) {
			cell = oldest ? gpubpf_queue_fetch(map + GPUBPF_QUEUE_RING, values, max_entries, map_flags,
							   &visit) :
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
		ret = gpubpf_queue_time_out(map);
	if (ret == -GPUBPF_E2BIG)
		gpubpf_count(map);
	return ret;
}

/* Pop the oldest value. Returns 0, -ENOENT or -EBUSY. On an error the value is zeroed, as in the Linux kernel. */
GPUBPF_FN s64 gpubpf_queue_pop(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, values = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_RING);
	u64 cells = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_FREE_RING), count = map + GPUBPF_QUEUE_VALUES;
	struct gpubpf_queue_visit visit = { 0, 0 };
	u32 turns, idle_turns = 0, has = 0, cell = 0, done = 0;
	s64 ret = 0;

	gpubpf_clear(value, value_size);
	for (turns = 0; !done && gpubpf_queue_may_continue(map, turns, visit.looks | cell); turns++) {
		if (!has) {
			has = gpubpf_queue_claim(count, 0, map_flags);
			if (!has) {
				done = gpubpf_queue_is_exhausted(map, count, 0, idle_turns++);
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
	return done || cell ? ret : gpubpf_queue_time_out(map);
}

/*
 * Find the first value for which no dequeue ticket was drawn. Returns 1 + its ticket, and its entry in *entry, or 0 if
 * there is no value.
 */
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

/*
 * Read the value that the next pop would return. The function copies the value and then checks that it still is the
 * next one.
 */
GPUBPF_FN s64 gpubpf_queue_peek(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE u8 *value)
{
	u64 map = env->arena + ctl, values = gpubpf_queue_entries(env, GPUBPF_MAP_PASS, GPUBPF_QUEUE_RING);
	u64 ring = map + GPUBPF_QUEUE_RING, entry = 0, again = 0, ticket;
	u32 turns, done = 0;
	s64 ret = 0;

	for (turns = 0; !done && gpubpf_queue_may_continue(map, turns, 0); turns++) {
		if (gpubpf_queue_is_exhausted(map, map + GPUBPF_QUEUE_VALUES, 0, turns)) {
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
		ret = gpubpf_queue_time_out(map);
	if (ret)
		gpubpf_clear(value, value_size);
	return ret;
}

#endif
