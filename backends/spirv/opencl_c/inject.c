/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: builds the twins of the target wrap. It selects the wrappers of each part, and writes a container of all parts
 * with their wrappers.
 * Before: the image contains kernels in OpenCL C source.
 * After: one piece contains the source of all parts. Kernels that cannot be wrapped are listed in refused[].
 * Requires: the device's OpenCL driver can link programs.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/opencl_c/event/event.h"
#include "backends/spirv/common/env_use.h"
#include "backends/spirv/common/options.h"
#include "core/model/diag.h"
#include "core/lower/ctx.h"
#include "core/lower/dump.h"
#include "image.h"
#include "backends/spirv/opencl_c/write/write.h"

/* the selected wrappers of all parts */
struct draft {
	const struct gpubpf_lower_job *job;
	struct wrap_image *p;
	uint32_t kinds;             /* GPUBPF_SITE_BIT of each place kind in the job's insertions */
	struct gpubpf_wrap **wraps; /* [part]: the part's wrappers */
	uint32_t *nwraps;
	struct gpubpf_twin_image *out;
};

static int refuse(struct draft *draft, uint32_t site, const char *reason)
{
	struct gpubpf_twin_image *out = draft->out;
	struct gpubpf_twin_refusal *list = realloc(out->refused, (out->nrefused + 1) * sizeof(*list));

	if (!list)
		return -ENOMEM;
	out->refused = list;
	list[out->nrefused].site = site;
	snprintf(list[out->nrefused++].reason, sizeof(list->reason), "%.239s", reason);
	return 0;
}

/* -- places of instructions -- */

/* Does a BPF program at the place read the context field? */
static bool reads_field(const struct gpubpf_lower_job *job, const struct cl_place *at, const char *field)
{
	return gpubpf_env_words(job, at->site) >> ctx_word_of(field, at->kind) & 1;
}

static bool hides_value(const struct gpubpf_lower_job *job, const struct cl_place *at, const struct cl_access *a)
{
	bool is_result = a->value == CLREAD_RESULT || a->value == CLREAD_STEP_UP || a->value == CLREAD_STEP_DOWN;
	bool before = gpubpf_place_kind(at->kind)->when == GPUBPF_WHEN_BEFORE;

	if (a->value != CLREAD_HIDDEN && !(is_result && before))
		return false;
	return reads_field(job, at, "mem.value") ||
	       gpubpf_env_words(job, at->site) >> (ctx_word_of("mem.value", at->kind) + 1) & 1;
}

static int check_place(const struct draft *draft, const struct cl_event *e, const struct cl_place *at,
		       struct gpubpf_diag *why)
{
	const char *kind = gpubpf_place_kind(at->kind)->name;
	const struct cl_access *a = &e->access[at->access];

	if (e->unseen)
		return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC, "gpu/%s/ cannot probe %s (line %u)", kind,
				       e->unseen, at->line);
	if (!gpubpf_place_kind(at->kind)->spaces)
		return 0;
	if (a->spaces & ~gpubpf_place_kind(at->kind)->spaces)
		return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "gpu/%s/ cannot determine the memory space of a generic address (line %u); use gpu/mem.all/ or "
				       "gpu/mem_before.all/",
				       kind, at->line);
	if (hides_value(draft->job, at, a))
		return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "a program of gpu/%s/ reads mem.value, but the source has no expression for "
				       "this value (line "
				       "%u)",
				       kind, at->line);
	return 0;
}

/* Find the sites with BPF programs for calls of a function and returns from it. */
static void draft_calls(const struct gpubpf_cl_unit *unit, uint32_t function, struct gpubpf_inserting *at,
			struct gpubpf_wrap *w)
{
	const struct gpubpf_cl_function *f = &unit->function[function];
	struct cl_call_sites *called = &w->called[function];

	called->call = gpubpf_site_at(at, GPUBPF_SITE_CALL, f->name, 0);
	called->call_exit = gpubpf_site_at(at, GPUBPF_SITE_CALL_EXIT, f->name, 0);
	called->has_sites = called->call != UINT32_MAX || called->call_exit != UINT32_MAX;
}

/* Select the places in one function at which the job inserts a site. */
static int draft_function(struct draft *draft, const struct gpubpf_cl_unit *unit, uint32_t function, bool kernel,
			  struct gpubpf_inserting *at, struct gpubpf_wrap *w, struct gpubpf_diag *why)
{
	const struct gpubpf_cl_function *f = &unit->function[function];
	struct cl_place *places = gpubpf_pool_alloc(&draft->p->pool, gpubpf_cl_places(f, draft->kinds, NULL),
						    sizeof(*places));
	uint32_t n = places ? gpubpf_cl_places(f, draft->kinds, places) : 0;
	int err = places ? 0 : -ENOMEM;

