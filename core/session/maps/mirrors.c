/* SPDX-License-Identifier: Apache-2.0 */
/* Requests mirrors. A mirror is the session's copy of the maps in a device's memory; the agent copies it on request. */
#include "private.h"

#define PULL_WAIT_NS 5000000000ull  /* time to wait for an answer; a PULL is lost if the process's socket is full */

bool gpubpf_session_has_mirrors(const struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->maps->narenas; i++)
		if (!s->maps->arenas[i].shared)
			return true;
	return false;
}

bool gpubpf_peer_is_pulling(const struct gpubpf_peer *peer)
{
	uint64_t now = gpubpf_now_ns();

	for (uint32_t i = 0; i < peer->ndevices; i++)
		if (peer->devices[i].pull_until_ns > now)
			return true;
	return false;
}

void gpubpf_peer_pull_mirrors(struct gpubpf_session *s, struct gpubpf_peer *peer, bool all, bool anew)
{
	uint64_t now = gpubpf_now_ns();

	for (uint32_t i = 0; i < peer->ndevices; i++) {
		struct gpubpf_session_device *dev = &peer->devices[i];
		struct gpubpf_writer w = { 0 };

		if (dev->arena < 0 || s->maps->arenas[dev->arena].shared || (dev->pull_until_ns > now && !anew) ||
		    (!all && dev->caps.bits & GPUBPF_CAP_DRAINS))
			continue;
		gpubpf_put_u32(&w, dev->number);
		gpubpf_put_u32(&w, dev->pulls + 1);
		if (gpubpf_peer_send(peer, GPUBPF_MSG_PULL, 0, &w, NULL, 0) < 0)
			continue;
		dev->pulls++;
		dev->pull_until_ns = now + PULL_WAIT_NS;
	}
}

bool gpubpf_session_is_pulling(const struct gpubpf_session *s)
{
	for (const struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next)
		if (gpubpf_peer_is_pulling(peer))
			return true;
	return false;
}

void gpubpf_session_pull_mirrors(struct gpubpf_session *s)
{
	for (struct gpubpf_peer *peer = gpubpf_peers_first(s); peer; peer = peer->next)
		gpubpf_peer_pull_mirrors(s, peer, true, true);
}
