/* SPDX-License-Identifier: Apache-2.0 */
#include "ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"

char *ask_compiler(struct gpubpf_worker *clread, struct gpubpf_worker *build, const struct gpubpf_image *image,
		   const struct gpubpf_device_caps *caps, const struct gpubpf_device_caps *device)
{
	struct gpubpf_twin_image query = { 0 }, made = { 0 };
	char log[256], *answer = NULL;
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	err = gpubpf_worker_query(clread, "wrap", image, caps, &query, &diag);
	if (!err)
		err = gpubpf_worker_build(build, device, &query, &made, log, sizeof(log), &diag);
	if (err < 0 && asprintf(&answer, "!%s", diag.what) < 0)
		abort();
	if (!err) {
		answer = made.piece[0].blob.data;
		made.piece[0].blob.data = NULL;
	}
	gpubpf_twin_image_finish(&query);
	gpubpf_twin_image_finish(&made);
	return answer;
}