	w->places[function] = places;
	if (!kernel && f->signature)
		draft_calls(unit, function, at, w);
	for (uint32_t i = 0; i < n && !err; i++) {
		struct cl_place place = places[i];

		place.site = gpubpf_site_at(at, place.kind, kernel ? "" : f->name, place.id);
		if (place.site == UINT32_MAX)
			continue;
		err = check_place(draft, &f->event[place.event], &place, why);
		places[w->nplaces[function]++] = place;
	}
	return err;
}

static void mark_reached(const struct gpubpf_cl_unit *unit, uint32_t from, bool *reached)
{
	bool more = true;

	reached[from] = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < unit->nfunctions; i++)
			for (uint32_t c = 0; reached[i] && c < unit->function[i].ncallees; c++) {
				more |= !reached[unit->function[i].callee[c]];
				reached[unit->function[i].callee[c]] = true;
			}
	}
}

/*
 * Select the functions that the twin must copy. A function is copied if it has probed places. It is also copied if it
 * calls a copied function, or a function that has sites at its calls or returns. The loop repeats until no function is
 * added.
 */
static void mark_copied_functions(const struct gpubpf_cl_unit *unit, const bool *reached, struct gpubpf_wrap *w)
{
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < unit->nfunctions; i++) {
			bool copied = w->nplaces[i];

			for (uint32_t c = 0; c < unit->function[i].ncallees; c++)
				copied |= w->copied[unit->function[i].callee[c]] ||
					  w->called[unit->function[i].callee[c]].has_sites;
			more |= reached[i] && copied && !w->copied[i];
			w->copied[i] |= reached[i] && copied;
		}
	}
}

/*
 * Check that each function with probed places can be copied, and that calls of it can be replaced by calls of the copy.
 */
static int check_copies(const struct gpubpf_cl_unit *unit, const struct gpubpf_wrap *w, struct gpubpf_diag *why)
{
	for (uint32_t i = 0; i < unit->nfunctions; i++) {
		const struct gpubpf_cl_function *f = &unit->function[i];

		if (w->called[i].has_sites && !f->at)
			return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
					       "cannot insert programs at calls of %.80s: it is %s", f->name, f->why);
		if (!w->copied[i])
			continue;
		if (!f->end)
			return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
					       "cannot copy %.80s, which contains probed places: it is %s", f->name,
					       f->why);
		if (!f->params_end && i != w->kernel->function)
			return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
					       "cannot copy %.80s, which contains probed places: its declaration comes "
					       "from a macro, "
					       "is split by a backslash, or must not be compiled twice",
					       f->name);
		if (f->local && i != w->kernel->function)
			return gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
					       "it calls kernel %.80s, which declares __local variables; the twin "
					       "cannot contain a "
					       "second copy of these",
					       f->name);
		for (uint32_t e = 0; e < f->nevents; e++)
			if (f->event[e].form == CLREAD_FUNCTION && f->event[e].unseen &&
			    (w->copied[f->event[e].function] || w->called[f->event[e].function].has_sites))
				return gpubpf_diag_set(
					why, GPUBPF_E_INJECT, GPUBPF_NOPC,
					"a call of %.80s, which contains probed places, cannot be renamed: %s (line %u)",
					unit->function[f->event[e].function].name, f->event[e].unseen, f->event[e].line);
	}
	return 0;
}

static int draft_inside(struct draft *draft, const struct gpubpf_cl_unit *unit, struct gpubpf_inserting *at,
			struct gpubpf_wrap *w, struct gpubpf_diag *why)
{
	uint32_t n = unit->nfunctions, function = w->kernel->function;
	bool *reached = gpubpf_pool_alloc(&draft->p->pool, n, sizeof(*reached));
	int err = 0;

	w->places = gpubpf_pool_alloc(&draft->p->pool, n, sizeof(*w->places));
	w->nplaces = gpubpf_pool_alloc(&draft->p->pool, n, sizeof(*w->nplaces));
	w->copied = gpubpf_pool_alloc(&draft->p->pool, n, sizeof(*w->copied));
	w->called = gpubpf_pool_alloc(&draft->p->pool, n, sizeof(*w->called));
	if (!reached || !w->places || !w->nplaces || !w->copied || !w->called)
		return -ENOMEM;
	mark_reached(unit, function, reached);
	for (uint32_t i = 0; i < n && !err; i++)
		if (reached[i])
			err = draft_function(draft, unit, i, i == function, at, w, why);
	mark_copied_functions(unit, reached, w);
	if (!err && !w->copied[function]) {
		w->places = NULL;
		w->copied = NULL;
		return 0;
	}
	if (!err)
		err = check_copies(unit, w, why);
	w->copied[function] = false;
	if (!err && unit->error)
		err = gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
				      "clang 22 does not understand the whole OpenCL source (%s), so places may be "
				      "missing",
				      unit->error);
	if (!err && wrap_has_loose_math(draft->p))
		err = gpubpf_diag_set(why, GPUBPF_E_INJECT, GPUBPF_NOPC,
				      "it is compiled with relaxed arithmetic (such as -cl-fast-relaxed-math); probes "
				      "at "
				      "instructions could change its results");
	return err;
}

