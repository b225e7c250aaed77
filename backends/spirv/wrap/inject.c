/* SPDX-License-Identifier: Apache-2.0 */
/* The target wrap's twins: which wrappers each part gets, and the container of all parts with them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/common/options.h"
#include "core/diag.h"
#include "image.h"
#include "write.h"

/* the wrappers of all parts while they are being chosen */
struct plan {
	const struct gpubpf_lower_job *job;
	struct gpubpf_wrap **wraps;     /* [part] */
	uint32_t *nwraps;
	struct gpubpf_twin_image *out;
};

static int refuse(struct plan *plan, uint32_t site, const char *reason)
{
	struct gpubpf_twin_image *out = plan->out;
	struct gpubpf_twin_refusal *list = realloc(out->refused, (out->nrefused + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	out->refused = list;
	list[out->nrefused].site = site;
	snprintf(list[out->nrefused++].reason, sizeof(list->reason), "%.239s", reason);
	return 0;
}

static int plan_kernel(struct plan *plan, uint32_t part, const struct gpubpf_cl_kernel *kernel, uint32_t site)
{
	struct gpubpf_inserting at = { .job = plan->job, .kernel = kernel->info.name };
	struct gpubpf_wrap *w = plan->wraps[part];
	uint32_t n = plan->nwraps[part];
	struct gpubpf_diag why;

	if (site >= GPUBPF_WRAP_SITES)
		return refuse(plan, site, "the session probes too many places at once");
	while (n && w->kernel != kernel)
		w++, n--;
	if (n)
		return 0;
	*w = (struct gpubpf_wrap){ kernel, gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0),
				   gpubpf_site_at(&at, GPUBPF_SITE_EXIT, "", 0) };
	gpubpf_diag_init(&why);
	if (gpubpf_all_inserted(&at, &why) < 0)
		return refuse(plan, site, why.what);
	plan->nwraps[part] += at.met > 0;
	return 0;
}

static int plan_site(struct plan *plan, const struct wrap_image *p, uint32_t site)
{
	const char *name = plan->job->sites[site].kernel;

	for (uint32_t i = 0; i < p->parts.nparts; i++) {
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++) {
			const struct gpubpf_cl_kernel *kernel = &p->unit[i].kernel[k];
			const char *reason;

			if (strcmp(kernel->info.name, name) != 0)
				continue;
			reason = wrap_reason(p, kernel, plan->job->caps);
			return reason[0] ? refuse(plan, site, reason) : plan_kernel(plan, i, kernel, site);
		}
	}
	return refuse(plan, site, "its definition was not found in the program's source");
}

static int compare_place(const void *a, const void *b)
{
	const struct gpubpf_wrap *x = a, *y = b;

	if (x->kernel->at != y->kernel->at)
		return x->kernel->at < y->kernel->at ? -1 : 1;
	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

static int make_plan(struct plan *plan, struct wrap_image *p)
{
	uint32_t nparts = p->parts.nparts;
	int err = 0;

	plan->wraps = gpubpf_pool_alloc(&p->pool, nparts, sizeof(*plan->wraps));
	plan->nwraps = gpubpf_pool_alloc(&p->pool, nparts, sizeof(*plan->nwraps));
	if (!plan->wraps || !plan->nwraps)
		return -ENOMEM;
	for (uint32_t i = 0; i < nparts; i++) {
		plan->wraps[i] = gpubpf_pool_alloc(&p->pool, plan->job->nsites, sizeof(**plan->wraps));
		if (!plan->wraps[i])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < plan->job->nsites && err == 0; i++)
		err = plan_site(plan, p, i);
	for (uint32_t i = 0; i < nparts; i++)
		if (plan->nwraps[i])
			qsort(plan->wraps[i], plan->nwraps[i], sizeof(**plan->wraps), compare_place);
	return err;
}

static int list_twins(const struct plan *plan, uint32_t nparts)
{
	struct gpubpf_twin_image *out = plan->out;

	out->twins = calloc(plan->job->nsites + 1, sizeof(*out->twins));
	if (!out->twins)
		return -ENOMEM;
	for (uint32_t i = 0; i < nparts; i++) {
		for (uint32_t k = 0; k < plan->nwraps[i]; k++) {
			const struct gpubpf_wrap *w = &plan->wraps[i][k];

			out->twins[out->ntwins++] = w->entry < w->exit ? w->entry : w->exit;
		}
	}
	return 0;
}

/* The container of the wrapped parts; a part that nothing is wrapped in goes as it is. */
static int write_parts(const struct plan *plan, struct wrap_image *p, const char *cwd)
{
	struct gpubpf_cl_parts made = p->parts;
	char **text;
	int err = 0;

	made.part = gpubpf_pool_alloc(&p->pool, made.nparts, sizeof(*made.part));
	text = gpubpf_pool_alloc(&p->pool, made.nparts, sizeof(*text));
	if (!made.part || !text)
		return -ENOMEM;
	for (uint32_t i = 0; i < made.nparts && err == 0; i++) {
		struct gpubpf_cl_part *part = &made.part[i];

		*part = p->parts.part[i];
		part->options = gpubpf_cl_twin_options(part->options, cwd, &p->pool);
		if (!part->options)
			err = -ENOMEM;
		if (err < 0 || part->kind != GPUBPF_IMAGE_OPENCL_C)
			continue;
		err = gpubpf_wrap_write(&p->source[i], &p->unit[i], plan->job, plan->wraps[i], plan->nwraps[i],
					&text[i], &part->size);
		part->data = text[i];
	}
	if (err == 0)
		err = gpubpf_cl_parts_write(&made, &plan->out->piece[0].blob);
	for (uint32_t i = 0; i < made.nparts; i++)
		free(text[i]);
	return err;
}

int wrap_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct plan plan = { .job = job, .out = &made };
	struct wrap_image p = { 0 };
	int err = wrap_image_read(&p, image, job->caps, diag);

	if (err == 0)
		err = make_plan(&plan, &p);
	if (err == 0)
		err = list_twins(&plan, p.parts.nparts);
	if (err == 0 && made.ntwins) {
		err = write_parts(&plan, &p, image->cwd);
		made.piece[0].kind = GPUBPF_IMAGE_OPENCL_PARTS;
		made.piece[0].options = "";
		made.npieces = 1;
	}
	wrap_image_finish(&p);
	if (err < 0) {
		free(made.refused);
		free(made.twins);
		return err;
	}
	*out = made;
	return 0;
}
