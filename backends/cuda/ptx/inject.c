/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: makes a twin from an image's PTX and a job's probes.
 * Before: an image, and a job whose sites are lowered but not emitted.
 * After: the twin's PTX, the names of the variables to bind, and the architecture for the assembler.
 * Requires: LLVM's NVPTX target (cuda_emit_sites()).
 */
#include "inject.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/lower/code_cache.h"
#include "core/lower/dump.h"
#include "core/lower/sums.h"
#include "backends/cuda/ptx/passes/splice.h"
#include "backends/cuda/ptx/passes/probe.h"
#include "backends/cuda/ptx/passes/outline.h"

/* PTX of emitted probes, its parse tree, and the registers that the PTX uses but does not declare */
struct probe_module {
	struct gpubpf_blob blob;
	struct ptx_module m;
	struct gpubpf_site_registers registers;
};

/*
 * Extracts the probe of each site that belongs to the first site's kernel, as text for the function into which the
 * probe is inlined.
 */
static int extract_all(const struct gpubpf_lower_job *job, const struct probe_module *from,
		       const struct ptx_module *app, bool flat, struct cuda_probe *probes, struct gpubpf_diag *diag)
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
		err = cuda_probe_extract(&from->m, &from->registers, name, app, function, &probes[i], diag);
	}
	return err;
}

static void finish_probes(struct cuda_probe *probes, uint32_t n)
{
	for (uint32_t i = 0; probes && i < n; i++)
		free(probes[i].body);
	free(probes);
}

/*
 * Sets the architecture for the assembler. If the PTX's architecture has no suffix, this is the device's. If it has a
 * suffix, such as sm_90a, and names the device's architecture, this is the PTX's. In all other cases sets none, and the
 * driver compiles the twin.
 */
static void set_arch(struct gpubpf_twin_piece *piece, const struct ptx_module *app, const char *device)
{
	uint32_t target = cuda_ptx_target(app);
	const char *name = target == PTX_NONE ? "" : ptx_token_text(app, target);
	size_t len = target == PTX_NONE ? 0 : app->tokens[target].len;

	if (!len || !device[0])
		return;
	if (isdigit((unsigned char)name[len - 1]))
		snprintf(piece->arch, sizeof(piece->arch), "%s", device);
	else if (strlen(device) == len - 1 && !memcmp(name, device, len - 1)) /* sm_90a */
		snprintf(piece->arch, sizeof(piece->arch), "%.*s", (int)len, name);
}

/* Writes the twin's PTX: a comment line for each variable to bind, then the text up to its first NUL. */
static int publish(const struct cuda_twin *twin, const struct ptx_module *app, const char *device,
		   struct gpubpf_twin_image *out)
{
	struct gpubpf_blob blob = { 0 };
	char *text = NULL;
	FILE *f = open_memstream(&text, &blob.size);

	if (!f)
		return -ENOMEM;
	for (uint32_t i = 0; i < twin->nbindings; i++)
		fprintf(f, "//gpubpf-bind %s\n", twin->bindings[i]);
	fwrite(twin->text, 1, strnlen(twin->text, twin->size), f);
	if (fclose(f)) {
		free(text);
		return -ENOMEM;
	}
	blob.data = text;
	out->piece[0] = (struct gpubpf_twin_piece){ .kind = GPUBPF_IMAGE_PTX, .blob = blob };
	set_arch(&out->piece[0], app, device);
	out->npieces = 1;
	return 0;
}

/* how probes are emitted */
struct emit_mode {
	/*
	 * If uses_accumulators is set, the probes use accumulators in registers, which outlined probes cannot use. If
	 * has_other_mode is set, the probes may be emitted again with the opposite of uses_accumulators.
	 */
	bool uses_accumulators, has_other_mode;
};

/*
 * Returns true if a variant of the probes for one-dimensional launches saves time. While one lane runs a block probe,
 * the block's other lanes wait. The variant reads fewer indices there, so the GPU kernel gets shorter.
 */
static bool flat_saves_time(const struct cuda_probe *probes, uint32_t n)
{
	while (n && !probes[n - 1].is_block_probe)
		n--;
	return n;
}

/* Writes the prelude and the probes' text to the job's dump for `pass`. */
static void dump_probes(const struct gpubpf_lower_job *job, const char *pass, const struct cuda_probe *probes,
			const char *prelude, size_t prelude_size)
{
	char title[64];

	if (!gpubpf_dump_wants(job, pass))
		return;
	gpubpf_dump_set(job, prelude, prelude_size);
	for (uint32_t i = 0; i < job->nsites; i++) {
		if (!probes[i].body)
			continue;
		gpubpf_dump_add(job, title,
				snprintf(title, sizeof(title), "\n// probe of site %u: gpu/%s/\n", i,
					 gpubpf_place_kind(job->sites[i].site)->name));
		gpubpf_dump_add(job, probes[i].body, probes[i].body_size);
	}
	gpubpf_dump_add(job, "\n", 1);
}