/* -- kernels -- */

static int draft_kernel(struct draft *draft, uint32_t part, const struct gpubpf_cl_kernel *kernel, uint32_t site)
{
	struct gpubpf_inserting at = { .job = draft->job, .kernel = kernel->info.name };
	struct gpubpf_wrap *w = draft->wraps[part];
	uint32_t n = draft->nwraps[part];
	struct gpubpf_diag why;
	int err = 0;

	if (site >= GPUBPF_WRAP_SITES)
		return refuse(draft, site, "the session probes too many places at once; attach fewer programs");
	while (n && w->kernel != kernel)
		w++, n--;
	if (n)
		return 0;
	if (gpubpf_env_ends_inside(draft->job, kernel->info.name))
		return refuse(draft, site, "a program ends threads (helper 507) at a place other than the kernel's entry");
	*w = (struct gpubpf_wrap){ .kernel = kernel,
				   .first_site = site,
				   .entry = gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0),
				   .exit = gpubpf_site_at(&at, GPUBPF_SITE_EXIT, "", 0),
				   .begin = gpubpf_site_at(&at, GPUBPF_SITE_BLOCK_BEGIN, "", 0),
				   .end = gpubpf_site_at(&at, GPUBPF_SITE_BLOCK_END, "", 0) };
	gpubpf_diag_init(&why);
	if (draft->kinds & (gpubpf_places_of(GPUBPF_WHERE_INSN) | gpubpf_places_of(GPUBPF_WHERE_FUNCTION)))
		err = draft_inside(draft, &draft->p->unit[part], &at, w, &why);
	if (err == -ENOMEM)
		return err;
	if (err < 0 || gpubpf_check_all_inserted(&at, &why) < 0)
		return refuse(draft, site, why.what);
	draft->nwraps[part] += at.nfound > 0;
	return 0;
}

static int draft_site(struct draft *draft, const struct wrap_image *p, uint32_t site)
{
	const char *name = draft->job->sites[site].kernel;

	for (uint32_t i = 0; i < p->parts.nparts; i++) {
		for (uint32_t k = 0; k < p->unit[i].nkernels; k++) {
			const struct gpubpf_cl_kernel *kernel = &p->unit[i].kernel[k];
			const char *reason;

			if (strcmp(kernel->info.name, name) != 0)
				continue;
			reason = wrap_reason(p, kernel, draft->job->caps);
			return reason[0] ? refuse(draft, site, reason) : draft_kernel(draft, i, kernel, site);
		}
	}
	return refuse(draft, site, "its definition was not found in the OpenCL program's source");
}

static int compare_place(const void *a, const void *b)
{
	const struct gpubpf_wrap *x = a, *y = b;

	if (x->kernel->at != y->kernel->at)
		return x->kernel->at < y->kernel->at ? -1 : 1;
	return x->kernel < y->kernel ? -1 : x->kernel > y->kernel;
}

static int make_draft(struct draft *draft, struct wrap_image *p)
{
	uint32_t nparts = p->parts.nparts;
	int err = 0;

	draft->p = p;
	draft->wraps = gpubpf_pool_alloc(&p->pool, nparts, sizeof(*draft->wraps));
	draft->nwraps = gpubpf_pool_alloc(&p->pool, nparts, sizeof(*draft->nwraps));
	if (!draft->wraps || !draft->nwraps)
		return -ENOMEM;
	for (uint32_t i = 0; i < nparts; i++) {
		draft->wraps[i] = gpubpf_pool_alloc(&p->pool, draft->job->nsites, sizeof(**draft->wraps));
		if (!draft->wraps[i])
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < draft->job->nsites && err == 0; i++)
		err = draft_site(draft, p, i);
	for (uint32_t i = 0; i < nparts; i++)
		if (draft->nwraps[i])
			qsort(draft->wraps[i], draft->nwraps[i], sizeof(**draft->wraps), compare_place);
	return err;
}

static int list_twins(const struct draft *draft, uint32_t nparts)
{
	struct gpubpf_twin_image *out = draft->out;

	out->twins = calloc(draft->job->nsites + 1, sizeof(*out->twins));
	if (!out->twins)
		return -ENOMEM;
	for (uint32_t i = 0; i < nparts; i++) {
		for (uint32_t k = 0; k < draft->nwraps[i]; k++)
			out->twins[out->ntwins++] = draft->wraps[i][k].first_site;
	}
	return 0;
}

