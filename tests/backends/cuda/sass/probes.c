/* SPDX-License-Identifier: Apache-2.0 */
#include "probes.h"

#include <errno.h>
#include <stdlib.h>

#include "core/worker/installed.h"
#include "core/worker/job.h"

/* Each of the two workers serves all jobs, because the start of a process takes most of the time of a small job. */
static struct gpubpf_worker *compiling, *assembling;

static void finish(void)
{
	gpubpf_worker_destroy(compiling);
	gpubpf_worker_destroy(assembling);
}

/* Starts the worker unless it runs. program NULL selects the worker of all targets. */
static int begin(struct gpubpf_worker **worker, const char *program)
{
	char path[512];
	struct gpubpf_worker_opts how = { .path = program ? path : NULL };
	int err = *worker || !program ? 0 : gpubpf_worker_find(program, path, sizeof(path));

	if (!err && !compiling && !assembling)
		atexit(finish);
	return err || *worker ? err : gpubpf_worker_create(&how, worker);
}

int assemble(const struct gpubpf_device_caps *caps, const struct gpubpf_blob *ptx, struct gpubpf_twin_image *made,
	     struct gpubpf_diag *diag)
{
	uint32_t behind = 0xffffffff; /* UINT32_MAX: the text has no NUL byte at its end */
	struct gpubpf_twin_image text = { .piece[0] = { .kind = GPUBPF_IMAGE_PTX, .blob = *ptx }, .npieces = 1, .twins = &behind, .ntwins = 1 };
	char log[4096] = "";
	int err = begin(&assembling, "gpubpf-assemble");

	return err < 0 ? err : gpubpf_worker_build(assembling, caps, &text, made, log, sizeof(log), diag);
}

int make_probes(const struct gpubpf_lower_job *job, struct gpubpf_twin_image *probes, struct gpubpf_diag *diag)
{
	struct gpubpf_target_opts opts = { .opt_level = 2 };
	struct gpubpf_blob ptx;
	int err = begin(&compiling, NULL);

	if (!err)
		err = gpubpf_worker_emit(compiling, "sass", job, &opts, &ptx, diag);
	if (err < 0)
		return err;
	err = assemble(job->caps, &ptx, probes, diag);
	free(ptx.data);
	return err;
}
