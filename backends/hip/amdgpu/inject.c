/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: makes the twin of one kernel of a code object.
 * Before: the application's image, and a job with the sites and places of the kernel.
 * After: a code object with the twin, and the table of words that the agent fills in before it loads the twin.
 * Requires: backends/hip/amdgpu/analysis/code.c can read the kernel's instructions.
 */
#include "inject.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/hip/amdgpu/analysis/named.h"
#include "backends/hip/amdgpu/rewrite/link_twin.h"
#include "backends/hip/amdgpu/rewrite/listing.h"
#include "backends/hip/amdgpu/rewrite/select_sites.h"
#include "core/model/diag.h"
#include "core/worker/functions.h"
#include "core/worker/lines.h"
#include "emit.h"

#define MAX_PARAMS 1024

/* Assembles the twin's code, without the probes, into a relocatable object. */
static int assemble(const struct hip_draft *draft, struct gpubpf_blob *object, struct gpubpf_diag *diag)
{
	struct hip_listing listing = { 0 };
	struct gpubpf_blob text;
	int err = hip_stub_write(draft, &text);

	if (err < 0)
		return err;
	err = hip_listing_read(draft, &text, &listing, diag);
	if (!err)
		err = hip_listing_place(&listing, diag);
	if (!err)
		err = hip_listing_write(&listing, object);
	hip_listing_finish(&listing);
	free(text.data);
	return err;
}

static int build(const struct hip_app_kernel *app, struct hip_probes *probes, struct hip_draft *draft,
		 struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	struct gpubpf_blob object = { 0 };
	int err = hip_draft_add_probes(app, probes, draft, diag);

	if (!err)
		err = hip_probes_place_operands(draft, probes, diag);
	if (!err)
		err = assemble(draft, &object, diag);
	if (!err)
		err = hip_link_twin(app, probes, draft, &object, out, diag);
	free(object.data);
	return err;
}

static int make_image(struct hip_app_kernel *app, const struct gpubpf_lower_job *job, struct hip_draft *draft,
		      struct gpubpf_blob *out, struct gpubpf_diag *diag)
{
	const struct gpubpf_site_desc *site = &job->sites[0];
	struct hip_probes probes = { 0 };
	uint32_t offsets[MAX_PARAMS], version = app->elf.head.e_ident[EI_ABIVERSION] + 2u;
	char name[300];
	int err;

	snprintf(name, sizeof(name), HIP_TWIN_PREFIX "%s", site->kernel);
	if (hip_meta_params(&app->meta, NULL, offsets, MAX_PARAMS) < site->nparams || site->nparams > MAX_PARAMS)
		return hip_refuse(diag,
				  "the kernel has fewer parameters in this image than in the image that was inspected");
	draft->name = name;
	err = hip_check_symbol_name(site->kernel, diag);
	app->words = hip_launch_args(job);
	if (!err)
		err = hip_emit_sites(job, app->isa, app->wave32, version, offsets, hip_arguments_end(app),
				     draft->functions, &probes.blob, diag);
	if (!err)
		err = hip_elf_open(probes.blob.data, probes.blob.size, &probes.elf, diag);
	if (!err)
		err = build(app, &probes, draft, out, diag);
	free(probes.blob.data);
	return err;
}

/* Returns the number of the job's sites that are at instructions or in functions. Sets *kinds to the bits of their
 * kinds. */
static uint32_t count_bodies(const struct gpubpf_lower_job *job, uint32_t *kinds)
{
	uint32_t n = 0;

	*kinds = 0;
	for (uint32_t i = 0; i < job->nsites; i++)
		if (gpubpf_place_kind(job->sites[i].site)->where != GPUBPF_WHERE_KERNEL) {
			*kinds |= 1u << job->sites[i].site;
			n++;
		}
	return n;
}

/*
 * Returns true if the place of an insertion is in a called function. The place of an exit probe may be in one too,
 * because a called function can end the kernel.
 */
static bool names_functions(const struct gpubpf_lower_job *job)
{
	for (uint32_t i = 0; i < job->ninsertions; i++)
		if (job->insertions[i].place.function[0])
			return true;
	return false;
}

