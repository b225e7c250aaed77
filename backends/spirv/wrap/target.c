/* SPDX-License-Identifier: Apache-2.0 */
/* The target "wrap" of gpubpf-clread: OpenCL C sources, alone or as parts of a linked program. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"
#include "backends/spirv/common/options.h"
#include "backends/spirv/wire/parts.h"
#include "inject.h"

/* an image being read: its parts, and a unit for each part that is source */
struct program {
	struct gpubpf_pool pool;
	struct gpubpf_cl_parts parts;
	struct gpubpf_cl_part single;
	bool owned;                     /* parts came from a container */
	struct gpubpf_cl_source *source;
	struct gpubpf_cl_unit *unit;
	bool globals;                   /* in any part */
};

static void program_finish(struct program *p)
{
	if (p->owned)
		gpubpf_cl_parts_finish(&p->parts);
	gpubpf_pool_finish(&p->pool);
}

static int open_parts(struct program *p, const struct gpubpf_image *image, struct gpubpf_diag *diag)
{
	const char *options = image->options ? image->options : "";
	int err;

	if (image->kind == GPUBPF_IMAGE_OPENCL_C) {
		p->single = (struct gpubpf_cl_part){ GPUBPF_IMAGE_OPENCL_C, image->data, image->size, options,
						     image->headers, image->nheaders };
		p->parts = (struct gpubpf_cl_parts){ &p->single, 1, options };
		return 0;
	}
	if (image->kind != GPUBPF_IMAGE_OPENCL_PARTS)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "only OpenCL C source can be wrapped, and this image has none");
	err = gpubpf_cl_parts_read(image->data, image->size, &p->parts);
	p->owned = err == 0;
	if (err == -EBADMSG)
		gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC, "the container of a linked program is damaged");
	return err;
}

/* NUL bytes end a source for OpenCL's compilers; so they do here. */
static int read_part(struct program *p, uint32_t i, const struct gpubpf_image *image,
		     const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	const struct gpubpf_cl_part *part = &p->parts.part[i];
	const char *text = gpubpf_pool_strndup(&p->pool, part->data, strnlen(part->data, part->size));

	if (!text)
		return -ENOMEM;
	p->source[i] = (struct gpubpf_cl_source){ text, strlen(text), part->options, image->cwd,
						  part->headers, part->nheaders, image->built_ns };
	return gpubpf_cl_read(&p->source[i], caps, &p->pool, &p->unit[i], diag);
}

static int program_read(struct program *p, const struct gpubpf_image *image,
			const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	int err = open_parts(p, image, diag);

	if (err < 0)
		return err;
	p->source = gpubpf_pool_alloc(&p->pool, p->parts.nparts, sizeof(*p->source));
	p->unit = gpubpf_pool_alloc(&p->pool, p->parts.nparts, sizeof(*p->unit));
	if (!p->source || !p->unit)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->parts.nparts && err == 0; i++) {
		if (p->parts.part[i].kind == GPUBPF_IMAGE_OPENCL_C)
			err = read_part(p, i, image, caps, diag);
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++)
			p->globals |= p->unit[i].kernel[k].info.flags & GPUBPF_KINFO_GLOBALS;
	}
	return err;
}

/* What the unit alone cannot know: the device, and the other parts. */
static const char *reason_of(const struct program *p, const struct gpubpf_cl_kernel *kernel,
			     const struct gpubpf_device_caps *caps)
{
	const struct gpubpf_kernel_info *info = &kernel->info;

	if (info->reason[0])
		return info->reason;
	if (p->globals)
		return "its program has writable program-scope variables, which a twin would not share";
	if (!(caps->bits & GPUBPF_CAP_LINK))
		return "the device cannot link programs (clCompileProgram, clLinkProgram)";
	if ((info->flags & GPUBPF_KINFO_LOCAL) && !kernel->body)
		return "it declares local variables, and a wrapper would have to repeat its body, which a macro or a "
		       "header makes, or which has directives that must not be read twice (#define, #include)";
	return "";
}

