/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the list of peers (connected processes) and the list of their devices for reports, and sends messages to peers.
 */
#include "core/session/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct session_peers {
	struct gpubpf_peer *first;
	uint64_t next_id;
	uint32_t n, processes, devices;      /* processes, devices: counted since the session started */
	struct gpubpf_listed_device *listed; /* [nlisted] */
	uint32_t nlisted;
};

int gpubpf_peers_create(struct gpubpf_session *s)
{
	s->peers = calloc(1, sizeof(*s->peers));
	if (!s->peers)
		return -ENOMEM;
	s->peers->next_id = GPUBPF_FIRST_PEER;
	return 0;
}

void gpubpf_peers_destroy(struct gpubpf_session *s)
{
	if (s->peers)
		free(s->peers->listed);
	free(s->peers);
	s->peers = NULL;
}

struct gpubpf_peer *gpubpf_peers_add(struct gpubpf_session *s, int sock, uint32_t pid)
{
	struct gpubpf_peer *peer = s->peers->n < GPUBPF_MAX_PEERS ? calloc(1, sizeof(*peer)) : NULL;

	if (!peer)
		return NULL;
	peer->id = s->peers->next_id++;
	peer->sock = sock;
	peer->pid = pid;
	peer->next = s->peers->first;
	s->peers->first = peer;
	s->peers->n++;
	return peer;
}

void gpubpf_peers_remove(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	struct gpubpf_peer **at = &s->peers->first;

	while (*at != peer)
		at = &(*at)->next;
	*at = peer->next;
	s->peers->n--;
}

struct gpubpf_peer *gpubpf_peers_first(const struct gpubpf_session *s)
{
	return s->peers->first;
}

uint32_t gpubpf_peers_count(const struct gpubpf_session *s)
{
	return s->peers->n;
}

uint32_t gpubpf_session__processes(const struct gpubpf_session *s)
{
	return s->peers->processes;
}

uint32_t gpubpf_session__devices(const struct gpubpf_session *s)
{
	return s->peers->devices;
}

void gpubpf_peers_add_process(struct gpubpf_session *s, struct gpubpf_peer *peer)
{
	peer->process = s->peers->processes++;
}

void gpubpf_peers_list_device(struct gpubpf_session *s, const struct gpubpf_peer *peer,
			      const struct gpubpf_device_caps *caps)
{
	struct session_peers *p = s->peers;
	struct gpubpf_listed_device *d, *grown;

	p->devices++;
	for (d = p->listed; d < p->listed + p->nlisted; d++)
		if (d->process == peer->process && d->ordinal == caps->ordinal && !strcmp(d->backend, caps->backend))
			return;
	if (p->nlisted == GPUBPF_MAX_LISTED)
		return;
	grown = realloc(p->listed, (p->nlisted + 1) * sizeof(*grown));
	if (!grown)
		return;
	p->listed = grown;
	d = &grown[p->nlisted++];
	*d = (struct gpubpf_listed_device){ .process = peer->process, .ordinal = caps->ordinal, .pid = peer->pid };
	memcpy(d->backend, caps->backend, sizeof(d->backend));
	memcpy(d->name, caps->name, sizeof(d->name));
	memcpy(d->program, peer->exe, sizeof(d->program));
}

const struct gpubpf_listed_device *gpubpf_session_listed_device(const struct gpubpf_session *s, uint32_t i)
{
	return i < s->peers->nlisted ? &s->peers->listed[i] : NULL;
}

struct gpubpf_peer *gpubpf_peer_find(struct gpubpf_session *s, uint64_t id)
{
	struct gpubpf_peer *peer = s->peers->first;

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

/*
 * Sends without blocking, because a peer must not stop the session. If the send fails, for example because the peer
 * does not read its messages, the connection ends.
 */
int gpubpf_peer_send(struct gpubpf_peer *peer, uint16_t type, uint32_t seq, struct gpubpf_writer *w, const int *fds,
		     uint32_t nfds)
{
	int err = gpubpf_msg_send(peer->sock, MSG_DONTWAIT, type, seq, w, fds, nfds);

	if (err < 0)
		shutdown(peer->sock, SHUT_RDWR);
	gpubpf_writer_finish(w);
	return err;
}
