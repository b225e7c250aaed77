/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes snapshots, which show the maps of all devices at one moment. Every agent holds the launches of its twins, waits
 * for running twins, updates its mirrors, and answers HELD. The mirrors are a snapshot if launches were held until all
 * maps were read.
 *
 * An agent holds launches for HOLD_MS after it has received the request. The session counts from the time when it sent
 * the request. This is earlier, so launches are still held when the session's time ends.
 */
#include "private.h"

#include <errno.h>

#define HOLD_MS 2000
#define ANSWER_MS 1500 /* time to wait for the agents' answers, in ms; an agent waits up to HOLD_MS / 2 for kernels */

static const char *const held_reasons[GPUBPF_NHELD] = {
	[GPUBPF_HELD_NOT_YET] = "it did not answer; it may be stopped, or have an agent of another version",
	[GPUBPF_HELD_SHARED] = "its kernels write the maps in the memory that the session reads",
	[GPUBPF_HELD_UNTRACKED] = "one of its graphs or command lists has probed kernels, or its runtime does not "
				  "report when kernels end",
	[GPUBPF_HELD_BUSY] = "its kernels ran for more than a second, or the device did not copy the maps; try again",
};

static bool uses_maps(const struct gpubpf_peer *peer)
{
	for (uint32_t i = 0; i < peer->ndevices; i++)
		if (peer->devices[i].arena >= 0)
			return true;
	return false;
}

bool gpubpf_session_is_live(const struct gpubpf_session *s)
{
	for (const struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next)
		if (uses_maps(peer))
			return true;
	return s->server->rescues;
}

static void send_hold(struct gpubpf_session *s, uint32_t ms)
{
	for (struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next) {
		struct gpubpf_writer w = { 0 };

		if (!uses_maps(peer))
			continue;
		peer->held = GPUBPF_HELD_NOT_YET;
		gpubpf_put_u32(&w, ms);
		gpubpf_peer_send(peer, GPUBPF_MSG_HOLD, 0, &w, NULL, 0);
	}
}

int gpubpf_hold_begin(struct gpubpf_session *s)
{
	if (s->server->hold_start_ns)
		return gpubpf_session_fail(s, -EBUSY, "no snapshot: another query takes one; try again");
	s->server->hold_start_ns = gpubpf_now_ns();
	send_hold(s, HOLD_MS);
	return 0;
}

void gpubpf_hold_end(struct gpubpf_session *s)
{
	s->server->hold_start_ns = 0;
	send_hold(s, 0);
}

int gpubpf_hold_check(struct gpubpf_session *s)
{
	uint64_t spent = gpubpf_now_ns() - s->server->hold_start_ns;
	bool waiting = s->server->rescues;

	for (const struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next) {
		bool silent = uses_maps(peer) && peer->held == GPUBPF_HELD_NOT_YET;

		waiting |= silent;
		if (!uses_maps(peer) || peer->held == GPUBPF_HELD || (silent && spent < ANSWER_MS * 1000000ull))
			continue;
		return gpubpf_session_fail(s, -EBUSY, "no snapshot of %s (pid %u): %s", peer->exe, peer->pid,
					   held_reasons[peer->held]);
	}
	if (spent >= HOLD_MS * 1000000ull)
		return gpubpf_session_fail(
			s, -EBUSY,
			"no snapshot: reading the maps took longer than %u ms, the time for which launches are held",
			HOLD_MS);
	return waiting ? -EAGAIN : 0;
}
