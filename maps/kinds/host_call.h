/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HOST_CALL: mailboxes through which programs call a function of the host (docs/design/maps/41-host-calls.md).
 *
 *   ctl + 0              struct gpubpf_map_ctl; drops: calls without a free slot; lock_timeouts: late answers
 *   ctl + 128            words of the host: function is registered; beat (number of answers); limit of a wait in ns
 *   ctl + 256            1 + the beat when a call timed out last; lanes write it
 *   ctl + 384            for each slot a u64 that lanes exchange: sequence number << 2 | state
 *   then                 for each slot a u64 request, which lanes write: sequence number << 32 | mask of lanes
 *   then                 for each slot a u64 answer, which the host writes: the sequence number
 *   data                 copy_stride bytes per slot: for each of 32 lanes stride bytes, which are the argument, the
 *                        function's result, and the output
 *
 * A slot belongs to one warp at a time, or to one lane if the device library does not know the warps. Lanes and the host
 * never write the same word: atomics of GPUs and of the host need not be atomic to each other.
 *
 * A lane claims a slot by an exchange with BUSY, and increments the sequence number. It writes the arguments, and then
 * the request. The host writes the outputs, and then the answer. If the answer comes too late, the slot becomes
 * ABANDONED. No lane uses it before its answer has the request's number. So the host never writes to a slot that
 * belongs to a later request, even if it was stopped between two instructions.
 *
 * While a host is stopped or dead, its beat does not change. Then only calls that already wait take the whole limit. A
 * later call finds that another call timed out at the same beat, and fails at once.
 *
 * No lane waits for another lane. Lanes that run in lock-step leave the loop of gpubpf_host_call_run() together, so a lane
 * releases its slot inside the loop.
 */
#ifndef GPUBPF_MAPS_HOST_CALL_H
#define GPUBPF_MAPS_HOST_CALL_H

#include "maps/device/helpers.h"
#include "maps/device/words.h"

#define GPUBPF_HOST_CALL_LANES 32
#define GPUBPF_HOST_CALL_SERVED 128
#define GPUBPF_HOST_CALL_BEAT 136
#define GPUBPF_HOST_CALL_LIMIT 144
#define GPUBPF_HOST_CALL_STALLED 256
#define GPUBPF_HOST_CALL_OWNERS 384
#define GPUBPF_HOST_CALL_WORDS(slots) ((8ul * (slots) + 127) & ~127ul) /* bytes of one word per slot */
#define GPUBPF_HOST_CALL_REQUESTS(slots) (GPUBPF_HOST_CALL_OWNERS + GPUBPF_HOST_CALL_WORDS(slots))
#define GPUBPF_HOST_CALL_ANSWERS(slots) (GPUBPF_HOST_CALL_REQUESTS(slots) + GPUBPF_HOST_CALL_WORDS(slots))
#define GPUBPF_HOST_CALL_END(slots) (GPUBPF_HOST_CALL_ANSWERS(slots) + GPUBPF_HOST_CALL_WORDS(slots))

/* States of a slot, in the two lowest bits of its word. */
#define GPUBPF_HOST_CALL_FREE 0
#define GPUBPF_HOST_CALL_BUSY 1
#define GPUBPF_HOST_CALL_ABANDONED 2
#define GPUBPF_HOST_CALL_STATE 3

/* A call: the slot, the request's sequence number plus 2^32 (0: the call has no slot yet), and the wait. */
struct gpubpf_host_wait {
	u64 map, number, start, limit;
	u32 slot, turns;
};

GPUBPF_FN void gpubpf_host_call_begin(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE struct gpubpf_host_wait *c)
{
	c->map = env->arena + ctl;
	c->number = 0;
	c->start = gpubpf_helper_ktime_get_ns(env);
	c->limit = gpubpf_load_system_u64(c->map + GPUBPF_HOST_CALL_LIMIT);
	c->slot = (gpubpf_sm() * 41 + (u32)gpubpf_global_id_at(0) / GPUBPF_HOST_CALL_LANES + gpubpf_lane() * 17 +
		   gpubpf_warp() * 7) %
		  max_entries;
	c->turns = 0;
}

/* Returns true if the call may wait longer. A clock that does not advance ends the wait after a number of iterations. */
GPUBPF_FN u32 gpubpf_host_call_may_wait(GPUBPF_ENV, GPUBPF_PRIVATE struct gpubpf_host_wait *c)
{
	u64 passed = gpubpf_helper_ktime_get_ns(env) - c->start;

	gpubpf_rest(c->turns++);
	return (s64)passed < (s64)c->limit && (passed || c->turns < GPUBPF_MAX_WAIT_TURNS);
}

