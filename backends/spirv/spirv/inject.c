/* SPDX-License-Identifier: Apache-2.0 */
/* The two pieces of the twins of programs with IL. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"
#include "core/worker/job.h"
#include "backends/spirv/common/options.h"
#include "target.h"
#include "spv.h"

struct plan {
	const struct gpubpf_lower_job *job;
	struct gpubpf_spv_wrap *wraps;
	uint32_t nwraps;
	struct gpubpf_twin_image out;
};

static int refuse(struct plan *plan, uint32_t site, const char *reason)
{
	struct gpubpf_twin_refusal *r = &plan->out.refused[plan->out.nrefused++];

	r->site = site;
	snprintf(r->reason, sizeof(r->reason), "%.239s", reason);
	return 0;
}

static int plan_site(struct plan *plan, const struct gpubpf_spv_image *p, uint32_t site)
{
	const struct gpubpf_site_desc *desc = &plan->job->sites[site];
	const struct gpubpf_spv_kernel *k = p->kernels;
	struct gpubpf_inserting at = { .job = plan->job, .kernel = desc->kernel };
	struct gpubpf_spv_wrap *w = plan->wraps;
	struct gpubpf_diag why;

	while (k < p->kernels + p->nkernels && strcmp(k->info.name, desc->kernel) != 0)
		k++;
	if (k == p->kernels + p->nkernels)
		return refuse(plan, site, "the module has no such kernel");
	if (gpubpf_spv_reason(&k->info, plan->job->caps)[0])
		return refuse(plan, site, gpubpf_spv_reason(&k->info, plan->job->caps));
	while (w < plan->wraps + plan->nwraps && w->kernel != k)
		w++;
	if (w < plan->wraps + plan->nwraps)
		return 0;
	*w = (struct gpubpf_spv_wrap){ k, gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0),
				       gpubpf_site_at(&at, GPUBPF_SITE_EXIT, "", 0) };
	gpubpf_diag_init(&why);
	if (gpubpf_all_inserted(&at, &why) < 0)
		return refuse(plan, site, why.what);
	plan->nwraps += at.met > 0;
	return 0;
}

static int make_plan(struct plan *plan, struct gpubpf_spv_image *p)
{
	uint32_t n = plan->job->nsites;

	plan->wraps = gpubpf_pool_alloc(&p->pool, n, sizeof(*plan->wraps));
	plan->out.refused = calloc(n + 1, sizeof(*plan->out.refused));
	plan->out.twins = calloc(n + 1, sizeof(*plan->out.twins));
	if (!plan->wraps || !plan->out.refused || !plan->out.twins)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		plan_site(plan, p, i);
	for (uint32_t i = 0; i < plan->nwraps; i++) {
		const struct gpubpf_spv_wrap *w = &plan->wraps[i];

		plan->out.twins[plan->out.ntwins++] = w->entry < w->exit ? w->entry : w->exit;
	}
	return 0;
}

/* The twin module in its part's place, each part with the program's own options, as a container. */
static int write_module(struct plan *plan, struct gpubpf_spv_image *p, const struct gpubpf_image *image,
			struct gpubpf_diag *diag)
{
	struct gpubpf_cl_parts parts = p->parts;
	struct gpubpf_blob module;
	bool complete;
	int err;

	parts.part = gpubpf_pool_alloc(&p->pool, parts.nparts, sizeof(*parts.part));
	parts.link_options = gpubpf_cl_twin_options(p->parts.link_options, image->cwd, &p->pool);
	complete = parts.part && parts.link_options;
	for (uint32_t i = 0; complete && i < parts.nparts; i++) {
		parts.part[i] = p->parts.part[i];
		parts.part[i].options = gpubpf_cl_twin_options(p->parts.part[i].options, image->cwd, &p->pool);
		complete = parts.part[i].options != NULL;
	}
	if (!complete)
		return -ENOMEM;
	err = gpubpf_spv_inject(&p->module, plan->job, plan->wraps, plan->nwraps, &module, diag);
	if (err < 0)
		return err;
	parts.part[p->part].data = module.data;
	parts.part[p->part].size = module.size;
	err = gpubpf_cl_parts_write(&parts, &plan->out.piece[0].blob);
	free(module.data);
	plan->out.piece[0].kind = GPUBPF_IMAGE_OPENCL_PARTS;
	plan->out.piece[0].options = "";
	return err;
}

static int write_pieces(struct plan *plan, struct gpubpf_spv_image *p, const struct gpubpf_image *image,
			const struct gpubpf_target_opts *opts, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_piece *probe = &plan->out.piece[1];
	int err = write_module(plan, p, image, diag);

	if (err < 0)
		return err;
	plan->out.npieces = 1;
	err = gpubpf_target_spirv.emit(plan->job, opts, &probe->blob, diag);
	probe->kind = GPUBPF_IMAGE_SPIRV;
	probe->options = "";
	plan->out.npieces += err == 0;
	return err;
}

int gpubpf_spirv_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
			const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out,
			struct gpubpf_diag *diag)
{
	struct plan plan = { .job = job };
	struct gpubpf_spv_image p = { 0 };
	int err = gpubpf_spv_image_read(&p, image, diag);

	if (err == 0)
		err = make_plan(&plan, &p);
	if (err == 0 && plan.nwraps)
		err = write_pieces(&plan, &p, image, opts, diag);
	gpubpf_spv_image_finish(&p);
	if (err < 0) {
		gpubpf_twin_image_finish(&plan.out);
		return err;
	}
	*out = plan.out;
	return 0;
}
