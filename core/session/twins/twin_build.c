/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a twin (core/worker/job.h) in a builder's thread. It reads the image, selects the programs of each requested
 * kernel, inserts them, and lets the vendor's compiler build the result. After a failure, the twin has a reason for one
 * kernel or for all kernels, and the application launches its original kernels.
 */
#include "twin_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/job.h"
#include "core/session/private.h"
#include "twin_store.h"

/* -- the target -- */

/* Refuse an image of a kind that no target accepts. */
static void refuse_kind(struct gpubpf_twin *twin, enum gpubpf_image_kind kind)
{
	static const char *const why[] = {
		[GPUBPF_IMAGE_OPENCL_BINARY] = "the application loaded a vendor's binary, and its source is unknown; "
					       "empty the application's kernel cache, so that it builds from source",
	};

	if (kind < sizeof(why) / sizeof(why[0]) && why[kind])
		gpubpf_twin_refuse(twin, "%s", why[kind]);
	else
		gpubpf_twin_refuse(twin, "images of this kind (%u) are not supported", kind);
}

/*
 * Returns the kinds of places for which the session has programs. If the session inspects, or a dump ends after the
 * stage inspect, the result also has all other kinds except gpu/insn/.
 */
static uint32_t requested_places(const struct gpubpf_twin_build *m)
{
	uint32_t places = 0;

	for (uint32_t i = 0; i < m->req->unit.nprogs; i++)
		places |= 1u << m->req->unit.progs[i].site;
	if (m->s->opts.inspect || (m->after && !strcmp(m->after, "inspect")))
		places |= ~GPUBPF_SITE_BIT(INSN);
	return gpubpf_target_places(m->target, &m->req->caps) & places;
}

static int inspect(struct gpubpf_twin_build *m, uint32_t step)
{
	struct gpubpf_image image = *m->image;
	int err;

	image.places = requested_places(m);
	err = gpubpf_worker_inspect(gpubpf_twin_build_reader(m), m->target->name, &image, &m->req->caps, &m->infos,
				    &m->ninfos, &m->diag);
	if (!err)
		err = gpubpf_twin_build_select_sites(m);
	if (!err && !m->nsites) /* no program has a place, so the later stages do not run */
		gpubpf_twin_store_set_includes(m->twin, m->req, &m->pieces);
	return err;
}

/*
 * Returns true if the session may use the target. It may not if the user has named another target (--route) that
 * accepts images of this kind.
 */
static bool is_on_route(const struct gpubpf_twin_build *m, const struct gpubpf_target_info *t)
{
	const char *route = m->s->opts.route;
	const struct gpubpf_target_info *named = route ? gpubpf_target_route(route) : NULL;

	return !named || t == named || !(named->images >> m->req->kind & 1);
}

const struct gpubpf_target_info *gpubpf_twin_build_next_target(const struct gpubpf_twin_build *m,
							       const struct gpubpf_target_info *last)
{
	do
		last = gpubpf_target_next_accepting(m->req->kind, last);
	while (last && !is_on_route(m, last));
	return last;
}

void gpubpf_twin_build_apply_refusals(struct gpubpf_twin_build *m)
{
	const struct gpubpf_twin_image *from = &m->pieces;

	for (uint32_t i = 0; i < from->nrefused; i++)
		if (from->refused[i].site < m->nsites)
			gpubpf_twin_build_refuse(&m->twin->kernels[m->site_kernel[from->refused[i].site]], "%s",
						 from->refused[i].reason);
}

bool gpubpf_twin_build_deadline_passed(struct gpubpf_twin_build *m)
{
	uint64_t spent_ms = (gpubpf_now_ns() - m->start_ns) / 1000000;

	if (spent_ms <= gpubpf_session_build_ms(m->s))
		return false;
	gpubpf_twin_refuse(m->twin, "its twin was not built within the limit of %u s",
			   gpubpf_session_build_ms(m->s) / 1000);
	return true;
}

/*
 * Returns true if the kernel has at least one insertion. For example, a kernel without barriers has no insertion if its
 * programs are for barriers.
 */
static bool has_place(const struct gpubpf_twin_build *m, uint32_t kernel)
{
	for (uint32_t i = 0; i < m->nsites; i++)
		if (m->site_kernel[i] == kernel && gpubpf_place_kind(m->sites[i].site)->where != GPUBPF_WHERE_INSN)
			return true;
	for (uint32_t i = 0; i < m->insertions.n; i++)
		if (m->site_kernel[m->insertions.list[i].site] == kernel)
			return true;
	return false;
}

