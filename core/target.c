/* SPDX-License-Identifier: Apache-2.0 */
#include "target.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "wire/match.h"

int gpubpf_twin_init_single(const struct gpubpf_lower_job *job, struct gpubpf_twin_image *out)
{
	out->refused = calloc(job->nsites, sizeof(*out->refused));
	out->twins = calloc(1, sizeof(*out->twins));
	if (!out->refused || !out->twins)
		return -ENOMEM;
	out->ntwins = 1; /* the twin of the first site's kernel */
	for (uint32_t i = 1; i < job->nsites; i++)
		if (strcmp(job->sites[i].kernel, job->sites[0].kernel)) {
			out->refused[out->nrefused].site = i;
			snprintf(out->refused[out->nrefused++].reason, sizeof(out->refused->reason),
				 "a twin of this target contains one kernel");
		}
	return 0;
}

bool gpubpf_target_has_stage(const struct gpubpf_target_info *t, enum gpubpf_stage stage)
{
	const uint32_t *step = t->route;

	while (step && *step && !(*step >> stage & 1))
		step++;
	return step && *step;
}

bool gpubpf_target_emits_for(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps)
{
	return t->output && !gpubpf_target_has_stage(t, GPUBPF_STAGE_ASSEMBLE) &&
	       gpubpf_caps_accept_image(caps, t->output);
}

enum gpubpf_stage gpubpf_step_last(uint32_t step)
{
	enum gpubpf_stage last = GPUBPF_NSTAGES - 1;

	while (last && !(step >> last & 1))
		last--;
	return last;
}

void gpubpf_step_label(uint32_t step, char *label, size_t size)
{
	static const char *const labels[] = {
#define GPUBPF_STAGE(id, name, label, does) [GPUBPF_STAGE_##id] = label,
#include "core/model/stages.def"
	};
	size_t n = 0;

	label[0] = 0;
	for (uint32_t i = 0; i < GPUBPF_NSTAGES && n < size; i++)
		if (step >> i & 1)
			n += snprintf(label + n, size - n, "%s%s", n ? ", " : "", labels[i]);
}

/*
 * Returns true if the steps of the route are in order: each step has only stages that follow all stages of the previous
 * step.
 */
static bool is_in_order(const uint32_t *route)
{
	uint32_t past = 0;

	for (; *route && !(*route & past); route++)
		past = (2u << gpubpf_step_last(*route)) - 1;
	return !*route;
}

void gpubpf_targets_check(void)
{
	const struct gpubpf_target_info *t;

	for (size_t i = 0; (t = gpubpf_target_at(i)); i++) {
		const struct gpubpf_target *ops = t->ops;
		bool ordered = is_in_order(t->route);

		(void)ops, (void)ordered; /* these variables are unused if asserts are disabled */
		assert(t->code && t->code[0]);
		assert(!t->images == !t->places && !(t->places & t->where.places));
		for (size_t k = 0; k < sizeof(t->never) / sizeof(t->never[0]); k++)
			assert(!(t->never[k].places & (t->places | t->where.places)));
		assert(!t->where.places == !t->where.bits && !t->where.places == !t->where.why);
		assert(!ops || ops->validate);
		assert(ordered);
		assert(!gpubpf_target_has_stage(t, GPUBPF_STAGE_INSPECT) == !t->images);
		assert(!ops || !ops->emit == !t->output);
		assert(!ops || !ops->live == !t->machine);
		assert(!ops || !ops->query == !gpubpf_target_has_stage(t, GPUBPF_STAGE_QUERY));
		assert(!ops || (!ops->inspect == !t->images && !ops->inject == !t->images));
	}
}

bool gpubpf_target_is_closed(const struct gpubpf_target_info *t, const char *file)
{
	const char *const *closed = t->closed;

	while (closed && *closed && !gpubpf_pattern_matches(*closed, file))
		closed++;
	return file[0] && closed && *closed;
}

uint32_t gpubpf_target_places(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps)
{
	return t->places | ((caps->bits & t->where.bits) == t->where.bits ? t->where.places : 0);
}

bool gpubpf_target_supports(const struct gpubpf_target_info *t, const struct gpubpf_device_caps *caps,
			    enum gpubpf_site site, char why[GPUBPF_REFUSAL_SIZE])
{
	const char *reason = "see gpubpf kernel list --places";
	size_t room;
	bool cut;
	int n;