/* Allocates *functions, with one pointer per site of the job: the debug information of the function that contains the
 * site, or NULL. The caller frees the list. */
static int find_functions(const struct hip_app_kernel *app, const struct gpubpf_lower_job *job,
			  const struct gpubpf_functions *types, const struct gpubpf_function ***functions)
{
	*functions = calloc(job->nsites + 1, sizeof(**functions));
	if (!*functions)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->nsites; i++)
		for (uint32_t p = 1; p < app->nparts; p++)
			if (!strcmp(app->parts[p].name, job->sites[i].function))
				(*functions)[i] = gpubpf_functions_at(types, app->parts[p].address);
	return 0;
}

/* Sets the source lines of all patches, and finds the places at lines and marks. */
static int find_lines(struct hip_app_kernel *app, struct gpubpf_lines *lines)
{
	hip_named_lines(app, lines);
	for (uint32_t i = 0; i < app->code.npatches; i++)
		app->code.patches[i].line = gpubpf_lines_at(lines, app->code.patches[i].address);
	return hip_named_find(app, lines);
}

/* Makes the twin of the kernel in app->code. The twin includes the functions that the kernel calls, if a place is at an
 * instruction or in a function. */
static int make_twin(struct hip_app_kernel *app, const struct gpubpf_lower_job *job, struct gpubpf_blob *out,
		     struct gpubpf_diag *diag)
{
	struct hip_draft draft = { .isa = app->isa,
				   .wave32 = app->wave32,
				   .code = &app->code,
				   .kernel = app->descriptor,
				   .twin = app->descriptor,
				   .reach = HIP_BRANCH_RANGE_BYTES };
	uint32_t n = count_bodies(job, &app->insns);
	struct gpubpf_functions types = { 0 };
	struct gpubpf_lines lines = { 0 };
	int err = 0;

	if (n || names_functions(job)) {
		err = hip_app_kernel_add_callees(app, diag);
		if (!err)
			err = find_lines(app, &lines);
		gpubpf_functions_read(app->elf.data, app->elf.size, &types);
		if (!err)
			err = find_functions(app, job, &types, &draft.functions);
		draft.site_body = calloc(app->code.npatches + 1, sizeof(*draft.site_body));
		draft.bodies = calloc(n + 1, sizeof(*draft.bodies));
		if (!err && (!draft.site_body || !draft.bodies))
			err = -ENOMEM;
	}
	draft.bytes = app->bytes;
	if (!err)
		err = hip_select_sites(app, job, &draft, diag);
	if (!err)
		err = make_image(app, job, &draft, out, diag);
	gpubpf_functions_finish(&types);
	gpubpf_lines_finish(&lines);
	free(draft.functions);
	free(draft.site_body);
	free(draft.bodies);
	return err;
}

static int inject(struct hip_app_kernel *app, const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out,
		  struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct gpubpf_blob blob;
	int err;

	if (!hip_meta_find(&app->elf, job->sites[0].kernel, &app->meta))
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the code object has no kernel %s",
				       job->sites[0].kernel);
	count_bodies(job, &app->insns);
	app->insns |= names_functions(job) ? GPUBPF_SITE_BIT(CALL) : 0; /* request patches for calls, too */
	err = gpubpf_twin_init_single(job, &made);
	if (!err)
		err = hip_app_kernel_read(app, false, diag);
	if (!err)
		err = make_twin(app, job, &blob, diag);
	hip_app_kernel_finish(app);
	if (err < 0) {
		free(made.refused);
		free(made.twins);
		return err;
	}
	made.piece[0] = (struct gpubpf_twin_piece){ GPUBPF_IMAGE_AMDGPU, blob, NULL };
	made.npieces = 1;
	*out = made;
	return 0;
}

int hip_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
	       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct hip_app_kernel app = { 0 };
	int err;

	if (!job->nsites)
		return hip_refuse(diag, "the job names no kernel");
	err = hip_app_kernel_open(image, job->caps, &app, diag);
	if (!err)
		err = inject(&app, job, out, diag);
	free(app.plain);
	return err;
}
