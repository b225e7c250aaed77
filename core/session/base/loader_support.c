/* SPDX-License-Identifier: Apache-2.0 */
#include "loader_support.h"

#include <errno.h>

#include "core/session/private.h"

int gpubpf_support_event(struct gpubpf_session *s, enum gpubpf_support_event event)
{
	return s->support ? s->support->on_event(s, event) : 0;
}

int gpubpf_support_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_packet *msg)
{
	return s->support ? s->support->answer(s, peer, msg) : -EPROTO;
}

uint64_t gpubpf_support_turn(struct gpubpf_session *s, bool timer, bool *mirrors)
{
	return s->support ? s->support->turn(s, timer, mirrors) : 0;
}

void gpubpf_support_synchronize(struct gpubpf_session *s, enum gpubpf_support_sync what)
{
	if (s->support)
		s->support->synchronize(s, what);
}

int gpubpf_support_pin(struct gpubpf_session *s, uint32_t what, const char *map, char *const *words, uint32_t nwords)
{
	return s->support ? s->support->pin(s, what, map, words, nwords) : -EOPNOTSUPP;
}