	if (gpubpf_target_places(t, caps) >> site & 1)
		return true;
	if (t->where.places >> site & 1)
		reason = t->where.why;
	for (size_t i = 0; i < sizeof(t->never) / sizeof(t->never[0]); i++)
		if (t->never[i].places >> site & 1)
			reason = t->never[i].why;
	n = snprintf(why, GPUBPF_REFUSAL_SIZE, "gpu/%s/ cannot be probed on : %s", gpubpf_place_kind(site)->name, reason);
	assert(n + 16 < GPUBPF_REFUSAL_SIZE);
	room = GPUBPF_REFUSAL_SIZE - 1 - n; /* number of bytes left for the device's name */
	cut = strlen(caps->name) > room;
	snprintf(why, GPUBPF_REFUSAL_SIZE, "gpu/%s/ cannot be probed on %.*s%s: %s", gpubpf_place_kind(site)->name,
		 (int)(cut ? room - 3 : room), caps->name, cut ? "..." : "", reason);
	return false;
}

int gpubpf_insert_at(struct gpubpf_insertions *to, uint32_t site, const struct gpubpf_kernel_info *info, uint32_t i)
{
	if (to->n == to->room) {
		uint32_t room = to->room ? 2 * to->room : 16;
		struct gpubpf_insertion *grown = realloc(to->list, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		to->list = grown;
		to->room = room;
	}
	to->list[to->n] = (struct gpubpf_insertion){ info->places[i], site };
	to->list[to->n++].place.function = info->flags & GPUBPF_KINFO_FUNCTION ? info->name : "";
	return 0;
}

int gpubpf_insert(struct gpubpf_insertions *to, uint32_t site, enum gpubpf_site kind, const struct gpubpf_kernel_info *info)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < info->nplaces; i++)
		if (info->places[i].kind == kind)
			err = gpubpf_insert_at(to, site, info, i);
	return err;
}

static bool is_in_kernel(const struct gpubpf_inserting *in, const struct gpubpf_insertion *i)
{
	return !strcmp(in->job->sites[i->site].kernel, in->kernel);
}

static bool is_at(const struct gpubpf_place *place, enum gpubpf_site kind, const char *function, uint32_t id)
{
	return place->id == id && place->kind == kind && !strcmp(place->function, function);
}

static void list_kinds(struct gpubpf_inserting *in)
{
	for (uint32_t i = 0; !in->listed && i < in->job->ninsertions; i++)
		in->kinds[in->job->insertions[i].place.kind] = true;
	in->listed = true;
}

uint32_t gpubpf_site_at(struct gpubpf_inserting *in, enum gpubpf_site kind, const char *function, uint32_t id)
{
	uint32_t n = in->job->ninsertions;

	list_kinds(in);
	for (uint32_t k = 0; in->kinds[kind] && k < n; k++) {
		uint32_t i = (in->next[kind] + k) % n;
		const struct gpubpf_insertion *at = &in->job->insertions[i];

		if (is_at(&at->place, kind, function, id) && is_in_kernel(in, at)) {
			in->nfound++;
			in->next[kind] = i + 1;
			return at->site;
		}
	}
	return UINT32_MAX;
}

int gpubpf_check_all_inserted(const struct gpubpf_inserting *in, struct gpubpf_diag *diag)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < in->job->ninsertions; i++)
		n += is_in_kernel(in, &in->job->insertions[i]);
	if (n == in->nfound)
		return 0;
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
			       "%u places were not found again in the kernel's code, or were found twice (a bug of gpubpf; please "
			       "report it)",
			       n - in->nfound);
}

const char *gpubpf_worker_program(enum gpubpf_worker_kind kind)
{
	static const char *const programs[GPUBPF_NWORKERS] = {
		[GPUBPF_WORKER_COMPILE] = "gpubpf-compile", [GPUBPF_WORKER_CLREAD] = "gpubpf-clread",
		[GPUBPF_WORKER_BUILD] = "gpubpf-build",     [GPUBPF_WORKER_ASSEMBLE] = "gpubpf-assemble",
		[GPUBPF_WORKER_PTXAS] = "gpubpf-ptxas",
	};

	return programs[kind];
}

bool gpubpf_caps_accept_image(const struct gpubpf_device_caps *caps, enum gpubpf_image_kind kind)
{
	static const uint64_t bits[] = {
		[GPUBPF_IMAGE_SPIRV] = GPUBPF_CAP_ACCEPTS_SPIRV,
		[GPUBPF_IMAGE_OPENCL_C] = GPUBPF_CAP_ACCEPTS_OPENCL_C,
		[GPUBPF_IMAGE_PTX] = GPUBPF_CAP_ACCEPTS_PTX,
		[GPUBPF_IMAGE_CUBIN] = GPUBPF_CAP_ACCEPTS_PTX,
		[GPUBPF_IMAGE_AMDGPU] = GPUBPF_CAP_ACCEPTS_AMDGPU,
	};

	return kind < sizeof(bits) / sizeof(bits[0]) && caps->bits & bits[kind];
}