GPUBPF_FN u32 gpubpf_host_call_is_stalled(GPUBPF_PRIVATE const struct gpubpf_host_wait *c)
{
	return gpubpf_load_system_u64(c->map + GPUBPF_HOST_CALL_STALLED) ==
	       gpubpf_load_system_u64(c->map + GPUBPF_HOST_CALL_BEAT) + 1;
}

GPUBPF_FN u64 gpubpf_host_call_owner(GPUBPF_PRIVATE const struct gpubpf_host_wait *c)
{
	return c->map + GPUBPF_HOST_CALL_OWNERS + 8ul * c->slot;
}

GPUBPF_FN u32 gpubpf_host_call_is_answered(GPUBPF_PRIVATE const struct gpubpf_host_wait *c, u32 slots, u64 number)
{
	return (u32)gpubpf_load_system_u64(c->map + GPUBPF_HOST_CALL_ANSWERS(slots) + 8ul * c->slot) == (u32)number;
}

/* Try to claim the slot. Returns true if the call now has it; otherwise the next call of the function tries the next one. */
GPUBPF_FN u32 gpubpf_host_call_claim(GPUBPF_PRIVATE struct gpubpf_host_wait *c, u32 slots)
{
	u64 owner = gpubpf_host_call_owner(c), old = gpubpf_rmw_xchg_u64(owner, GPUBPF_HOST_CALL_BUSY);
	u64 state = old & GPUBPF_HOST_CALL_STATE;

	if (state == GPUBPF_HOST_CALL_FREE ||
	    (state == GPUBPF_HOST_CALL_ABANDONED && gpubpf_host_call_is_answered(c, slots, old >> 2))) {
		c->number = ((old >> 2) + 1) % (1ul << 32) + (1ul << 32);
		return 1;
	}
	if (state == GPUBPF_HOST_CALL_ABANDONED)
		gpubpf_store_release_u64(owner, old);
	c->slot = c->slot + 1 < slots ? c->slot + 1 : 0;
	return 0;
}

GPUBPF_FN void gpubpf_host_call_release(GPUBPF_PRIVATE const struct gpubpf_host_wait *c, u64 state)
{
	gpubpf_store_release_u64(gpubpf_host_call_owner(c), (u64)(u32)c->number << 2 | state);
}

GPUBPF_FN void gpubpf_host_call_post(GPUBPF_PRIVATE const struct gpubpf_host_wait *c, u32 slots, u32 lanes)
{
	gpubpf_fence_system();
	gpubpf_store_system_u64(c->map + GPUBPF_HOST_CALL_REQUESTS(slots) + 8ul * c->slot,
				(u64)(u32)c->number << 32 | lanes);
}

/* End a call that waited for the limit, or that would wait for a host that does not answer. Returns the error. */
GPUBPF_FN s64 gpubpf_host_call_give_up(GPUBPF_PRIVATE const struct gpubpf_host_wait *c)
{
	if (!c->number && !gpubpf_host_call_is_stalled(c)) {
		gpubpf_count(c->map);
		return -GPUBPF_EBUSY;
	}
	gpubpf_count(c->map + 8);
	if (c->number) {
		gpubpf_store_system_u64(c->map + GPUBPF_HOST_CALL_STALLED,
					gpubpf_load_system_u64(c->map + GPUBPF_HOST_CALL_BEAT) + 1);
		gpubpf_host_call_release(c, GPUBPF_HOST_CALL_ABANDONED);
	}
	return -GPUBPF_ETIMEDOUT;
}

GPUBPF_FN void gpubpf_host_call_put(u64 to, GPUBPF_PRIVATE const u8 *from, u32 size)
{
	u32 i;

	GPUBPF_UNROLL
	for (i = 0; i < size; i += 8)
		gpubpf_store_system_u64(to + i, gpubpf_word(from + i, size - i));
}

GPUBPF_FN void gpubpf_host_call_get(GPUBPF_PRIVATE u8 *to, u64 from, u32 size)
{
	u32 i;

	GPUBPF_UNROLL
	for (i = 0; i < size; i += 8)
		gpubpf_set_word(to + i, gpubpf_load_system_u64(from + i), size - i);
}

GPUBPF_FN u64 gpubpf_host_call_lane_at(GPUBPF_ENV, GPUBPF_MAP_ARGS, u32 slot, u32 lane)
{
	return env->arena + data + slot * copy_stride + lane * stride;
}

#ifdef GPUBPF_HAS_WARP
/* The first lane of a call: claim a slot. Returns 0 or an error. */
GPUBPF_FN s64 gpubpf_host_call_open(GPUBPF_ENV, GPUBPF_PRIVATE struct gpubpf_host_wait *c, u32 slots)
{
	GPUBPF_NOUNROLL
	while (!gpubpf_host_call_is_stalled(c) && gpubpf_host_call_may_wait(env, c))
		if (gpubpf_host_call_claim(c, slots))
			return 0;
	return gpubpf_host_call_give_up(c);
}

