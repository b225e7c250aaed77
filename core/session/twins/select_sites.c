/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selects the programs for the places of each kernel, as the second step of a twin's build.
 *
 * Does: Matches the programs of the request with the places of each kernel and of the functions that it calls.
 * Before: m->infos lists the image's kernels and functions with their places.
 * After: m->sites, m->site_kernel, m->progs and m->insertions describe all insertions. A kernel that cannot be probed
 * has a reason.
 * Requires: Verified programs, because the facts show whether a program can run on the device.
 */
#include "twin_build.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "called_functions.h"
#include "core/model/param.h"
#include "core/wire/match.h"
#include "core/session/base/named_places.h"
#include "core/session/private.h"
#include "core/session/base/signature.h"

#define MAX_SITES (GPUBPF_NSITES * (GPUBPF_MAX_SETS + GPUBPF_MAX_CALLS)) /* maximum sites of one kernel */

/* Returns the kinds of places that the target supports on the device. */
static uint32_t supported_places(const struct gpubpf_twin_build *m)
{
	return gpubpf_target_places(m->target, &m->req->caps);
}

static const struct gpubpf_kernel_info *find_info(const struct gpubpf_twin_build *m, const char *name)
{
	for (uint32_t i = 0; i < m->ninfos; i++)
		if (!(m->infos[i].flags & GPUBPF_KINFO_FUNCTION) && !strcmp(m->infos[i].name, name))
			return &m->infos[i];
	return NULL;
}

void gpubpf_twin_build_refuse(struct gpubpf_twin_kernel *k, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (gpubpf_reason_set(k->reason, sizeof(k->reason), fmt, ap))
		k->twin[0] = 0;
	va_end(ap);
}

/*
 * Returns true if the program needs the same frames of the launch's host stack as the kernel's other programs. A launch
 * can pass only one stack id.
 */
static bool stack_fits(const struct gpubpf_prog *prog, struct gpubpf_twin_kernel *k)
{
	uint32_t needed = GPUBPF_TWIN_STACK | (uint32_t)prog->facts->stack_skip << GPUBPF_TWIN_STACK_SKIP |
			  (uint32_t)prog->facts->stack_depth << GPUBPF_TWIN_STACK_DEPTH;

	if (!prog->facts->stack_ids)
		return true;
	if (k->stack && k->stack != needed) {
		gpubpf_twin_build_refuse(k,
					 "program %s requests stacks (helper 27) with other flags than another "
					 "program of the kernel; use the same skip count and depth in both",
					 prog->name);
		return false;
	}
	k->stack = needed;
	return true;
}

/*
 * Returns true if the program can run in this kernel. The device must have what the program uses, such as a clock.
 * `where` is the kernel or function that has the place; it must have the parameters that the program names.
 */
static bool program_fits(const struct gpubpf_twin_build *m, const struct gpubpf_prog *prog,
			 const struct gpubpf_kernel_info *info, const struct gpubpf_kernel_info *where,
			 struct gpubpf_twin_kernel *k)
{
	const struct gpubpf_device_caps *caps = &m->req->caps;
	char why[200];