/*
 * Injects the probes. Returns 1 if the probes' text does not suit the mode; the caller then emits the probes in the
 * other mode and calls again.
 */
static int inject(const struct cuda_parsed_image *app, const struct gpubpf_lower_job *job,
		  const struct probe_module *emitted, struct emit_mode mode, struct gpubpf_twin_image *out,
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
		finish_probes(probes, job->nsites);
		return 1;
	}
	if (!err)
		err = cuda_prelude_extract(&emitted->m, "gpubpf_inline_", &prelude, &prelude_size);
	if (!err)
		dump_probes(job, "extract", probes, prelude, prelude_size);
	if (many && !err)
		err = cuda_outline_probes(job, probes, &prelude, &prelude_size);
	if (!err)
		dump_probes(job, "outline", probes, prelude, prelude_size);
	if (!many && !err && flat_saves_time(probes, job->nsites)) {
		flat = calloc(job->nsites, sizeof(*flat));
		err = flat ? extract_all(job, emitted, &app->m, true, flat, diag) : -ENOMEM;
	}
	if (!err)
		err = cuda_inject(&app->m, job,
				  &(struct cuda_probes){ probes, flat, prelude, prelude_size,
							 cuda_ptx_version(&emitted->m) },
				  &twin, diag);
	if (!err)
		err = publish(&twin, &app->m, job->caps->arch, out);
	cuda_twin_finish(&twin);
	free(prelude);
	finish_probes(probes, job->nsites);
	finish_probes(flat, job->nsites);
	return err;
}

/*
 * Returns true if a function that is not a kernel has an exit instruction. A lane that exits there would lose the
 * accumulators of the function's caller.
 */
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

static void probe_module_finish(struct probe_module *made)
{
	ptx_finish(&made->m);
	free(made->blob.data);
	*made = (struct probe_module){ 0 };
}

static int make_probes(const struct gpubpf_lower_job *job, const char *cpu, bool uses_accumulators,
		       struct probe_module *made, struct gpubpf_diag *diag)
{
	int err = cuda_emit_sites(job, cpu, uses_accumulators, &made->blob, &made->registers, diag);

	if (err < 0)
		return err;
	err = ptx_parse(made->blob.data, made->blob.size, &made->m, diag);
	if (err < 0)
		free(made->blob.data);
	return err;
}

/*
 * The latest emitted probes, which later jobs of the worker may use too (core/lower/code_cache.h). Jobs for the kernels
 * of one image usually follow each other. Some of these jobs need both modes.
 */
struct probe_cache {
	struct cached_probes {
		bool valid;
		uint8_t alike[GPUBPF_IMAGE_DIGEST];
		char cpu[16];
		struct probe_module probes;
	} mode[2]; /* [0] without accumulators, [1] with them */
};

static void destroy_cache(void *data)
{
	struct probe_cache *cache = data;

	for (int i = 0; i < 2; i++)
		if (cache->mode[i].valid)
			probe_module_finish(&cache->mode[i].probes);
	free(cache);
}

static bool is_cached(const struct cached_probes *k, const uint8_t *alike, const char *cpu)
{
	return k->valid && !strcmp(k->cpu, cpu) && !memcmp(k->alike, alike, sizeof(k->alike));
}

static int cache_probes(struct cached_probes *k, const struct gpubpf_lower_job *job, const uint8_t *alike,
			const char *cpu, bool uses_accumulators, struct gpubpf_diag *diag)
{
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

#define MAX_INLINE_PLACES 256 /* with at most this many places, inlined probes probably stay within the text limit */

static int make_twin_with(const struct cuda_parsed_image *app, const struct gpubpf_lower_job *job, const uint8_t *alike,
			  const char *cpu, struct emit_mode mode, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct probe_cache *cache = alike ? gpubpf_cache_data(job->cache, sizeof(*cache), destroy_cache) : NULL;
	struct probe_module own;
	int err;

	if (cache) {
		struct cached_probes *k = &cache->mode[mode.uses_accumulators];

		err = cache_probes(k, job, alike, cpu, mode.uses_accumulators, diag);
		return err ? err : inject(app, job, &k->probes, mode, out, diag);
	}
	err = make_probes(job, cpu, mode.uses_accumulators, &own, diag);
	if (err < 0)
		return err;
	err = inject(app, job, &own, mode, out, diag);
	probe_module_finish(&own);
	return err;
}

static int make_twin(const struct cuda_parsed_image *app, const struct gpubpf_lower_job *job, const uint8_t *alike,
		     struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	/* the probes' PTX must not require a newer architecture than the application's PTX */
	uint32_t target = cuda_ptx_target(&app->m);
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
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the job names no GPU kernel");
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