static int publish(struct gpubpf_twin_build *m)
{
	struct gpubpf_twin *t = m->twin;
	struct gpubpf_twin_piece *piece = &m->pieces.piece[0];

	for (uint32_t i = 0; i < m->pieces.ntwins; i++) {
		uint32_t site = m->pieces.twins[i];
		struct gpubpf_twin_kernel *k = site < m->nsites ? &t->kernels[m->site_kernel[site]] : NULL;

		if (!k || k->reason[0])
			continue;
		snprintf(k->twin, sizeof(k->twin), GPUBPF_TWIN_PREFIX "%s", k->name);
		k->flags = GPUBPF_TWIN_ARG_PID | k->stack |
			   (m->target->has_env_params ? GPUBPF_TWIN_ARG_ARENA | GPUBPF_TWIN_ARG_LAUNCH : 0) |
			   (k->recurses ? GPUBPF_TWIN_RECURSES : 0) |
			   (gpubpf_twin_build_next_target(m, m->target) ? GPUBPF_TWIN_OTHER_FORM : 0);
	}
	for (uint32_t i = 0; i < t->nkernels; i++)
		if (!t->kernels[i].twin[0] && has_place(m, i))
			gpubpf_twin_build_refuse(&t->kernels[i], "the compiler did not build its twin");
	if (!m->pieces.npieces)
		return 0;
	t->kind = piece->kind;
	t->route = m->target->name;
	snprintf(t->options, sizeof(t->options), "%s", piece->options ? piece->options : "");
	t->image = piece->blob.data;
	t->size = piece->blob.size;
	*piece = (struct gpubpf_twin_piece){ 0 };
	return 0;
}

/* -- all steps -- */

static void set_step(struct gpubpf_twin_build *m, uint32_t step)
{
	__atomic_store_n(&m->set->step, step, __ATOMIC_RELAXED);
}

/* The time until the probes are injected counts as lowering, and the later time as building. */
static void add_time(struct gpubpf_twin_build *m, enum gpubpf_stage stage)
{
	uint64_t spent_ns = gpubpf_now_ns() - m->start_ns;

	if (stage < GPUBPF_STAGE_BUILD)
		m->twin->lower_ns = spent_ns;
	else
		m->twin->build_ns = spent_ns - m->twin->lower_ns;
}

/*
 * Returns true if the stage has work. The stages until injection need selected programs, and later stages need a twin.
 */
static bool has_work(struct gpubpf_twin_build *m, enum gpubpf_stage stage)
{
	if (stage <= GPUBPF_STAGE_INSPECT)
		return true;
	return (stage < GPUBPF_STAGE_BUILD ? m->nsites : m->pieces.ntwins) && !gpubpf_twin_build_deadline_passed(m);
}

/* Run the steps of the target's route (backends/registry.c) in order. The last stage of a step selects its function. */
int gpubpf_twin_build_run(struct gpubpf_twin_build *m)
{
	static int (*const run[GPUBPF_NSTAGES])(struct gpubpf_twin_build *m, uint32_t step) = {
		[GPUBPF_STAGE_QUERY] = gpubpf_twin_build_query,   [GPUBPF_STAGE_INSPECT] = inspect,
		[GPUBPF_STAGE_EMIT] = gpubpf_twin_build_emit,     [GPUBPF_STAGE_ASSEMBLE] = gpubpf_twin_build_assemble,
		[GPUBPF_STAGE_INJECT] = gpubpf_twin_build_inject, [GPUBPF_STAGE_CHECK] = gpubpf_twin_build_inject,
		[GPUBPF_STAGE_BUILD] = gpubpf_twin_build_vendor,  [GPUBPF_STAGE_FINISH] = gpubpf_twin_build_finish,
	};
	const uint32_t *step = m->target->route;
	int err = 0;

	for (; !err && *step && has_work(m, gpubpf_step_last(*step)); step++) {
		set_step(m, *step);
		err = run[gpubpf_step_last(*step)](m, *step);
		add_time(m, gpubpf_step_last(*step));
		if (m->after && gpubpf_twin_dump_step(m, *step, err))
			return 0;
	}
	return err || *step || !m->pieces.ntwins ? err : publish(m);
}

static void set_refusal(struct gpubpf_twin_build *m, int err)
{
	bool is_crash = err == -EPIPE && !m->twin->is_session_only;

	m->twin->transient_failure |= is_crash || m->diag.code == GPUBPF_E_SYSTEM;
	const char *remedy = m->diag.remedy; /* shown only if it differs from the default remedy of the error code */

	if (m->diag.code == GPUBPF_OK || !strcmp(remedy, gpubpf_error_remedy(m->diag.code)))
		remedy = "";
	switch (err) {
	case -ETIMEDOUT:
		gpubpf_twin_refuse(m->twin, "its twin was not built within the limit of %u s",
				   gpubpf_session_build_ms(m->s) / 1000);
		break;
	case -ECANCELED:
		gpubpf_twin_refuse(m->twin, "the session has ended");
		break;
	case -EPIPE:
		gpubpf_twin_refuse(m->twin, "the compile worker ended unexpectedly: %s", m->diag.what);
		break;
	default:
		gpubpf_twin_refuse(m->twin, "%s%s%s%s%s", m->diag.where, m->diag.where[0] ? ": " : "",
				   m->diag.what[0] ? m->diag.what : strerror(-err), remedy[0] ? "; " : "", remedy);
	}
}

/* -- selection of the target -- */

void gpubpf_twin_build_finish_state(struct gpubpf_twin_build *m)
{
	gpubpf_twin_image_finish(&m->probes);
	gpubpf_twin_image_finish(&m->pieces);
	free(m->answer);
	free(m->infos);
	free(m->sites);
	free(m->site_kernel);
	free(m->insertions.list);
	free(m->progs);
}

