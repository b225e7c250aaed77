/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores complete twins on disk, in the folder of the workers' results. Implemented in core/session/twins/twin_store.c.
 */
#ifndef GPUBPF_CORE_SESSION_TWIN_STORE_H
#define GPUBPF_CORE_SESSION_TWIN_STORE_H

#include "build_pool.h"

/*
 * Compute the key of the request's twin. The image must have been read. Returns false if such a twin must not be
 * stored.
 */
bool gpubpf_twin_store_key(const struct gpubpf_session *s, const struct gpubpf_twin_req *req, uint8_t key[32]);
/*
 * Fill the empty *twin from the file. Returns false, with *twin still empty, if there is no valid file, or if a file
 * that the source includes has changed.
 */
bool gpubpf_twin_store_get(const struct gpubpf_session *s, const uint8_t key[32], const struct gpubpf_twin_req *req,
			   struct gpubpf_twin *twin);
void gpubpf_twin_store_put(const struct gpubpf_session *s, const uint8_t key[32], const struct gpubpf_twin *twin);
/* Record in *twin the files that the source includes. The pieces of the twin list them. */
void gpubpf_twin_store_set_includes(struct gpubpf_twin *twin, const struct gpubpf_twin_req *req,
				    const struct gpubpf_twin_image *pieces);
void gpubpf_twin_store_clear_includes(struct gpubpf_twin *twin);

#endif
