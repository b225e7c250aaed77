/* SPDX-License-Identifier: Apache-2.0 */
/* The ptx target's look into images, and the making of twins out of them. */
#include "twin.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"
#include "fatbin.h"
#include "inject.h"
#include "params.h"
#include "probe.h"

/* an image opened: its PTX and the tree over it */
struct opened {
	char *text;
	struct ptx_module m;
};

/* "sm_90" as 90 */
static uint32_t capability(const struct gpubpf_device_caps *caps)
{
	return strncmp(caps->arch, "sm_", 3) ? 0 : strtoul(caps->arch + 3, NULL, 10);
}

static int open_image(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps, struct opened *o,
		      struct gpubpf_diag *diag)
{
	size_t size;
	int err = cuda_image_ptx(image->data, image->size, capability(caps), &o->text, &size, diag);

	if (err < 0)
		return err;
	err = ptx_parse(o->text, size, &o->m, diag);
	if (err < 0)
		free(o->text);
	return err;
}

static void close_image(struct opened *o)
{
	ptx_finish(&o->m);
	free(o->text);
}

static bool is_kernel(const struct ptx_module *m, uint32_t node)
{
	return m->nodes[node].kind == PTX_FUNCTION && m->nodes[node].entry &&
	       ptx_child(m, node, PTX_BLOCK, 0) != PTX_NONE;
}

/* Does any of its instructions wait for other threads of the block? */
static bool has_barrier(const struct ptx_module *m, uint32_t kernel)
{
	for (uint32_t n = kernel + 1; n < m->nnodes && m->nodes[n].first < m->nodes[kernel].end; n++)
		if (m->nodes[n].kind == PTX_INSN &&
		    (ptx_token_is(m, m->nodes[n].name, "bar") || ptx_token_is(m, m->nodes[n].name, "barrier") ||
		     ptx_token_is(m, m->nodes[n].name, "mbarrier") || ptx_token_is(m, m->nodes[n].name, "call")))
			return true;
	return false;
}

static void place_params(struct gpubpf_param *params, uint32_t n)
{
	uint32_t at = 0;

	for (uint32_t i = 0; i < n; i++) {
		params[i].bytes_off = params[i].size ? at : UINT32_MAX;
		at += (params[i].size + 15) & ~15u;
	}
}

static int describe(const struct ptx_module *m, uint32_t node, struct gpubpf_kernel_info *info,
		    struct gpubpf_param **room)
{
	struct gpubpf_param *params;
	uint32_t len = m->tokens[m->nodes[node].name].len, n;
	int err = cuda_params(m, node, &params, &n);

	if (err < 0)
		return err;
	if (len < sizeof(info->name))
		memcpy(info->name, ptx_token_text(m, m->nodes[node].name), len);
	place_params(params, n);
	memcpy(*room, params, n * sizeof(*params));
	free(params);
	info->params = *room;
	info->nparams = n;
	*room += n;
	info->flags = has_barrier(m, node) ? GPUBPF_KINFO_BARRIER : 0;
	return 0;
}

int cuda_inspect(const struct gpubpf_image *image, const struct gpubpf_device_caps *caps,
		 struct gpubpf_kernel_info **kernels, uint32_t *nkernels, struct gpubpf_diag *diag)
{
	struct gpubpf_kernel_info *list;
	struct gpubpf_param *room;
	uint32_t n = 0, nparams = 0;
	struct opened o;
	int err = open_image(image, caps, &o, diag);

	if (err < 0)
		return err;
	for (uint32_t i = 0; i < o.m.nnodes; i++) {
		n += is_kernel(&o.m, i);
		nparams += o.m.nodes[i].kind == PTX_PARAM;
	}
	list = calloc(1, n * sizeof(*list) + nparams * sizeof(*room) + 1);
	room = list ? (struct gpubpf_param *)(list + n) : NULL;
	err = list ? 0 : -ENOMEM;
	n = 0;
	for (uint32_t i = 0; !err && i < o.m.nnodes; i++)
		if (is_kernel(&o.m, i))
			err = describe(&o.m, i, &list[n++], &room);
	close_image(&o);
	if (err < 0) {
		free(list);
		return err;
	}
	*kernels = list;
	*nkernels = n;
	return 0;
}

/* ---- the twin ---- */

struct sites {
	const struct gpubpf_lower_job *job;
	uint32_t entry, exit;    /* in the job; UINT32_MAX: none */
	char kernel[256];
};

