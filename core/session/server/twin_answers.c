/* SPDX-License-Identifier: Apache-2.0 */
/* Answers agents' requests for twins, in the event loop. */
#include "core/session/session.h"

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

/* Can the session keep the image, so that later requests with its identity omit it? It must include no files, and there
 * must be room. */
static bool can_retain(const struct gpubpf_session *s, const struct gpubpf_twin_req *req)
{
	return gpubpf_image_is_self_contained(req) &&
	       req->copy->image.size <= GPUBPF_MAX_RETAINED_BYTES - s->retained_bytes;
}

/* Store the image, or only its digest, under the peer's identity for it. */
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
	s->retained_bytes += grown->copy ? req->copy->image.size : 0;
}

/* Send the answer to the peer. The twin's image is in a memfd that exists only for the answer, because descriptors for
 * all twins would be too many. */
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
		fd = gpubpf_memfd_image("gpubpf-twin", twin->image, twin->size);
	if (twin)
		write_twin(&w, twin);
	if (!twin || (has_image && fd < 0))
		write_refusal(&w, fd == -EMFILE ? "the tool has too many files open; raise the limit (ulimit -n)" :
						  "out of memory");
	else if (w.size >= GPUBPF_MSG_MAX)
		write_refusal(&w, "the program requests too many kernels at once");
	known = gpubpf_peer_known(peer, req->identity);
	gpubpf_put_u8(&w, req->identity && known && known->copy);
	gpubpf_peer_send(peer, GPUBPF_MSG_TWIN_DONE, req->seq, &w, &fd, fd >= 0);
	if (fd >= 0)
		close(fd);
}

int gpubpf_twins_answer(struct gpubpf_session *s)
{
	struct gpubpf_twin_req *done, *next;
	int n = 0;

	for (done = gpubpf_builders_collect(s->builders); done; done = next, n++) {
		next = done->next;
		if (!done->ahead) {
			s->pending--;
			gpubpf_twin_account(s, done);
			send_answer(s, done);
		}
		gpubpf_builders_finish(s, done);
	}
	return n;
}