/* Write the container of all parts with their wrappers. Parts without wrappers stay unchanged. */
static int write_parts(const struct draft *draft, struct wrap_image *p, const char *cwd)
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
		part->options = gpubpf_cl_twin_options(p->source[i].options ? p->source[i].options : part->options, cwd,
						       &p->pool);
		if (!part->options)
			err = -ENOMEM;
		if (err < 0 || part->kind != GPUBPF_IMAGE_OPENCL_C)
			continue;
		err = gpubpf_wrap_write(&p->source[i], &p->unit[i], draft->job, draft->wraps[i], draft->nwraps[i],
					&text[i], &part->size);
		part->data = text[i];
	}
	if (err == 0)
		err = gpubpf_cl_parts_write(&made, &draft->out->piece[0].blob);
	for (uint32_t i = 0; i < made.nparts; i++) {
		if (!err && text[i] && gpubpf_dump_wants(draft->job, "inject"))
			gpubpf_dump_add(draft->job, text[i], made.part[i].size);
		free(text[i]);
	}
	return err;
}

/*
 * Refuse the wrappers that clang cannot compile. The builder later refuses wrappers that the vendor's compiler rejects.
 * Returns the number of refused wrappers, or -errno.
 */
static int refuse_invalid_wrappers(struct draft *draft, uint32_t part, const struct gpubpf_cl_unit *unit)
{
	uint32_t found = 0;

	for (uint32_t k = 0; k < unit->nkernels; k++) {
		const char *wrong = wrap_find_error(unit, &unit->kernel[k]), *name = unit->kernel[k].name;
		struct gpubpf_wrap *w = draft->wraps[part];
		uint32_t n = draft->nwraps[part];
		char reason[240];
		int err;

		while (wrong && n && strcmp(w->kernel->info.name, name + strlen(GPUBPF_TWIN_PREFIX)))
			w++, n--;
		if (!wrong || !n)
			continue;
		snprintf(reason, sizeof(reason), "its wrapper cannot be compiled: %s", wrong);
		err = refuse(draft, w->first_site, reason);
		if (err < 0)
			return err;
		memmove(w, w + 1, (n - 1) * sizeof(*w));
		draft->nwraps[part]--;
		found++;
	}
	return found;
}

/* Read the written source again to find wrappers with errors. Returns the number of removed wrappers, or -errno. */
static int check_wrappers(struct draft *draft, struct gpubpf_diag *diag)
{
	const struct gpubpf_twin_piece *piece = &draft->out->piece[0];
	struct gpubpf_image image = { .data = piece->blob.data, .size = piece->blob.size, .kind = piece->kind, .options = "" };
	struct wrap_image p = { .known_dialects = draft->p->dialect };
	int err = wrap_image_read(&p, &image, 0, draft->job->caps, diag), found = 0;

	for (uint32_t i = 0; err >= 0 && i < p.parts.nparts; i++) {
		err = refuse_invalid_wrappers(draft, i, &p.unit[i]);
		found += err > 0 ? err : 0;
	}
	wrap_image_finish(&p);
	return err < 0 ? err : found;
}

/* Write the source with the wrappers that the draft selected. */
static int write_twins(struct draft *draft, struct wrap_image *p, const char *cwd)
{
	struct gpubpf_twin_image *out = draft->out;
	int err = list_twins(draft, p->parts.nparts);

	if (err < 0 || !out->ntwins)
		return err;
	out->piece[0].kind = GPUBPF_IMAGE_OPENCL_PARTS;
	out->piece[0].options = "";
	out->npieces = 1;
	return write_parts(draft, p, cwd);
}

static void drop_twins(struct gpubpf_twin_image *out)
{
	free(out->twins);
	free(out->piece[0].blob.data);
	out->twins = NULL;
	out->ntwins = out->npieces = 0;
	out->piece[0] = (struct gpubpf_twin_piece){ 0 };
}

int wrap_inject(const struct gpubpf_image *image, const struct gpubpf_lower_job *job,
		const struct gpubpf_target_opts *opts, struct gpubpf_twin_image *out, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_image made = { 0 };
	struct draft draft = { .job = job, .out = &made };
	struct wrap_image p = { 0 };
	int err;

	for (uint32_t i = 0; i < job->ninsertions; i++)
		draft.kinds |= 1u << job->insertions[i].place.kind;
	err = wrap_image_read(&p, image, draft.kinds, job->caps, diag);
	if (err == 0)
		err = make_draft(&draft, &p);
	if (err == 0)
		err = write_twins(&draft, &p, image->cwd);
	while (err == 0 && made.ntwins && opts->validate && (err = check_wrappers(&draft, diag)) > 0) {
		drop_twins(&made);
		err = write_twins(&draft, &p, image->cwd);
	}
	wrap_image_finish(&p);
	if (err < 0) {
		drop_twins(&made);
		free(made.refused);
		return err;
	}
	*out = made;
	return 0;
}