	if (prog->facts->clock && caps->clock == GPUBPF_CLOCK_NONE) {
		gpubpf_twin_build_refuse(k, "program %s reads a clock and %s has none", prog->name, caps->name);
		return false;
	}
	if (prog->facts->sm && !(caps->bits & GPUBPF_CAP_SM_ID)) {
		gpubpf_twin_build_refuse(k,
					 "program %.30s reads the multiprocessor number (sm, helper 509), which "
					 "%.60s does not report (capability SM_ID); use the block number (bid, "
					 "ctx->block_idx)",
					 prog->name, caps->name);
		return false;
	}
	if (prog->facts->allocations && !(caps->bits & GPUBPF_CAP_ALLOCATIONS)) {
		gpubpf_twin_build_refuse(k,
					 "program %s reads the application's allocations (helpers 4, 45, 112 to 115, "
					 "523, 526), whose addresses are unknown on %s (capability ALLOCATIONS)",
					 prog->name, caps->name);
		return false;
	}
	if (prog->facts->ends_thread && prog->site != GPUBPF_SITE_EXIT && !(caps->bits & GPUBPF_CAP_EXIT_THREAD)) {
		gpubpf_twin_build_refuse(k,
					 "program %s ends threads (helper 507), but in this form of code single "
					 "threads cannot end (capability EXIT_THREAD)",
					 prog->name);
		return false;
	}
	if (prog->facts->ends_thread && prog->site != GPUBPF_SITE_EXIT && info->flags & GPUBPF_KINFO_BARRIER) {
		gpubpf_twin_build_refuse(k,
					 "program %s ends threads (helper 507), but the kernel has a barrier, which "
					 "all threads must reach",
					 prog->name);
		return false;
	}
	if (gpubpf_params_fit(&m->req->unit, prog, where->params, where->nparams, why, sizeof(why)) < 0) {
		gpubpf_twin_build_refuse(k, "program %.30s: %s", prog->name, why);
		return false;
	}
	return stack_fits(prog, k);
}

/*
 * Returns true if the site already has this program. Each --attach option for a program adds a link, and several of
 * these may match the kernel.
 */
static bool runs_already(const struct gpubpf_unit *unit, const struct gpubpf_site_desc *desc, const struct gpubpf_prog *prog)
{
	for (uint32_t i = 0; i < desc->nprogs; i++) {
		const struct gpubpf_prog *other = &unit->progs[desc->progs[i]];

		if (other->object == prog->object && !strcmp(other->name, prog->name) &&
		    !strcmp(other->section, prog->section))
			return true;
	}
	return false;
}

/* Refuse the kernel, because a probe in a recursive function would use stack memory at every depth of the recursion. */
static void refuse_recursion(struct gpubpf_twin_kernel *k)
{
	gpubpf_twin_build_refuse(k, "it calls a recursive function; probes in that function need stack memory that the "
				    "application did not reserve");
}

static struct gpubpf_named_scope named_in(const struct gpubpf_twin_build *m, const struct gpubpf_kernel_info *info,
					  const bool *calls)
{
	return (struct gpubpf_named_scope){ m->infos, info, calls, m->ninfos };
}

/*
 * Insert the site at every place of its kind. For named places, insert it only where the set of programs matches. A
 * kernel may also exit inside functions that it calls, so these are searched too.
 */
static int insert_site(struct gpubpf_twin_build *m, uint32_t site, const struct gpubpf_kernel_info *info,
		       const struct gpubpf_kernel_info *where, const bool *calls, uint64_t set)
{
	struct gpubpf_named_scope in = named_in(m, info, calls);
	enum gpubpf_site kind = m->sites[site].site;
	int err;

	if (set)
		return gpubpf_named_insert(&m->req->unit, &in, kind, set, site, &m->insertions);
	err = gpubpf_insert(&m->insertions, site, kind, where);

	for (uint32_t i = 0; !err && where == info && i < m->ninfos; i++)
		if (calls[i] && m->infos[i].name[0])
			err = gpubpf_insert(&m->insertions, site, kind, &m->infos[i]);
	return err;
}

/*
 * Returns true if the program is for this kind of site and matches the kernel, or `function` if it is set. If `set` is
 * not 0, it decides instead. It is a bit mask of programs for this kind of site, and *bit counts these programs.
 */
static bool is_matching(const struct gpubpf_twin_build *m, uint32_t kernel, const struct gpubpf_prog *prog,
			enum gpubpf_site site, const struct gpubpf_kernel_info *function, uint64_t set, uint32_t *bit)
{
	if (prog->site != site)
		return false;
	if (set)
		return *bit < GPUBPF_MAX_NAMED && set >> (*bit)++ & 1;
	return gpubpf_pattern_matches(prog->pattern, function ? function->name : m->req->kernels[kernel].whole);
}

/*
 * Add a site with all matching programs. If one of them cannot run in the kernel, refuse the kernel, because a kernel
 * with only some of its probes would count wrong.
 */
