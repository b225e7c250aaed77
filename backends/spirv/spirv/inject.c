/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: builds a twin of a program in IL: the module with the twin kernels, and the module with the probes.
 * Before: all kernels of the image lie in one SPIR-V module.
 * After: the module has a twin in place of each selected kernel; kernels that cannot be probed are listed in refused[].
 * Requires: a device that links programs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/spirv/module/access.h"
#include "core/model/diag.h"
#include "core/lower/ctx.h"
#include "core/lower/dump.h"
#include "core/worker/job.h"
#include "backends/spirv/common/env_use.h"
#include "backends/spirv/common/options.h"
#include "backends/spirv/wire/clock.h"
#include "target.h"
#include "backends/spirv/spirv/module/spv.h"

struct draft {
	const struct gpubpf_lower_job *job;
	struct gpubpf_spv_image *p;
	uint32_t kinds; /* bit mask (GPUBPF_SITE_BIT) of the kinds of places at which the job inserts BPF programs */
	bool *reached;  /* [p->nfunctions]: true if the current kernel calls the function, directly or indirectly */
	struct gpubpf_spv_wrap *wraps;
	uint32_t nwraps;
	struct gpubpf_twin_image out;
};

static int refuse(struct draft *draft, uint32_t site, const char *reason)
{
	struct gpubpf_twin_refusal *r = &draft->out.refused[draft->out.nrefused++];

	r->site = site;
	snprintf(r->reason, sizeof(r->reason), "%.239s", reason);
	return 0;
}

/* -- places of instructions -- */

static void mark_reached(const struct gpubpf_spv_image *p, uint32_t from, bool *reached)
{
	bool more = true;

	memset(reached, 0, p->nfunctions);
	reached[from] = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < p->nfunctions; i++)
			for (uint32_t c = 0; reached[i] && c < p->kernels[i].info.ncallees; c++) {
				more |= !reached[p->kernels[i].info.callees[c]];
				reached[p->kernels[i].info.callees[c]] = true;
			}
	}
}

/* Check that the place's memory access or barrier is known exactly enough for the BPF programs at this place. */
static int check_access(const struct draft *draft, const struct gpubpf_spv_place *at, struct gpubpf_diag *why)
{
	const char *kind = gpubpf_place_kind(at->kind)->name;
	const struct gpubpf_spv *m = &draft->p->module;
	const struct gpubpf_spv_insn *insn = &m->insn[at->insn];
	struct spv_access accesses[SPV_MAX_ACCESSES], *a = &accesses[at->access];
	enum gpubpf_barrier_kind barrier;
	const char *unseen = NULL;
	uint32_t line = at->line;
	char where[32] = "";

	if (line)
		snprintf(where, sizeof(where), " (line %u)", line);
	if (at->kind == GPUBPF_SITE_BRANCH || gpubpf_place_has_name(at->kind) ||
	    gpubpf_place_kind(at->kind)->where == GPUBPF_WHERE_FUNCTION)
		return 0;
	if (!gpubpf_place_kind(at->kind)->spaces) {
		gpubpf_spv_barrier(m, insn, &barrier, &unseen);
		return !unseen ? 0 :
				 gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC, "gpu/%s/ cannot probe %s%s", kind,
						 unseen, where);
	}
	gpubpf_spv_accesses(m, at->insn, accesses);
	if (a->unseen && insn->op == SpvOpFunctionCall)
		return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC, "gpu/%s/ cannot probe %s, %.80s%s", kind,
				       a->unseen, gpubpf_spv_linked_name(m, gpubpf_spv_word(m, insn, 3)), where);
	if (a->unseen)
		return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "gpu/%s/ cannot probe %s (SPIR-V opcode %u)%s", kind, a->unseen, insn->op, where);
	if (a->spaces & ~gpubpf_place_kind(at->kind)->spaces)
		return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "gpu/%s/ cannot determine the memory space of a generic address%s; use gpu/mem.all/ or "
				       "gpu/mem_before.all/",
				       kind, where);
	if (a->hidden && gpubpf_env_words(draft->job, at->site) >> ctx_word_of("mem.value", at->kind) & 3)
		return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "a program of gpu/%s/ reads mem.value, but SPIR-V opcode %u does not provide "
				       "the value%s",
				       kind, insn->op, where);
	return 0;
}

/*
 * Returns true if the module uses function pointers. A function that is called through a pointer cannot receive the
 * environment as an additional parameter.
 */
static bool has_function_pointers(const struct gpubpf_spv *m)
{
	for (uint32_t i = 0; i < m->ninsns; i++)
		if (m->insn[i].op == SpvOpConstantFunctionPointerINTEL || m->insn[i].op == SpvOpEnqueueKernel)
			return true;
	return false;
}

/*
 * Returns true if the compiler may compute other results for the same arithmetic when probes surround it (section
 * 3.15).
 */
