/* SPDX-License-Identifier: Apache-2.0 */
#include "probes.h"

#include <errno.h>
#include <stdlib.h>

#include "core/worker/installed.h"
#include "core/worker/job.h"

int assemble(const struct gpubpf_device_caps *caps, const struct gpubpf_blob *ptx, struct gpubpf_twin_image *made,
	     struct gpubpf_diag *diag)
{
	uint32_t behind = 0xffffffff; /* the text goes with no NUL at its end */
	struct gpubpf_twin_image text = { .piece[0] = { .kind = GPUBPF_IMAGE_PTX, .blob = *ptx }, .npieces = 1, .twins = &behind, .ntwins = 1 };
	char path[512], log[4096] = "";
	struct gpubpf_worker_opts how = { .path = path };
	struct gpubpf_worker *worker;
	int err = gpubpf_worker_find("gpubpf-assemble", path, sizeof(path));

	if (!err)
		err = gpubpf_worker_create(&how, &worker);
	if (err < 0)
		return err;
	err = gpubpf_worker_build(worker, caps, &text, made, log, sizeof(log), diag);
	gpubpf_worker_destroy(worker);
	return err;
}

int make_probes(const struct gpubpf_lower_job *job, struct gpubpf_twin_image *probes, struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_worker_opts how = { 0 };
	struct gpubpf_worker *worker;
	struct gpubpf_blob ptx;
	int err = gpubpf_worker_create(&how, &worker);

	if (err < 0)
		return err;
	err = gpubpf_worker_emit(worker, "sass", job, &opts, &ptx, diag);
	gpubpf_worker_destroy(worker);
	if (err < 0)
		return err;
	err = assemble(job->caps, &ptx, probes, diag);
	free(ptx.data);
	return err;
}