static bool add_site(struct gpubpf_twin_build *m, uint32_t kernel, const struct gpubpf_kernel_info *info,
		     enum gpubpf_site site, const struct gpubpf_kernel_info *function, const bool *calls, uint64_t set)
{
	struct gpubpf_twin_kernel *k = &m->twin->kernels[kernel];
	struct gpubpf_site_desc *desc = &m->sites[m->nsites];
	const struct gpubpf_unit *unit = &m->req->unit;
	const struct gpubpf_kernel_info *where = function ? function : info;
	uint32_t bit = 0, first_insertion = m->insertions.n;

	*desc = (struct gpubpf_site_desc){
		.site = site,
		.params = where->params,
		.nparams = where->nparams,
		.progs = m->progs + m->nprogs,
		.may_end_thread = site == GPUBPF_SITE_EXIT ||
				  ((m->req->caps.bits & GPUBPF_CAP_EXIT_THREAD) && !(info->flags & GPUBPF_KINFO_BARRIER)),
	};
	memcpy(desc->kernel, k->name, sizeof(desc->kernel));
	if (function)
		memcpy(desc->function, function->name, sizeof(desc->function));
	for (uint32_t i = 0; i < unit->nprogs; i++) {
		if (!is_matching(m, kernel, &unit->progs[i], site, function, set, &bit) ||
		    runs_already(unit, desc, &unit->progs[i]))
			continue;
		if (site == GPUBPF_SITE_EXIT && info->flags & GPUBPF_KINFO_ENTRY_ONLY)
			gpubpf_twin_build_refuse(k, "%s", info->reason);
		if (k->reason[0] || !program_fits(m, &unit->progs[i], info, where, k))
			return false;
		m->progs[m->nprogs + desc->nprogs++] = i;
		if (unit->progs[i].facts->ctx_kernel || unit->progs[i].facts->prints)
			/*
			 * Set the id only if a program uses it. The id depends on the order of kernels in the session,
			 * so it would make cache keys differ between sessions.
			 */
			desc->kernel_id = k->id;
	}
	if (!desc->nprogs)
		return true;
	if (k->recurses && gpubpf_place_kind(site)->where == GPUBPF_WHERE_INSN) {
		refuse_recursion(k);
		return false;
	}
	if (insert_site(m, m->nsites, info, where, calls, set) < 0) {
		gpubpf_twin_build_refuse(k, "out of memory");
		return false;
	}
	for (uint32_t i = 0; !set && m->insertions.n > first_insertion && i < desc->nprogs; i++)
		if (desc->progs[i] < GPUBPF_PLAN_LINKS)
			k->named[desc->progs[i] / 8] |= 1 << desc->progs[i] % 8;
	m->nprogs += desc->nprogs;
	m->site_kernel[m->nsites++] = kernel;
	return true;
}

/* Add a site in each function that the kernel calls and that a program for functions matches. */
static bool add_calls(struct gpubpf_twin_build *m, uint32_t kernel, const struct gpubpf_kernel_info *info, const bool *calls)
{
	struct gpubpf_twin_kernel *k = &m->twin->kernels[kernel];
	uint32_t places = supported_places(m) & gpubpf_places_of(GPUBPF_WHERE_FUNCTION), n = 0;
	const struct gpubpf_unit *unit = &m->req->unit;

	for (uint32_t i = 0; i < m->ninfos; i++) {
		if (!calls[i] || !m->infos[i].name[0] || !gpubpf_calls_match(unit, m->infos[i].name))
			continue;
		if (m->infos[i].reason[0])
			gpubpf_twin_build_refuse(k, "function %s: %s", m->infos[i].name, m->infos[i].reason);
		else if (k->recurses)
			refuse_recursion(k);
		else if (++n > GPUBPF_MAX_CALLS)
			gpubpf_twin_build_refuse(k,
						 "it calls more than %d functions that patterns of programs match; "
						 "use narrower patterns",
						 GPUBPF_MAX_CALLS);
		if (k->reason[0])
			return false;
		for (uint32_t site = 0; site < GPUBPF_NSITES; site++)
			if (places >> site & 1 && !add_site(m, kernel, info, site, &m->infos[i], calls, 0))
				return false;
	}
	return true;
}

