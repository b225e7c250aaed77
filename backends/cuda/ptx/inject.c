/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: makes twins from images and probes.
 * Before: an image, and a job whose sites are lowered but not emitted.
 * After: one piece of PTX with the names of its bindings and the assembler's options.
 * Requires: LLVM's NVPTX (cuda_emit_sites()).
 */
#include "inject.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/lower/sums.h"
#include "backends/cuda/ptx/passes/splice.h"
#include "backends/cuda/ptx/passes/probe.h"
#include "backends/cuda/ptx/passes/outline.h"

/* Extracts the probe of each site on the first site's kernel, as text for the function into which it is inlined. */
static int extract_all(const struct gpubpf_lower_job *job, const struct ptx_module *from, const struct ptx_module *app,
		       bool flat, struct cuda_probe *probes, struct gpubpf_diag *diag)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < job->nsites; i++) {
		const struct gpubpf_site_desc *site = &job->sites[i];
		const char *where = site->function[0] ? site->function : site->kernel;
		uint32_t function = ptx_find_function(app, where);
		char name[40];

		if (strcmp(site->kernel, job->sites[0].kernel))
			continue;
		if (function == PTX_NONE)
			return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the image's PTX has no function %s",
					       where);
		snprintf(name, sizeof(name), "gpubpf_inline_%u", i);
		probes[i].flat = flat;
		probes[i].is_insn_probe = gpubpf_place_kind(site->site)->where == GPUBPF_WHERE_INSN;
		probes[i].adds_alone = lower_only_adds(job, site);
		probes[i].is_last_lane_probe = site->site == GPUBPF_SITE_BLOCK_END;
		probes[i].is_block_probe = probes[i].is_last_lane_probe || site->site == GPUBPF_SITE_BLOCK_BEGIN;
		err = cuda_probe_extract(from, name, app, function, &probes[i], diag);
	}
	return err;
}

static void probes_finish(struct cuda_probe *probes, uint32_t n)
{
	for (uint32_t i = 0; probes && i < n; i++)
		free(probes[i].body);
	free(probes);
}

/* Writes the assembler's -arch option. It is the device's architecture, or the PTX's if that is specific to this
 * device. Without an option the driver compiles the twin. */
static void write_arch(FILE *f, const struct ptx_module *app, const char *device)
{
	uint32_t target = cuda_ptx_target(app);
	const char *name = target == PTX_NONE ? "" : ptx_token_text(app, target);
	size_t len = target == PTX_NONE ? 0 : app->tokens[target].len;

	if (!len || !device[0])
		return;
	if (isdigit((unsigned char)name[len - 1]))
		fprintf(f, "-arch=%s", device);
	else if (strlen(device) == len - 1 && !memcmp(name, device, len - 1)) /* sm_90a */
		fprintf(f, "-arch=%.*s", (int)len, name);
}

/* Writes the piece: the names of the bindings, the twin's text up to its first NUL, and after a NUL the assembler's
 * options. */
static int publish(const struct cuda_twin *twin, const struct ptx_module *app, const char *device,
		   struct gpubpf_twin_image *out)
{
	size_t all = 0, size;
	char *text = NULL;
	FILE *f = open_memstream(&text, &all);

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < twin->nbindings; i++)
		fprintf(f, "//gpubpf-bind %s\n", twin->bindings[i]);
	fwrite(twin->text, 1, strnlen(twin->text, twin->size), f);
	size = ftell(f);
	fputc(0, f);
	write_arch(f, app, device);
	if (fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	out->piece[0] = (struct gpubpf_twin_piece){ GPUBPF_IMAGE_PTX, { text, size }, text + size + 1 };
	out->npieces = 1;
	return 0;
}

/* how probes are emitted: with accumulators in registers, or without them, as outlined probes require */
struct emit_mode {
	bool uses_accumulators, has_other_mode; /* true: if the text limit requires it, the probes may be emitted again
						 * with the opposite of the first member */
};

/* Returns true if a form for one-dimensional launches saves time. A block's other lanes wait for the lane that runs a
 * block probe, so reading fewer indices there shortens the kernel. */
static bool flat_saves_time(const struct cuda_probe *probes, uint32_t n)
{
	while (n && !probes[n - 1].is_block_probe)
		n--;
	return n;
}

/* Injects the probes. Returns 1 if the caller must emit them in the other mode (with or without accumulators) and call
 * again. */
static int inject(const struct cuda_parsed_image *app, const struct gpubpf_lower_job *job,
		  const struct ptx_module *emitted, struct emit_mode mode, struct gpubpf_twin_image *out,
		  struct gpubpf_diag *diag)
{
	struct cuda_probe *probes = calloc(job->nsites, sizeof(*probes)), *flat = NULL;
	bool many;
	struct cuda_twin twin = { 0 };
	char *prelude = NULL;
	size_t prelude_size;
	int err = probes ? extract_all(job, emitted, &app->m, false, probes, diag) : -ENOMEM;

