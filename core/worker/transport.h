/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport of jobs and results: one packet with the session protocol's header, a small payload (u32 time-out in
 * ms), and one descriptor, a memfd with the encoded job or result. It is sealed against writing and shrinking, so that
 * checked data cannot change during use.
 */
#ifndef GPUBPF_WORKER_TRANSPORT_H
#define GPUBPF_WORKER_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#define GPUBPF_JOB_ANSWER 0x8000 /* set in the type of a result */
#define GPUBPF_JOB_IMAGE 0x4000  /* type of a packet with the image for the following jobs, until the next such packet;
				  * it has no answer */
#define GPUBPF_JOB_MAX (1ull << 30) /* bytes of an encoded job or result */

struct gpubpf_job_packet {
	uint16_t type; /* enum gpubpf_job_kind, with GPUBPF_JOB_ANSWER set in a result; or GPUBPF_JOB_IMAGE */
	uint32_t seq;
	uint32_t timeout_ms;
	const void *data; /* mapped; gpubpf_job_packet_finish() unmaps */
	size_t size;
};

/* Sends the packet's data. 0 or -errno; -EPIPE if the peer is gone. */
int gpubpf_job_packet_send(int fd, const struct gpubpf_job_packet *packet);
/*
 * Receives a packet; waits at most timeout_ms, or without limit if it is negative. 1: received; 0: the peer closed the
 * socket; or -errno: -ETIMEDOUT, -EBADMSG if the packet breaks a rule.
 */
int gpubpf_job_packet_recv(int fd, int64_t timeout_ms, struct gpubpf_job_packet *packet);
void gpubpf_job_packet_finish(struct gpubpf_job_packet *packet);

#endif
