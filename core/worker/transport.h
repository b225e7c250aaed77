/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends and receives jobs and results. Each is one packet with the header of the session protocol, a small payload (u32
 * time limit in ms) and one descriptor. The descriptor is a memfd that contains the encoded job or result. It is sealed
 * against writing and shrinking, so that checked data cannot change afterwards.
 */
#ifndef GPUBPF_WORKER_TRANSPORT_H
#define GPUBPF_WORKER_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#define GPUBPF_JOB_ANSWER 0x8000 /* bit that is set in the type of a result */
/* type of a packet with an image, which the following jobs use until the next such packet; there is no answer */
#define GPUBPF_JOB_IMAGE 0x4000
#define GPUBPF_JOB_MAX (1ull << 30) /* maximum size of an encoded job or result in bytes */

struct gpubpf_job_packet {
	uint16_t type; /* enum gpubpf_job_kind, with GPUBPF_JOB_ANSWER set in results; or GPUBPF_JOB_IMAGE */
	uint32_t seq;
	uint32_t timeout_ms;
	const void *data; /* received data is mapped, and gpubpf_job_packet_finish() unmaps it */
	size_t size;
};

/* Sends a packet. Returns 0, or -errno: -EPIPE if the peer has closed the socket. */
int gpubpf_job_packet_send(int fd, const struct gpubpf_job_packet *packet);
/*
 * Receives a packet. Waits at most timeout_ms, or without limit if timeout_ms is negative. Returns 1 if a packet was
 * received, 0 if the peer closed the socket, or -errno: -ETIMEDOUT, -EBADMSG if the packet breaks a rule.
 */
int gpubpf_job_packet_recv(int fd, int64_t timeout_ms, struct gpubpf_job_packet *packet);
void gpubpf_job_packet_finish(struct gpubpf_job_packet *packet);

#endif