	many = !err && cuda_probes_exceed_limit(job, probes);
	if (!err && mode.has_other_mode && many == mode.uses_accumulators) {
		probes_finish(probes, job->nsites);
		return 1;
	}
	if (!err)
		err = cuda_prelude_extract(emitted, "gpubpf_inline_", &prelude, &prelude_size);
	if (many && !err)
		err = cuda_outline_probes(job, probes, &prelude, &prelude_size);
	if (!many && !err && flat_saves_time(probes, job->nsites)) {
		flat = calloc(job->nsites, sizeof(*flat));
		err = flat ? extract_all(job, emitted, &app->m, true, flat, diag) : -ENOMEM;
	}
	if (!err)
		err = cuda_inject(&app->m, job,
				  &(struct cuda_probes){ probes, flat, prelude, prelude_size, cuda_ptx_version(emitted) },
				  &twin, diag);
	if (!err)
		err = publish(&twin, &app->m, job->caps->arch, out);
	cuda_twin_finish(&twin);
	free(prelude);
	probes_finish(probes, job->nsites);
	probes_finish(flat, job->nsites);
	return err;
}

/* Returns true if a function that kernels call has an exit instruction. There the accumulators of its caller would be
 * lost. */
static bool ends_in_function(const struct ptx_module *m)
{
	bool function = false;

	for (uint32_t i = 0; i < m->nnodes; i++) {
		if (m->nodes[i].kind == PTX_FUNCTION)
			function = !m->nodes[i].entry;
		if (function && m->nodes[i].kind == PTX_INSN && ptx_token_is(m, m->nodes[i].name, "exit"))
			return true;
	}
	return false;
}

/* the PTX of emitted probes and its parse tree */
struct probe_module {
	struct gpubpf_blob blob;
	struct ptx_module m;
};

static void probe_module_finish(struct probe_module *made)
{
	ptx_finish(&made->m);
	free(made->blob.data);
	*made = (struct probe_module){ 0 };
}

static int make_probes(const struct gpubpf_lower_job *job, const char *cpu, bool uses_accumulators,
		       struct probe_module *made, struct gpubpf_diag *diag)
{
	int err = cuda_emit_sites(job, cpu, uses_accumulators, &made->blob, diag);

	if (err < 0)
		return err;
	err = ptx_parse(made->blob.data, made->blob.size, &made->m, diag);
	if (err < 0)
		free(made->blob.data);
	return err;
}

/* The latest emitted probes that later jobs may share: [0] without accumulators, [1] with them. Jobs for the kernels of
 * one image follow each other, and some need both. */
static struct probe_cache {
	bool valid;
	uint8_t alike[GPUBPF_IMAGE_DIGEST];
	char cpu[16];
	struct probe_module probes;
} cache[2];

static bool is_cached(const struct probe_cache *k, const uint8_t *alike, const char *cpu)
{
	return k->valid && !strcmp(k->cpu, cpu) && !memcmp(k->alike, alike, sizeof(k->alike));
}

static int cache_probes(const struct gpubpf_lower_job *job, const uint8_t *alike, const char *cpu,
			bool uses_accumulators, struct gpubpf_diag *diag)
{
	struct probe_cache *k = &cache[uses_accumulators];
	int err;

	if (is_cached(k, alike, cpu))
		return 0;
	if (k->valid)
		probe_module_finish(&k->probes);
	err = make_probes(job, cpu, uses_accumulators, &k->probes, diag);
	k->valid = !err;
	memcpy(k->alike, alike, sizeof(k->alike));
	strcpy(k->cpu, cpu);
	return err;
}

#define MAX_INLINE_PLACES 256 /* up to this many places, copies of the probes probably stay within the text limit */

static int make_twin_with(const struct cuda_parsed_image *app, const struct gpubpf_lower_job *job, const uint8_t *alike,
			  const char *cpu, struct emit_mode mode, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct probe_module own;
	int err;

	if (alike) {
		err = cache_probes(job, alike, cpu, mode.uses_accumulators, diag);
		return err ? err : inject(app, job, &cache[mode.uses_accumulators].probes.m, mode, out, diag);
	}
	err = make_probes(job, cpu, mode.uses_accumulators, &own, diag);
	if (err < 0)
		return err;
	err = inject(app, job, &own.m, mode, out, diag);
	probe_module_finish(&own);
	return err;
}

static int make_twin(const struct cuda_parsed_image *app, const struct gpubpf_lower_job *job, const uint8_t *alike,
		     struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	uint32_t target = cuda_ptx_target(&app->m); /* the probes' PTX must not require a newer architecture */
	char cpu[16] = "";
	struct emit_mode mode;
	int err;

	if (target != PTX_NONE)
		snprintf(cpu, sizeof(cpu), "%.*s", (int)app->m.tokens[target].len, ptx_token_text(&app->m, target));
	mode.has_other_mode = !ends_in_function(&app->m);
	mode.uses_accumulators = mode.has_other_mode && job->ninsertions <= MAX_INLINE_PLACES;
	err = make_twin_with(app, job, alike, cpu, mode, out, diag);
	if (err <= 0)
		return err;
	mode = (struct emit_mode){ .uses_accumulators = !mode.uses_accumulators };
	return make_twin_with(app, job, alike, cpu, mode, out, diag);
}

int cuda_target_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		       const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct cuda_parsed_image app;
	int err;

	if (!job->nsites)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "no kernel is named");
	err = cuda_open_image(image, job->caps, &app, diag);
	if (err < 0)
		return err;
	err = gpubpf_twin_init_single(job, &made);
	if (!err)
		err = make_twin(&app, job, opts->alike, &made, diag);
	cuda_close_image(&app);
	if (err < 0) {
		free(made.refused);
		free(made.twins);
		return err;
	}
	*out = made;
	return 0;
}