static bool has_loose_math(const struct gpubpf_spv_image *p)
{
	/* 0x70000: the flags AllowContract, AllowReassoc and AllowTransform of later versions */
	const uint32_t loose = SpvFPFastMathModeAllowRecipMask | SpvFPFastMathModeFastMask | 0x70000;
	const struct gpubpf_spv *m = &p->module;

	for (uint32_t i = 0; i < m->functions; i++)
		if (m->insn[i].op == SpvOpDecorate && gpubpf_spv_word(m, &m->insn[i], 2) == SpvDecorationFPFastMathMode &&
		    gpubpf_spv_word(m, &m->insn[i], 3) & loose)
			return true;
	for (uint32_t i = 0; i < p->parts.nparts; i++)
		if (gpubpf_cl_has_loose_math(p->parts.part[i].options))
			return true;
	return gpubpf_cl_has_loose_math(p->parts.link_options);
}

/* Append the places in one function's code to w->places. */
static int draft_places(struct draft *draft, uint32_t function, struct gpubpf_inserting *at, struct gpubpf_spv_wrap *w,
			struct gpubpf_diag *why)
{
	const struct gpubpf_spv_kernel *f = &draft->p->kernels[function];
	struct gpubpf_spv_place *place = w->places + w->nplaces;
	uint32_t n = gpubpf_spv_places(&draft->p->module, f->function, gpubpf_spv_kinds_of(&f->info, draft->kinds), place);
	int err = 0;

	for (uint32_t i = 0; i < n && !err; i++) {
		place[i].site = gpubpf_site_at(at, place[i].kind,
					       f->info.flags & GPUBPF_KINFO_FUNCTION ? f->info.name : "", place[i].id);
		if (place[i].site == UINT32_MAX)
			continue;
		if (gpubpf_place_kind(place[i].kind)->where == GPUBPF_WHERE_FUNCTION)
			place[i].function = f;
		err = check_access(draft, &place[i], why);
		w->places[w->nplaces++] = place[i];
	}
	return err;
}

static int draft_inside(struct draft *draft, uint32_t kernel, struct gpubpf_inserting *at, struct gpubpf_spv_wrap *w,
			struct gpubpf_diag *why)
{
	uint32_t most = 0;
	int err = 0;

	if (!(draft->kinds & (gpubpf_places_of(GPUBPF_WHERE_INSN) | gpubpf_places_of(GPUBPF_WHERE_FUNCTION))))
		return 0;
	mark_reached(draft->p, kernel, draft->reached);
	for (uint32_t i = 0; i < draft->p->nfunctions; i++)
		most += draft->reached[i] ? draft->p->kernels[i].info.nplaces : 0;
	w->places = gpubpf_pool_alloc(&draft->p->pool, most, sizeof(*w->places));
	if (!w->places)
		return -ENOMEM;
	for (uint32_t i = 0; i < draft->p->nfunctions && !err; i++)
		if (draft->reached[i])
			err = draft_places(draft, i, at, w, why);
	if (!err && w->nplaces && has_function_pointers(&draft->p->module))
		return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC, "its module uses function pointers");
	if (!err && w->nplaces && has_loose_math(draft->p))
		return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "it was compiled with relaxed arithmetic (such as -cl-fast-relaxed-math), so probes at "
				       "instructions could change its results");
	return err;
}

/* -- kernels -- */

static int draft_site(struct draft *draft, const struct gpubpf_spv_image *p, uint32_t site)
{
	const struct gpubpf_site_desc *desc = &draft->job->sites[site];
	const struct gpubpf_spv_kernel *k = p->kernels;
	struct gpubpf_inserting at = { .job = draft->job, .kernel = desc->kernel };
	struct gpubpf_spv_wrap *w = draft->wraps;
	struct gpubpf_diag why;
	int err;

	while (k < p->kernels + p->nkernels && strcmp(k->info.name, desc->kernel) != 0)
		k++;
	if (k == p->kernels + p->nkernels)
		return refuse(draft, site, "its module has no kernel of this name");
	if (gpubpf_spv_reason(&k->info, draft->job->caps)[0])
		return refuse(draft, site, gpubpf_spv_reason(&k->info, draft->job->caps));
	if (gpubpf_env_ends_inside(draft->job, desc->kernel))
		return refuse(draft, site, "a program ends threads (helper 507) at a place other than the kernel's entry");
	while (w < draft->wraps + draft->nwraps && w->kernel != k)
		w++;
	if (w < draft->wraps + draft->nwraps)
		return 0;
	*w = (struct gpubpf_spv_wrap){ .kernel = k,
				       .entry = gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0),
				       .exit = gpubpf_site_at(&at, GPUBPF_SITE_EXIT, "", 0),
				       .begin = gpubpf_site_at(&at, GPUBPF_SITE_BLOCK_BEGIN, "", 0),
				       .end = gpubpf_site_at(&at, GPUBPF_SITE_BLOCK_END, "", 0),
				       .site = site };
	gpubpf_diag_init(&why);
	err = draft_inside(draft, k - p->kernels, &at, w, &why);
	if (err == -ENOMEM)
		return err;
	if (err < 0 || gpubpf_check_all_inserted(&at, &why) < 0)
		return refuse(draft, site, why.what);
	draft->nwraps++;
	return 0;
}

