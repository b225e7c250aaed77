/* SPDX-License-Identifier: Apache-2.0 */
/* The making of twins out of images and probes. */
#include "inject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"
#include "splice.h"
#include "probe.h"

/* the job's sites on the kernel that its first one names, and their probes */
struct sites {
	const struct gpubpf_lower_job *job;
	const char *kernel;
	struct cuda_probe *probe; /* [job->nsites] */
	struct cuda_call *calls;
	struct cuda_sites at;
};

/* The probe of a site, as text for the function in which it will stand. */
static int extract(struct sites *s, uint32_t i, const struct ptx_module *probes, const struct ptx_module *app,
		   struct gpubpf_diag *diag)
{
	const struct gpubpf_site_desc *site = &s->job->sites[i];
	const char *where = gpubpf_place_kind(site->site)->where == GPUBPF_WHERE_FUNCTION ? site->function : s->kernel;
	uint32_t function = ptx_find_function(app, where);
	char name[40];
	int err;

	if (function == PTX_NONE)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the image's PTX has no function %s", where);
	snprintf(name, sizeof(name), "gpubpf_inline_%u", i);
	err = cuda_probe_extract(probes, name, app, function, &s->probe[i], diag);
	if (err < 0)
		return err;
	switch (site->site) {
	case GPUBPF_SITE_ENTRY:
		s->at.entry = &s->probe[i];
		return 0;
	case GPUBPF_SITE_EXIT:
		s->at.exit = &s->probe[i];
		return 0;
	case GPUBPF_SITE_CALL:
	case GPUBPF_SITE_CALL_EXIT:
		s->calls[s->at.ncalls++] = (struct cuda_call){ site->function, site->site, s->probe[i] };
		return 0;
	default:
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "PTX has no code for gpu/%s/",
				       gpubpf_place_kind(site->site)->name);
	}
}

static int extract_all(struct sites *s, const struct ptx_module *probes, const struct ptx_module *app,
		       struct gpubpf_diag *diag)
{
	int err = 0;

	s->probe = calloc(s->job->nsites, sizeof(*s->probe));
	s->calls = calloc(s->job->nsites, sizeof(*s->calls));
	if (!s->probe || !s->calls)
		return -ENOMEM;
	s->at.calls = s->calls;
	for (uint32_t i = 0; !err && i < s->job->nsites; i++)
		if (!strcmp(s->job->sites[i].kernel, s->kernel))
			err = extract(s, i, probes, app, diag);
	return err;
}

static void sites_finish(struct sites *s)
{
	for (uint32_t i = 0; s->probe && i < s->job->nsites; i++)
		free(s->probe[i].body);
	free(s->probe);
	free(s->calls);
}

/* The twin's text with the names of its bindings in front. */
static int publish(const struct cuda_twin *twin, struct gpubpf_twin_image *out)
{
	size_t size = 0;
	char *text = NULL;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < twin->nbindings; i++)
		fprintf(f, "//gpubpf-bind %s\n", twin->bindings[i]);
	fwrite(twin->text, 1, twin->size, f);
	if (fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	out->piece[0] = (struct gpubpf_twin_piece){ GPUBPF_IMAGE_PTX, { text, size }, NULL };
	out->npieces = 1;
	return 0;
}

static int inject(const struct cuda_opened *app, const struct gpubpf_lower_job *job, const struct ptx_module *probes,
		  struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct sites s = { .job = job, .kernel = job->sites[0].kernel };
	struct cuda_twin twin = { 0 };
	char *prelude = NULL;
	size_t prelude_size;
	int err = extract_all(&s, probes, &app->m, diag);

	if (!err)
		err = cuda_prelude_extract(probes, "gpubpf_inline_", &prelude, &prelude_size);
	if (!err)
		err = cuda_inject(&app->m, s.kernel, &s.at, prelude, prelude_size, cuda_ptx_version(probes), &twin,
				  diag);
	if (!err)
		err = publish(&twin, out);
	cuda_twin_finish(&twin);
	free(prelude);
	sites_finish(&s);
	return err;
}

static int make(const struct cuda_opened *app, const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out,
		struct gpubpf_diag *diag)
{
	struct gpubpf_blob blob;
	uint32_t target = cuda_ptx_target(&app->m); /* the probes' PTX must be for none that is newer */
	struct ptx_module probes;
	char cpu[16] = "";
	int err;

	if (target != PTX_NONE)
		snprintf(cpu, sizeof(cpu), "%.*s", (int)app->m.tokens[target].len, ptx_token_text(&app->m, target));
	err = cuda_emit_sites(job, cpu, &blob, diag);
	if (err < 0)
		return err;
	err = ptx_parse(blob.data, blob.size, &probes, diag);
	if (!err) {
		err = inject(app, job, &probes, out, diag);
		ptx_finish(&probes);
	}
	free(blob.data);
	return err;
}

int cuda_target_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct cuda_opened app;
	int err;

	if (!job->nsites)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "no kernel is named");
	err = cuda_open_image(image, job->caps, &app, diag);
	if (err < 0)
		return err;
	err = gpubpf_twin_of_one(job, &made);
	if (!err)
		err = make(&app, job, &made, diag);
	cuda_close_image(&app);
	if (err < 0) {
		free(made.refused);
		free(made.twins);
		return err;
	}
	*out = made;
	return 0;
}