/* Returns why the image, or its only kernel, has no twin. Returns "" if there is a twin. */
static const char *failure_reason(const struct gpubpf_twin *t)
{
	const struct gpubpf_twin_kernel *k = &t->kernels[0];

	return t->reason[0] ? t->reason : t->nkernels == 1 && !k->twin[0] ? k->reason : "";
}

/* The result of the previous target. */
struct attempt {
	char reason[sizeof(((struct gpubpf_twin *)0)->reason)];
	bool declined;
};

/*
 * Combine the reasons of the previous target and of `last` in *t. A target that declines the image adds no reason. If
 * neither declined, the text has both reasons, the previous target's first.
 */
static void join_reasons(struct gpubpf_twin *t, const struct attempt *before, const struct gpubpf_target_info *last,
			 bool declined)
{
	char *reason = t->reason[0] ? t->reason : t->kernels[0].reason, after[sizeof(t->reason)];

	if (!before->reason[0] || !failure_reason(t)[0] || !strcmp(before->reason, reason))
		return;
	memcpy(after, reason, sizeof(after));
	if (declined)
		snprintf(reason, sizeof(t->reason), "%s", before->reason);
	else if (!before->declined)
		snprintf(reason, sizeof(t->reason), "%.100s; as %s: %.90s", before->reason, last->meaning, after);
}

/*
 * Build with the first target that accepts the image and succeeds. A target that declines the image returns -ENOENT,
 * and its reason is not reported.
 */
static int try_targets(struct gpubpf_twin_build *m)
{
	struct attempt before = { "" };
	const struct gpubpf_twin_build initial = *m;
	int err;

	for (;;) {
		const struct gpubpf_target_info *next = gpubpf_twin_build_next_target(m, m->target);

		err = gpubpf_twin_build_run(m);
		if (err < 0)
			set_refusal(m, err);
		if (m->twin->image && m->req->unloadable >> m->twin->kind & 1)
			gpubpf_twin_refuse(m->twin, "the runtime could not load its twin as %s", m->target->meaning);
		join_reasons(m->twin, &before, m->target, err == -ENOENT);
		if (!err && !failure_reason(m->twin)[0]) {
			m->twin->route = m->target->name;
			snprintf(m->twin->instead, sizeof(m->twin->instead), "%s", before.reason);
		}
		if (!next || !failure_reason(m->twin)[0] || err == -ECANCELED || err == -ETIMEDOUT || err == -ENOMEM ||
		    gpubpf_twin_build_deadline_passed(m))
			return err;
		snprintf(before.reason, sizeof(before.reason), "%s", failure_reason(m->twin));
		before.declined = err == -ENOENT;
		gpubpf_twin_build_finish_state(m);
		*m = initial;
		m->target = next;
		gpubpf_twin_clear(m->twin);
	}
}

char *gpubpf_twin_kernels(const struct gpubpf_session *s, struct gpubpf_worker_set *set,
			  const struct gpubpf_twin_req *req, const struct gpubpf_image *image)
{
	struct gpubpf_twin_build m = { .s = s, .set = set, .req = req, .image = image };
	char *names = NULL, *to;
	size_t size = 1;
	int err = -ENOENT;

	while (err == -ENOENT && (m.target = gpubpf_twin_build_next_target(&m, m.target))) {
		gpubpf_diag_init(&m.diag);
		err = gpubpf_target_has_stage(m.target, GPUBPF_STAGE_QUERY) ?
			      gpubpf_twin_build_query(&m, GPUBPF_STAGE_BIT(QUERY)) :
			      0;
		if (!err)
			err = gpubpf_worker_inspect(gpubpf_twin_build_reader(&m), m.target->name, m.image, &req->caps,
						    &m.infos, &m.ninfos, &m.diag);
	}
	for (uint32_t i = 0; !err && i < m.ninfos; i++)
		size += strlen(m.infos[i].name) + 1;
	to = names = err < 0 ? NULL : malloc(size);
	for (uint32_t i = 0; names && i < m.ninfos; i++)
		if (!(m.infos[i].flags & GPUBPF_KINFO_FUNCTION) && !m.infos[i].reason[0] && m.infos[i].name[0])
			to = stpcpy(to, m.infos[i].name) + 1;
	if (names)
		*to = 0;
	gpubpf_twin_build_finish_state(&m);
	return names;
}

void gpubpf_twin_make(const struct gpubpf_session *s, struct gpubpf_worker_set *set, const struct gpubpf_twin_req *req,
		      const struct gpubpf_image *image, struct gpubpf_twin *twin)
{
	struct gpubpf_twin_build m = {
		.s = s,
		.set = set,
		.req = req,
		.image = image,
		.twin = twin,
		.start_ns = gpubpf_now_ns(),
	};

	gpubpf_diag_init(&m.diag);
	m.target = gpubpf_twin_build_next_target(&m, NULL);
	if (m.target)
		try_targets(&m);
	else
		refuse_kind(twin, req->kind);
	gpubpf_twin_build_finish_state(&m);
}