static int make_draft(struct draft *draft, struct gpubpf_spv_image *p)
{
	uint32_t n = draft->job->nsites;
	int err = 0;

	draft->p = p;
	draft->reached = gpubpf_pool_alloc(&p->pool, p->nfunctions, sizeof(*draft->reached));
	draft->wraps = gpubpf_pool_alloc(&p->pool, n, sizeof(*draft->wraps));
	draft->out.refused = calloc(n + 1, sizeof(*draft->out.refused));
	draft->out.twins = calloc(n + 1, sizeof(*draft->out.twins));
	if (!draft->reached || !draft->wraps || !draft->out.refused || !draft->out.twins)
		return -ENOMEM;
	for (uint32_t i = 0; i < n && !err; i++)
		err = draft_site(draft, p, i);
	for (uint32_t i = 0; i < draft->nwraps; i++)
		draft->out.twins[draft->out.ntwins++] = gpubpf_spv_first_site(&draft->wraps[i]);
	return err;
}

/* Copy the list of parts, with their options adapted for a twin. The list has space for two more parts. */
static int copy_parts(const struct gpubpf_image *image, struct gpubpf_spv_image *p, struct gpubpf_cl_parts *parts)
{
	bool complete;

	*parts = p->parts;
	parts->part = gpubpf_pool_alloc(&p->pool, parts->nparts + 2, sizeof(*parts->part));
	parts->link_options = gpubpf_cl_twin_options(p->parts.link_options, image->cwd, &p->pool);
	complete = parts->part && parts->link_options;
	for (uint32_t i = 0; complete && i < parts->nparts; i++) {
		parts->part[i] = p->parts.part[i];
		parts->part[i].options = gpubpf_cl_twin_options(p->parts.part[i].options, image->cwd, &p->pool);
		complete = parts->part[i].options != NULL;
	}
	return complete ? 0 : -ENOMEM;
}

/*
 * Append the probe module as another part. If it calls gpubpf_clock_read(), append the module that defines this
 * function.
 */
static void append_probes(struct gpubpf_cl_parts *parts, const struct gpubpf_twin_piece *probe)
{
	struct gpubpf_cl_part clock = { .kind = GPUBPF_IMAGE_SPIRV, .options = "" };

	parts->part[parts->nparts++] = (struct gpubpf_cl_part){ GPUBPF_IMAGE_SPIRV, probe->blob.data, probe->blob.size,
								"" };
	if (!gpubpf_spv_reads_clock(probe->blob.data, probe->blob.size))
		return;
	clock.data = gpubpf_spv_clock(&clock.size);
	parts->part[parts->nparts++] = clock;
}

/*
 * Write the container with all parts, in which the twin module replaces the original module. If the runtime links
 * parts, the probe module is the container's last part. Otherwise it is a second piece.
 */
static int write_pieces(struct draft *draft, struct gpubpf_spv_image *p, const struct gpubpf_image *image,
			const struct gpubpf_target_opts *opts, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_piece *twin = &draft->out.piece[0], *probe = &draft->out.piece[1];
	bool joined = draft->job->caps->bits & GPUBPF_CAP_LINKS_PARTS;
	struct gpubpf_blob module = { 0 };
	struct gpubpf_cl_parts parts;
	int err = copy_parts(image, p, &parts);

	if (!err)
		err = gpubpf_spv_inject(&p->module, draft->job, draft->wraps, draft->nwraps, &module, diag);
	if (!err && gpubpf_dump_wants(draft->job, "inject"))
		gpubpf_dump_set(draft->job, module.data, module.size);
	if (!err)
		err = gpubpf_target_spirv.emit(draft->job, opts, &probe->blob, diag);
	if (!err) {
		parts.part[p->part].data = module.data;
		parts.part[p->part].size = module.size;
		if (joined)
			append_probes(&parts, probe);
		err = gpubpf_cl_parts_write(&parts, &twin->blob);
	}
	free(module.data);
	twin->kind = GPUBPF_IMAGE_OPENCL_PARTS;
	probe->kind = GPUBPF_IMAGE_SPIRV;
	twin->options = probe->options = "";
	if (err || joined) {
		free(probe->blob.data);
		*probe = (struct gpubpf_twin_piece){ 0 };
	}
	draft->out.npieces = err ? 0 : joined ? 1 : 2;
	return err;
}

int gpubpf_spirv_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
			const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct draft draft = { .job = job };
	struct gpubpf_spv_image p = { 0 };
	int err;

	for (uint32_t i = 0; i < job->ninsertions; i++)
		draft.kinds |= 1u << job->insertions[i].place.kind;
	err = gpubpf_spv_image_read(&p, image, draft.kinds, diag);
	if (err == 0)
		err = make_draft(&draft, &p);
	if (err == 0 && draft.nwraps)
		err = write_pieces(&draft, &p, image, opts, diag);
	gpubpf_spv_image_finish(&p);
	if (err < 0) {
		gpubpf_twin_image_finish(&draft.out);
		return err;
	}
	*out = draft.out;
	return 0;
}
