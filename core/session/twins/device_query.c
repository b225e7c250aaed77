/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes a target's query about an image to the device's own compiler, before the target reads the image.
 *
 * Does: Lets the worker with the device's compiler answer the query that m->target makes from the image. Before:
 * m->target is selected and has not read the image. After: m->image has the compiler's answer, or "!" and the reason
 * why there is no answer. Requires: A route with the stage query.
 */
#include "twin_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/job.h"

/*
 * Store the reason why the compiler did not answer. This is not an error: the target decides whether it can read the
 * image without an answer.
 */
static int set_missing_answer(struct gpubpf_twin_build *m)
{
	const char *why = m->diag.what[0] ? m->diag.what : "it failed";

	m->answer = malloc(strlen(why) + 2);
	if (!m->answer)
		return -ENOMEM;
	sprintf(m->answer, "!%s", why);
	gpubpf_diag_init(&m->diag);
	return 0;
}

static int build_answer(struct gpubpf_twin_build *m, const struct gpubpf_twin_image *query)
{
	struct gpubpf_twin_image made = { 0 };
	char log[256] = "";
	int err = gpubpf_worker_build(m->set->worker[GPUBPF_WORKER_BUILD], &m->req->caps, query, &made, log,
				      sizeof(log), &m->diag);

	if (err == -ECANCELED || err == -ETIMEDOUT || err == -ENOMEM)
		return err;
	if (err < 0)
		return set_missing_answer(m);
	if (made.npieces == 1 && made.piece[0].kind == GPUBPF_IMAGE_OPENCL_QUERY) {
		m->answer = made.piece[0].blob.data; /* a C string, because core/worker/job.c appends a NUL to blobs */
		made.piece[0].blob.data = NULL;
	}
	gpubpf_twin_image_finish(&made);
	return 0;
}

int gpubpf_twin_build_query(struct gpubpf_twin_build *m, uint32_t step)
{
	struct gpubpf_twin_image query = { 0 };
	int err = 0;

	if (!m->answer)
		err = gpubpf_worker_query(gpubpf_twin_build_reader(m), m->target->name, m->image, &m->req->caps, &query,
					  &m->diag);
	if (!err && query.npieces)
		err = build_answer(m, &query);
	gpubpf_twin_image_finish(&query);
	if (!err && m->answer) {
		m->answered = *m->image;
		m->answered.answer = m->answer;
		m->image = &m->answered;
	}
	return err;
}