/* The first lane of a call: post the request and wait for the answer. Returns 0 or an error. */
GPUBPF_FN s64 gpubpf_host_call_await(GPUBPF_ENV, GPUBPF_PRIVATE struct gpubpf_host_wait *c, u32 slots, u32 lanes)
{
	gpubpf_host_call_post(c, slots, lanes);
	GPUBPF_NOUNROLL
	while (gpubpf_host_call_may_wait(env, c))
		if (gpubpf_host_call_is_answered(c, slots, c->number)) {
			gpubpf_fence_system();
			return 0;
		}
	return gpubpf_host_call_give_up(c);
}

/* One request for all active lanes that call through this map. */
GPUBPF_FN s64 gpubpf_host_call_exchange(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *in, GPUBPF_PRIVATE u8 *out)
{
	u32 lanes = gpubpf_warp_with(env->arena + ctl, map_flags), first = gpubpf_warp_first(lanes), lane = gpubpf_lane();
	struct gpubpf_host_wait c;
	s64 err = 0, ret = 0;
	u64 at;

	gpubpf_host_call_begin(env, GPUBPF_MAP_PASS, &c);
	if (lane == first)
		err = gpubpf_host_call_open(env, &c, max_entries);
	err = (s64)gpubpf_warp_from(lanes, (u64)err, first);
	at = gpubpf_host_call_lane_at(env, GPUBPF_MAP_PASS, (u32)gpubpf_warp_from(lanes, c.slot, first), lane);
	if (err)
		return err;
	gpubpf_host_call_put(at, in, key_size);
	gpubpf_warp_sync(lanes);
	if (lane == first)
		err = gpubpf_host_call_await(env, &c, max_entries, lanes);
	err = (s64)gpubpf_warp_from(lanes, (u64)err, first);
	gpubpf_warp_sync(lanes);
	if (err)
		return err;
	ret = (s64)gpubpf_load_system_u64(at + GPUBPF_ROUND8(key_size));
	gpubpf_host_call_get(out, at + GPUBPF_ROUND8(key_size) + 8, value_size);
	gpubpf_warp_sync(lanes);
	if (lane == first)
		gpubpf_host_call_release(&c, GPUBPF_HOST_CALL_FREE);
	return ret;
}
#else
/*
 * Ends a call, and returns true. The result is read from memory, so that no compiler knows it and moves the release of
 * the slot after the loop (as for gpubpf_queue_done()).
 */
GPUBPF_FN u32 gpubpf_host_call_done(GPUBPF_ENV, GPUBPF_PRIVATE const struct gpubpf_host_wait *c)
{
	gpubpf_host_call_release(c, GPUBPF_HOST_CALL_FREE);
	return gpubpf_load_u32(env->arena + GPUBPF_ARENA_IS_VERSION) != 0;
}

/* One request for this lane. */
GPUBPF_FN s64 gpubpf_host_call_exchange(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *in, GPUBPF_PRIVATE u8 *out)
{
	struct gpubpf_host_wait c;
	u32 done = 0;
	s64 ret = 0;
	u64 at;

	gpubpf_host_call_begin(env, GPUBPF_MAP_PASS, &c);
	GPUBPF_NOUNROLL
	while (!done && (c.number || !gpubpf_host_call_is_stalled(&c)) && gpubpf_host_call_may_wait(env, &c)) {
		at = gpubpf_host_call_lane_at(env, GPUBPF_MAP_PASS, c.slot, 0);
		if (!c.number) {
			if (gpubpf_host_call_claim(&c, max_entries)) {
				gpubpf_host_call_put(at, in, key_size);
				gpubpf_host_call_post(&c, max_entries, 1);
			}
		} else if (gpubpf_host_call_is_answered(&c, max_entries, c.number)) {
			gpubpf_fence_system();
			ret = (s64)gpubpf_load_system_u64(at + GPUBPF_ROUND8(key_size));
			gpubpf_host_call_get(out, at + GPUBPF_ROUND8(key_size) + 8, value_size);
			done = gpubpf_host_call_done(env, &c);
		}
	}
	return done ? ret : gpubpf_host_call_give_up(&c);
}
#endif

/* Helper 537. */
GPUBPF_FN s64 gpubpf_host_call_run(GPUBPF_ENV, GPUBPF_MAP_ARGS, GPUBPF_PRIVATE const u8 *in, GPUBPF_PRIVATE u8 *out)
{
	gpubpf_clear(out, value_size);
	if (!gpubpf_load_system_u64(env->arena + ctl + GPUBPF_HOST_CALL_SERVED))
		return -GPUBPF_ENOSYS;
	return gpubpf_host_call_exchange(env, GPUBPF_MAP_PASS, in, out);
}

#endif
