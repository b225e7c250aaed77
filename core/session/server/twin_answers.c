/* SPDX-License-Identifier: Apache-2.0 */
/* Sends the answers to agents' requests for twins, in the event loop. */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/session/twins/build_pool.h"

static void write_twin(struct gpubpf_writer *w, const struct gpubpf_twin *twin)
{
	gpubpf_put_u32(w, twin->kind);
	gpubpf_put_str(w, twin->options);
	gpubpf_put_u32(w, twin->reason[0] ? 0 : twin->nkernels);
	for (uint32_t i = 0; i < twin->nkernels && !twin->reason[0]; i++) {
		const struct gpubpf_twin_kernel *k = &twin->kernels[i];

		gpubpf_put_str(w, k->name);
		gpubpf_put_u64(w, k->id);
		gpubpf_put_str(w, k->twin);
		gpubpf_put_u32(w, k->flags);
		gpubpf_put_u32(w, k->nparams);
		gpubpf_put_str(w, k->reason);
	}
	gpubpf_put_str(w, twin->reason);
	gpubpf_put_u64(w, twin->lower_ns + twin->build_ns);
}

static void write_refusal(struct gpubpf_writer *w, const char *reason)
{
	gpubpf_writer_finish(w);
	*w = (struct gpubpf_writer){ 0 };
	gpubpf_put_u32(w, GPUBPF_IMAGE_NONE);
	gpubpf_put_str(w, "");
	gpubpf_put_u32(w, 0);
	gpubpf_put_str(w, reason);
	gpubpf_put_u64(w, 0);
}

#define MAX_RETAINED_BYTES (64u << 20) /* maximum bytes of images that the session stores */

/*
 * Returns true if the session can store the image, so that the peer need not send it again. The image must not include
 * files, and must fit into the limit.
 */
static bool can_retain(const struct gpubpf_session *s, const struct gpubpf_twin_req *req)
{
	return gpubpf_image_is_self_contained(req) &&
	       req->copy->image.size <= MAX_RETAINED_BYTES - s->server->retained_bytes;
}

/* Store the image, or only its digest, under the identity that the peer uses for it. */
static void remember_image(struct gpubpf_session *s, struct gpubpf_peer *peer, const struct gpubpf_twin_req *req)
{
	struct gpubpf_known_image *grown;

	if (!req->identity || !req->copy || gpubpf_peer_known(peer, req->identity) || peer->nknown == GPUBPF_MAX_KNOWN)
		return;
	grown = realloc(peer->known, (peer->nknown + 1) * sizeof(*grown));
	if (!grown)
		return;
	peer->known = grown;
	grown += peer->nknown++;
	grown->identity = req->identity;
	memcpy(grown->digest, req->digest, sizeof(grown->digest));
	grown->copy = can_retain(s, req) ? gpubpf_image_copy_get(req->copy) : NULL;
	s->server->retained_bytes += grown->copy ? req->copy->image.size : 0;
}

/*
 * Returns a memfd with the twin's image, or -errno. If the twin has machine code, a NUL and the machine code follow the
 * image.
 */
static int open_image(const struct gpubpf_twin *twin)
{
	size_t size = twin->size + 1 + twin->code.size;
	char *both;
	int fd;

	if (!twin->code.size)
		return gpubpf_memfd_image("gpubpf-twin", twin->image, twin->size);
	both = malloc(size);
	if (!both)
		return -ENOMEM;
	memcpy(both, twin->image, twin->size);
	both[twin->size] = 0;
	memcpy(both + twin->size + 1, twin->code.data, twin->code.size);
	fd = gpubpf_memfd_image("gpubpf-twin", both, size);
	free(both);
	return fd;
}

/*
 * Send the answer to the peer. The twin's image is in a memfd that exists only until it is sent. To keep the
 * descriptors of all twins would exceed the limit on open files.
 */
static void send_answer(struct gpubpf_session *s, struct gpubpf_twin_req *req)
{
	const struct gpubpf_twin *twin = req->twin;
	struct gpubpf_peer *peer = gpubpf_peer_find(s, req->peer);
	bool has_image = twin && twin->image;
	const struct gpubpf_known_image *known;
	struct gpubpf_writer w = { 0 };
	int fd = -1;

	if (!peer)
		return;
	remember_image(s, peer, req);
	peer->nrequests--;
	if (has_image)
		fd = open_image(twin);
	if (twin)
		write_twin(&w, twin);
	if (!twin || (has_image && fd < 0))
		write_refusal(&w, fd == -EMFILE ? "gpubpf has too many open files; raise the limit (ulimit -n)" :
						  "out of memory");
	else if (w.size >= GPUBPF_MSG_MAX)
		write_refusal(&w, "the application requests too many kernels at once");
	known = gpubpf_peer_known(peer, req->identity);
	gpubpf_put_u8(&w, req->identity && known && known->copy);
	gpubpf_put_u64(&w, fd >= 0 ? twin->code.size : 0);
	gpubpf_peer_send(peer, GPUBPF_MSG_TWIN_DONE, req->seq, &w, &fd, fd >= 0);
	if (fd >= 0)
		close(fd);
}

int gpubpf_twins_answer(struct gpubpf_session *s)
{
	struct gpubpf_twin_req *done, *next;
	int n = 0;

	for (done = gpubpf_twins_collect(s); done; done = next, n++) {
		next = done->next;
		if (!done->ahead) {
			gpubpf_twin_account(s, done);
			send_answer(s, done);
		}
		gpubpf_builders_finish(s, done);
	}
	return n;
}
