/* SPDX-License-Identifier: Apache-2.0 */
/* Whole twins on disk, beside the workers' results: core/session/twin_store.c. */
#ifndef GPUBPF_CORE_SESSION_TWIN_STORE_H
#define GPUBPF_CORE_SESSION_TWIN_STORE_H

#include "makers.h"

/* What the request's twin is found by, once its image has been read. False: none is kept for it. */
bool gpubpf_twin_store_key(const struct gpubpf_session *s, const struct gpubpf_twin_req *req, uint8_t key[32]);
/* Fill an empty twin. False: it is not there, or is of a source whose files have changed; it is empty then. */
bool gpubpf_twin_store_get(const struct gpubpf_session *s, const uint8_t key[32], const struct gpubpf_twin_req *req,
			   struct gpubpf_twin *twin);
void gpubpf_twin_store_put(const struct gpubpf_session *s, const uint8_t key[32], const struct gpubpf_twin *twin);
/* What the pieces of a twin tell of the files that its source includes. */
void gpubpf_twin_store_note(struct gpubpf_twin *twin, const struct gpubpf_twin_req *req, const struct gpubpf_twin_image *pieces);
void gpubpf_twin_store_forget(struct gpubpf_twin *twin);

#endif
