/* SPDX-License-Identifier: Apache-2.0 */
/* Look-ups among peers, and messages to them. */
#include "core/session/session.h"

#include <sys/socket.h>

struct gpubpf_peer *gpubpf_peer_find(struct gpubpf_session *s, uint64_t id)
{
	struct gpubpf_peer *peer = s->peers;

	while (peer && peer->id != id)
		peer = peer->next;
	return peer;
}

const struct gpubpf_known_image *gpubpf_peer_known(const struct gpubpf_peer *peer, uint64_t identity)
{
	for (uint32_t i = 0; i < peer->nknown; i++)
		if (peer->known[i].identity == identity)
			return &peer->known[i];
	return NULL;
}

/* Sends without blocking. If the send fails, for example because the peer does not read its answers, the connection
 * ends: a peer must not stop the session. */
int gpubpf_peer_send(struct gpubpf_peer *peer, uint16_t type, uint32_t seq, struct gpubpf_writer *w, const int *fds,
		     uint32_t nfds)
{
	int err = gpubpf_msg_send(peer->sock, MSG_DONTWAIT, type, seq, w, fds, nfds);

	if (err < 0)
		shutdown(peer->sock, SHUT_RDWR);
	gpubpf_writer_finish(w);
	return err;
}