/* The sites of the job's first kernel; others are refused: a twin of a CUDA kernel is a module by itself. */
static int choose_sites(const struct gpubpf_lower_job *job, struct sites *s, struct gpubpf_twin_image *out)
{
	*s = (struct sites){ job, UINT32_MAX, UINT32_MAX, "" };
	memcpy(s->kernel, job->sites[0].kernel, sizeof(s->kernel));
	out->refused = calloc(job->nsites, sizeof(*out->refused));
	out->twins = calloc(1, sizeof(*out->twins));
	if (!out->refused || !out->twins)
		return -ENOMEM;
	for (uint32_t i = 0; i < job->nsites; i++) {
		if (strcmp(job->sites[i].kernel, s->kernel)) {
			out->refused[out->nrefused].site = i;
			snprintf(out->refused[out->nrefused++].reason, sizeof(out->refused->reason),
				 "CUDA twins are asked for one by one");
		} else if (job->sites[i].site == GPUBPF_SITE_ENTRY) {
			s->entry = i;
		} else {
			s->exit = i;
		}
	}
	return 0;
}

static int extract(const struct ptx_module *sites, uint32_t site, const struct opened *app, uint32_t kernel,
		   struct cuda_probe *probe, struct gpubpf_diag *diag)
{
	char name[40];

	if (site == UINT32_MAX)
		return 0;
	snprintf(name, sizeof(name), "gpubpf_inline_%u", site);
	return cuda_probe_extract(sites, name, &app->m, kernel, probe, diag);
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

static int inject(const struct opened *app, const struct sites *s, const struct ptx_module *probes,
		  struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	uint32_t kernel = ptx_find_function(&app->m, s->kernel);
	struct cuda_probe entry = { 0 }, exit = { 0 };
	struct cuda_twin twin = { 0 };
	char *prelude = NULL;
	size_t prelude_size;
	int err;

	if (kernel == PTX_NONE)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the image's PTX has no kernel %s", s->kernel);
	err = extract(probes, s->entry, app, kernel, &entry, diag);
	if (!err)
		err = extract(probes, s->exit, app, kernel, &exit, diag);
	if (!err)
		err = cuda_prelude_extract(probes, "gpubpf_inline_", &prelude, &prelude_size);
	if (!err)
		err = cuda_inject(&app->m, s->kernel, entry.body ? &entry : NULL, exit.body ? &exit : NULL, prelude,
				  prelude_size, cuda_ptx_version(probes), &twin, diag);
	if (!err)
		err = publish(&twin, out);
	cuda_twin_finish(&twin);
	free(prelude);
	free(entry.body);
	free(exit.body);
	return err;
}

/* The architecture that the application's PTX is for: the probes' PTX must be no newer. */
static void target_of(const struct ptx_module *m, char *cpu, size_t size)
{
	for (uint32_t c = m->nodes[0].child; c != PTX_NONE; c = m->nodes[c].next) {
		const struct ptx_node *node = &m->nodes[c];

		if (node->kind == PTX_DIRECTIVE && ptx_token_is(m, node->name, ".target"))
			snprintf(cpu, size, "%.*s", (int)m->tokens[node->name + 1].len, ptx_token_text(m, node->name + 1));
	}
}

static int make(const struct opened *app, const struct sites *s, struct gpubpf_twin_image *out,
		struct gpubpf_diag *diag)
{
	struct gpubpf_blob blob;
	struct ptx_module probes;
	char cpu[16] = "";
	int err;

	target_of(&app->m, cpu, sizeof(cpu));
	err = cuda_emit_sites(s->job, cpu, &blob, diag);
	if (err < 0)
		return err;
	err = ptx_parse(blob.data, blob.size, &probes, diag);
	if (!err) {
		err = inject(app, s, &probes, out, diag);
		ptx_finish(&probes);
	}
	free(blob.data);
	return err;
}

int cuda_target_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct opened app;
	struct sites s;
	int err;

	if (!job->nsites)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "no kernel is named");
	err = open_image(image, job->caps, &app, diag);
	if (err < 0)
		return err;
	err = choose_sites(job, &s, &made);
	if (!err)
		err = make(&app, &s, &made, diag);
	close_image(&app);
	if (err < 0) {
		free(made.refused);
		free(made.twins);
		return err;
	}
	made.twins[made.ntwins++] = s.entry < s.exit ? s.entry : s.exit;
	*out = made;
	return 0;
}
