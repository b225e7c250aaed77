/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots: the maps of all devices at one moment. Every agent holds the launches of its twins, waits for running
 * twins, updates the mirrors, and answers HELD. The mirrors are a snapshot if launches were held until the read was
 * done. An agent holds launches for HOLD_MS from when it receives the request. The session counts from when it sends
 * the request, which is earlier, so its limit is safe.
 */
#include "core/session/session.h"

#include <errno.h>

#define HOLD_MS 2000
#define ANSWER_MS 1500 /* time to wait for answers of agents, which wait up to half of HOLD_MS for kernels */

static const char *const held_reasons[GPUBPF_NHELD] = {
	[GPUBPF_HELD_NOT_YET] = "it did not answer; it may be stopped, or of another version",
	[GPUBPF_HELD_SHARED] = "its kernels write the maps in the memory that is read",
	[GPUBPF_HELD_UNTRACKED] = "one of its graphs or command lists has probed kernels, or its runtime does not "
				  "report when kernels end",
	[GPUBPF_HELD_BUSY] = "its kernels ran for more than a second, or their device did not copy; try again",
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
	for (const struct gpubpf_peer *peer = s->peers; peer; peer = peer->next)
		if (uses_maps(peer))
			return true;
	return s->rescues;
}

static void send_hold(struct gpubpf_session *s, uint32_t ms)
{
	for (struct gpubpf_peer *peer = s->peers; peer; peer = peer->next) {
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
	if (s->hold_start_ns)
		return gpubpf_session_fail(s, -EBUSY, "no snapshot: another is being taken; try again");
	s->hold_start_ns = gpubpf_now_ns();
	send_hold(s, HOLD_MS);
	return 0;
}

void gpubpf_hold_end(struct gpubpf_session *s)
{
	s->hold_start_ns = 0;
	send_hold(s, 0);
}

int gpubpf_hold_check(struct gpubpf_session *s)
{
	uint64_t spent = gpubpf_now_ns() - s->hold_start_ns;
	bool waiting = s->rescues;

	for (const struct gpubpf_peer *peer = s->peers; peer; peer = peer->next) {
		bool silent = uses_maps(peer) && peer->held == GPUBPF_HELD_NOT_YET;

		waiting |= silent;
		if (!uses_maps(peer) || peer->held == GPUBPF_HELD || (silent && spent < ANSWER_MS * 1000000ull))
			continue;
		return gpubpf_session_fail(s, -EBUSY, "no snapshot of %s (pid %u): %s", peer->exe, peer->pid,
					   held_reasons[peer->held]);
	}
	if (spent >= HOLD_MS * 1000000ull)
		return gpubpf_session_fail(s, -EBUSY, "no snapshot: it took longer than launches are held, %u ms", HOLD_MS);
	return waiting ? -EAGAIN : 0;
}