/* Add a site for each different set of programs at the kernel's named places of a kind. */
static bool add_named(struct gpubpf_twin_build *m, uint32_t kernel, const struct gpubpf_kernel_info *info,
		      enum gpubpf_site site, const bool *calls)
{
	struct gpubpf_named_scope in = named_in(m, info, calls);
	uint64_t sets[GPUBPF_MAX_SETS];
	uint32_t n = gpubpf_named_sets(&m->req->unit, &in, site, sets);

	if (n > GPUBPF_MAX_SETS) {
		gpubpf_twin_build_refuse(&m->twin->kernels[kernel],
					 "programs form more than %d different combinations at its places of "
					 "gpu/%s/; use fewer programs",
					 GPUBPF_MAX_SETS, gpubpf_place_kind(site)->name);
		return false;
	}
	gpubpf_named_mark(&m->req->unit, site, sets, n, m->twin->kernels[kernel].named);
	for (uint32_t i = 0; i < n; i++)
		if (!add_site(m, kernel, info, site, NULL, calls, sets[i]))
			return false;
	return true;
}

/* Add sites at the kernel's own places, such as its entry, and at its instructions. */
static bool add_kernel(struct gpubpf_twin_build *m, uint32_t kernel, const struct gpubpf_kernel_info *info,
		       const bool *calls)
{
	uint32_t places = supported_places(m) &
			  (gpubpf_places_of(GPUBPF_WHERE_KERNEL) | gpubpf_places_of(GPUBPF_WHERE_INSN));

	for (uint32_t site = 0; site < GPUBPF_NSITES; site++)
		if (places >> site & 1 && !(gpubpf_place_has_name(site) ? add_named(m, kernel, info, site, calls) :
									  add_site(m, kernel, info, site, NULL, calls, 0)))
			return false;
	return true;
}

/* List the kernel's places for inspect. Places of gpu/insn/ are omitted, because there are too many. */
static bool list_places(const struct gpubpf_twin_build *m, struct gpubpf_twin_kernel *k,
			const struct gpubpf_kernel_info *info, const bool *calls)
{
	uint32_t kinds = supported_places(m) & ~GPUBPF_SITE_BIT(INSN);

	if (k->entry_only)
		kinds &= GPUBPF_SITE_BIT(ENTRY);
	if (k->recurses)
		kinds &= ~gpubpf_places_of(GPUBPF_WHERE_FUNCTION);
	k->places = gpubpf_places_list(m->infos, m->ninfos, info, calls, kinds, &k->nplaces);
	return k->places;
}

/*
 * Add sites in the kernel and in the functions that it calls. For a program in functions, agents request twins of all
 * kernels, because only the kernel's code shows whether it calls such a function.
 */
static bool add_sites(struct gpubpf_twin_build *m, uint32_t kernel, const struct gpubpf_kernel_info *info)
{
	bool inspect = m->s->opts.inspect, functions = supported_places(m) & gpubpf_places_of(GPUBPF_WHERE_FUNCTION), fits;
	struct gpubpf_twin_kernel *k = &m->twin->kernels[kernel];
	bool *calls = gpubpf_calls_find(m->infos, m->ninfos, info);

	k->recurses = calls && gpubpf_calls_is_recursive(m->infos, m->ninfos, calls);
	if (calls && functions)
		k->functions = gpubpf_calls_list(m->infos, m->ninfos, calls, &m->req->unit);
	fits = calls && (!functions || k->functions) && (!inspect || list_places(m, k, info, calls));
	if (!fits)
		gpubpf_twin_build_refuse(k, "out of memory");
	if (fits && !inspect)
		fits = add_calls(m, kernel, info, calls) && add_kernel(m, kernel, info, calls);
	free(calls);
	return fits;
}

/* If a site of the kernel, from index `from` on, uses the kernel's id, set the id in all sites of the kernel. */
static void share_id(struct gpubpf_twin_build *m, uint32_t from)
{
	uint64_t id = 0;

	for (uint32_t i = from; i < m->nsites; i++)
		id = m->sites[i].kernel_id ? m->sites[i].kernel_id : id;
	for (uint32_t i = from; i < m->nsites; i++)
		m->sites[i].kernel_id = id;
}

