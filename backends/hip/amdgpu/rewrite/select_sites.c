/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: selects the site that runs at each place of a kernel, and refuses places at which no probe can run.
 * Before: the code and patches of the kernel and of the functions that the twin contains.
 * After: the draft has the sites at the kernel's entry and ends, and a body for each site at instructions or in
 * functions.
 * Requires: draft->site_body and draft->bodies are allocated, if the job has sites at instructions or in functions.
 */
#include "select_sites.h"

#include "core/model/diag.h"

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Returns the index + 1 of the body of a site in draft->bodies. Adds the body if it is new. */
static uint32_t find_body(struct hip_draft *draft, const struct gpubpf_lower_job *job, uint32_t site)
{
	uint32_t b = 0;

	while (b < draft->nbodies && draft->bodies[b].site != site)
		b++;
	draft->nbodies = max(draft->nbodies, b + 1);
	draft->bodies[b].site = site;
	draft->bodies[b].kind = job->sites[site].site;
	return b + 1;
}

/* State of the selection in the code of the kernel or of one function. */
struct site_selection {
	const struct hip_part *in; /* the part of the twin; NULL: the kernel's code, in a twin without functions */
	uint32_t counts[GPUBPF_NSITES];
};

static const char *get_function(const struct site_selection *c)
{
	return c->in ? c->in->name : "";
}

/* Returns the reason why no program can run at the instruction, or NULL. */
static const char *find_refusal_reason(const struct hip_patch *patch, enum gpubpf_site kind)
{
	if (kind == GPUBPF_SITE_CALL_EXIT && patch->kind == HIP_PATCH_TAIL)
		return "it ends in a tail call, so its callee returns";
	if (kind == GPUBPF_SITE_CALL && patch->has_back_branch)
		return "a loop branches to its first instruction";
	return patch->kind != HIP_PATCH_ACCESS || gpubpf_place_has_name(kind) ? patch->why : NULL;
}

/* Selects the bodies at the places of patch i, and counts the places of each kind in *c. */
static int select_bodies(struct hip_app_kernel *app, struct gpubpf_inserting *at, uint32_t i, struct site_selection *c,
			 struct hip_draft *draft, struct gpubpf_diag *diag)
{
	struct hip_patch *patch = &app->code.patches[i];
	const char *why;

	for (uint32_t access = 0; access < HIP_MAX_ACCESSES; access++)
		for (uint32_t kind = 0; kind < GPUBPF_NSITES; kind++) {
			uint32_t site, id;

			if (!hip_patch_is_site(patch, access, kind))
				continue;
			id = c->counts[kind]++;
			site = gpubpf_site_at(at, kind, get_function(c), id);
			if (site == UINT32_MAX)
				continue;
			why = find_refusal_reason(patch, kind);
			if (why && c->in && c->in->name[0])
				return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "function %.64s: %s",
						       c->in->name, why);
			if (why)
				return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
						       "%s (at byte %u of its code)", why, patch->off);
			if (gpubpf_place_kind(kind)->spaces && patch->access[access].why)
				return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
						       "probes cannot observe %s (at byte %u of its code)",
						       patch->access[access].why, patch->off);
			draft->site_body[i][access][kind] = (struct hip_site_body){ find_body(draft, at->job, site), id };
		}
	return 0;
}

/* Selects the sites at one s_endpgm of the kernel. All ends share one stub, so they must have the same programs. The
 * programs at block ends must be at every end, because the stub counts all waves of a block. `first`: this is the
 * kernel's first end. */
static int select_end(struct hip_patch *patch, struct gpubpf_inserting *at, struct site_selection *c, bool first,
		      struct hip_draft *draft, struct gpubpf_diag *diag)
{
	uint32_t exit = gpubpf_site_at(at, GPUBPF_SITE_EXIT, get_function(c), c->counts[GPUBPF_SITE_EXIT]++);
	uint32_t end = gpubpf_site_at(at, GPUBPF_SITE_BLOCK_END, get_function(c), c->counts[GPUBPF_SITE_BLOCK_END]++);

	patch->probed = exit != UINT32_MAX;
	patch->counted = end != UINT32_MAX;
	if ((patch->probed || patch->counted) && patch->why)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "probes at its end are not supported: %s (at byte %u of its code)", patch->why,
				       patch->off);
	if (patch->probed && hip_has(draft, HIP_AT_EXIT) && draft->kernel_probe[HIP_AT_EXIT].site != exit)
		return hip_refuse(diag,
				  "programs differ between its exits; gpu/exit/ must run the same programs at each exit");
	if (!first && end != draft->kernel_probe[HIP_AT_END].site)
		return hip_refuse(diag,
				  "programs differ between its ends; gpu/block_end/ must run the same programs at each end");
	if (patch->probed)
		draft->kernel_probe[HIP_AT_EXIT].site = exit;
	draft->kernel_probe[HIP_AT_END].site = end;
	return 0;
}

int hip_select_sites(struct hip_app_kernel *app, const struct gpubpf_lower_job *job, struct hip_draft *draft,
		     struct gpubpf_diag *diag)
{
	struct gpubpf_inserting at = { .job = job, .kernel = job->sites[0].kernel };
	struct site_selection c = { .in = app->parts };
	bool first = true;
	int err = 0;

	draft->kernel_probe[HIP_AT_ENTRY].site = gpubpf_site_at(&at, GPUBPF_SITE_ENTRY, "", 0);
	draft->kernel_probe[HIP_AT_BEGIN].site = gpubpf_site_at(&at, GPUBPF_SITE_BLOCK_BEGIN, "", 0);
	draft->kernel_probe[HIP_AT_EXIT].site = draft->kernel_probe[HIP_AT_END].site = UINT32_MAX;
	for (uint32_t i = 0; !err && i < app->code.npatches; i++) {
		while (c.in && app->code.patches[i].off >= c.in->off + c.in->size)
			c = (struct site_selection){ .in = c.in + 1 };
		if (draft->site_body)
			err = select_bodies(app, &at, i, &c, draft, diag);
		if (!err && app->code.patches[i].kind == HIP_PATCH_END) {
			err = select_end(&app->code.patches[i], &at, &c, first, draft, diag);
			first = false;
		}
	}
	return err ? err : gpubpf_check_all_inserted(&at, diag);
}
