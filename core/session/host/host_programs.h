/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the attached programs of sections host/ to agents, which run them on the CPU (core/wire/protocol.h, HOST). */
#ifndef GPUBPF_SESSION_HOST_PROGRAMS_H
#define GPUBPF_SESSION_HOST_PROGRAMS_H

#include <stdint.h>

struct gpubpf_packet;
struct gpubpf_peer;
struct gpubpf_reader;
struct gpubpf_session;

/* Call after links were attached or detached. If a link has a program of a section host/, agents request the programs anew. */
void gpubpf_host_programs_publish(struct gpubpf_session *s);
/* Answer an agent's messages HOST and NAME. Return 0 or -errno. */
int gpubpf_host_programs_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq);
int gpubpf_host_name_answer(struct gpubpf_session *s, struct gpubpf_peer *peer, uint32_t seq, struct gpubpf_reader *r);

#endif