static size_t count(const struct program *p, size_t *places, size_t *params)
{
	size_t kernels = 0;

	*places = *params = 0;
	for (uint32_t i = 0; i < p->parts.nparts; i++)
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++, kernels++) {
			*places += p->unit[i].kernel[k].info.nplaces;
			*params += p->unit[i].kernel[k].info.nparams;
		}
	return kernels;
}

static int list_kernels(const struct program *p, const struct gpubpf_device_caps *caps,
			struct gpubpf_kernel_info **out, uint32_t *nout)
{
	size_t nplaces, nparams, n = count(p, &nplaces, &nparams);
	struct gpubpf_kernel_info *list = calloc(1, n * sizeof(*list) + nplaces * sizeof(struct gpubpf_place) +
						    nparams * sizeof(struct gpubpf_param) + 1);
	struct gpubpf_place *places = (struct gpubpf_place *)(list + n);
	struct gpubpf_param *params = (struct gpubpf_param *)(places + nplaces);
	uint32_t at = 0;

	if (!list)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->parts.nparts; i++) {
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++) {
			const struct gpubpf_kernel_info *info = &p->unit[i].kernel[k].info;
			struct gpubpf_kernel_info *to = &list[at++];

			*to = *info;
			snprintf(to->reason, sizeof(to->reason), "%s",
				 reason_of(p, &p->unit[i].kernel[k], caps));
			to->places = memcpy(places, info->places, info->nplaces * sizeof(*places));
			places += info->nplaces;
			to->params = memcpy(params, info->params, info->nparams * sizeof(*params));
			params += info->nparams;
		}
	}
	*out = list;
	*nout = n;
	return 0;
}

static int wrap_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
			struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct program p = { 0 };
	int err = program_read(&p, image, caps, diag);

	if (err == 0)
		err = list_kernels(&p, caps, kernels, nkernels);
	program_finish(&p);
	return err;
}

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

static int plan_site(struct plan *plan, const struct program *p, uint32_t site)
{
	const char *name = plan->job->sites[site].kernel;

	for (uint32_t i = 0; i < p->parts.nparts; i++) {
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++) {
			const struct gpubpf_cl_kernel *kernel = &p->unit[i].kernel[k];
			const char *reason;

			if (strcmp(kernel->info.name, name) != 0)
				continue;
			reason = reason_of(p, kernel, plan->job->caps);
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

static int make_plan(struct plan *plan, struct program *p)
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
static int write_parts(const struct plan *plan, struct program *p, const char *cwd)
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

static int wrap_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out,
		       struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct plan plan = { .job = job, .out = &made };
	struct program p = { 0 };
	int err = program_read(&p, image, job->caps, diag);

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
	program_finish(&p);
	if (err < 0) {
		free(made.refused);
		free(made.twins);
		return err;
	}
	*out = made;
	return 0;
}

/* libclang reads each source that was written, with its wrappers. */
static int wrap_validate(const struct gpubpf_twin_piece *piece, const struct gpubpf_device_caps *caps,
			 struct gpubpf_diag *diag)
{
	struct gpubpf_image image = { .data = piece->blob.data, .size = piece->blob.size, .kind = piece->kind, .options = "" };
	struct program p = { 0 };
	int err = program_read(&p, &image, caps, diag);

	for (uint32_t i = 0; !err && i < p.parts.nparts; i++)
		for (uint32_t k = 0; !err && k < p.unit[i].nkernels; k++)
			if (!strncmp(p.unit[i].kernel[k].info.name, "gpubpf_twin_", 12) && p.unit[i].kernel[k].info.reason[0])
				err = gpubpf_diag_set(diag, GPUBPF_E_COMPILE, GPUBPF_NOPC, "the wrapper %s: %s",
						      p.unit[i].kernel[k].info.name, p.unit[i].kernel[k].info.reason);
	program_finish(&p);
	return err;
}

const struct gpubpf_target gpubpf_target_wrap = {
	.inspect = wrap_inspect,
	.inject = wrap_inject,
	.validate = wrap_validate,
};