/*
 * Returns true if the target supports the places of all programs that may match the kernel. Otherwise refuses the
 * kernel.
 */
static bool places_fit(const struct gpubpf_twin_build *m, uint32_t kernel)
{
	const struct gpubpf_unit *unit = &m->req->unit;
	const char *name = m->req->kernels[kernel].whole;
	struct gpubpf_twin_kernel *k = &m->twin->kernels[kernel];
	char why[GPUBPF_REFUSAL_SIZE];

	for (uint32_t i = 0; i < unit->nprogs; i++) {
		const struct gpubpf_prog *prog = &unit->progs[i];

		if (gpubpf_place_kind(prog->site)->names == GPUBPF_NAMES_KERNEL &&
		    !gpubpf_pattern_matches(prog->pattern, name))
			continue;
		if (gpubpf_target_supports(m->target, &m->req->caps, prog->site, why))
			continue;
		_Static_assert(sizeof("program : ") + sizeof(prog->name) + sizeof(why) <= sizeof(k->reason) + 2,
			       "it is whole");
		gpubpf_twin_build_refuse(k, "program %s: %s", prog->name, why);
		return false;
	}
	return true;
}

static void select_kernel_sites(struct gpubpf_twin_build *m, uint32_t kernel)
{
	struct gpubpf_twin_kernel *k = &m->twin->kernels[kernel];
	const struct gpubpf_kernel_info *info = find_info(m, k->name);
	uint32_t nsites = m->nsites, nprogs = m->nprogs, old_ninsertions = m->insertions.n;

	if (!info)
		gpubpf_twin_build_refuse(k, "the application's image for the device has no kernel of this name");
	else if (!m->s->opts.closed_libraries && gpubpf_target_is_closed(m->target, m->req->from))
		gpubpf_twin_build_refuse(k,
					 "its code is from %.60s, whose licence may forbid changes; use "
					 "--closed-libraries to allow them",
					 m->req->from);
	else if (info->reason[0] && (m->s->opts.inspect || !(info->flags & GPUBPF_KINFO_ENTRY_ONLY)))
		gpubpf_twin_build_refuse(k, "%s", info->reason);
	else if (k->id == UINT32_MAX)
		gpubpf_twin_build_refuse(k, "the session already has %u kernels, which is the maximum",
					 GPUBPF_MAX_KERNEL_IDS);
	k->entry_only = info && info->flags & GPUBPF_KINFO_ENTRY_ONLY;
	k->signature = info ? gpubpf_signature_create(info->params, info->nparams) : NULL;
	if (k->reason[0] && !(m->s->opts.inspect && k->entry_only))
		return;
	k->nparams = info->nparams;
	if ((!m->s->opts.inspect && !places_fit(m, kernel)) || !add_sites(m, kernel, info)) {
		m->nsites = nsites;
		m->nprogs = nprogs;
		m->insertions.n = old_ninsertions;
	} else if (!m->s->opts.inspect && m->nsites == nsites && !gpubpf_calls_first_program(&m->req->unit) &&
		   !gpubpf_named_first_program(&m->req->unit)) {
		gpubpf_twin_build_refuse(k, "no program matches it");
	}
	share_id(m, nsites);
}

int gpubpf_twin_build_select_sites(struct gpubpf_twin_build *m)
{
	size_t n = m->twin->nkernels, max_sites = GPUBPF_NSITES;

	if (gpubpf_calls_first_program(&m->req->unit) || gpubpf_named_first_program(&m->req->unit))
		max_sites = MAX_SITES;
	m->sites = calloc(max_sites * n, sizeof(*m->sites));
	m->site_kernel = calloc(max_sites * n, sizeof(*m->site_kernel));
	m->progs = calloc(max_sites * n * m->req->unit.nprogs + 1, sizeof(*m->progs));
	if (!m->sites || !m->site_kernel || !m->progs)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		select_kernel_sites(m, i);
	return 0;
}
