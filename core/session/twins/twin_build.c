/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a twin (core/worker/job.h), in a builder's thread: reads the image, selects the programs of each requested
 * kernel, inserts them, and lets the vendor's compiler build the result. After a failure the twin has a reason for one
 * kernel or for all, and the application launches its own kernels.
 */
#include "twin_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/alike.h"
#include "core/worker/job.h"
#include "core/session/session.h"
#include "twin_store.h"

/* -- the target -- */

/* Refuse an image of a kind that no target accepts. */
static void refuse_kind(struct gpubpf_twin *twin, enum gpubpf_image_kind kind)
{
	static const char *const why[] = {
		[GPUBPF_IMAGE_OPENCL_BINARY] = "the program was loaded as a vendor binary, and its source was not "
					       "seen; empty the application's kernel cache, so that it builds from "
					       "source",
	};

	if (kind < sizeof(why) / sizeof(why[0]) && why[kind])
		gpubpf_twin_refuse(twin, "%s", why[kind]);
	else
		gpubpf_twin_refuse(twin, "images of this kind (%u) are not supported yet", kind);
}

/* The kinds of places for which the session has programs; with inspect, all kinds. */
static uint32_t requested_places(const struct gpubpf_twin_build *m)
{
	uint32_t places = 0;

	for (uint32_t i = 0; i < m->req->unit.nprogs; i++)
		places |= 1u << m->req->unit.progs[i].site;
	return gpubpf_target_places(m->target, &m->req->caps) & (m->s->opts.inspect ? ~GPUBPF_SITE_BIT(INSN) : places);
}

static int inspect(struct gpubpf_twin_build *m)
{
	struct gpubpf_image image = *m->image;

	image.places = requested_places(m);
	return gpubpf_worker_inspect(gpubpf_twin_build_reader(m), m->target->name, &image, &m->req->caps, &m->infos,
				     &m->ninfos, &m->diag);
}

/* May the session use the target? Not if the user has named another target (--route) that accepts the image. */
static bool is_on_route(const struct gpubpf_twin_build *m, const struct gpubpf_target_info *t)
{
	const char *route = m->s->opts.route;
	const struct gpubpf_target_info *named = route ? gpubpf_target_route(route) : NULL;

	return !named || t == named || !(named->images >> m->req->kind & 1);
}

/* The next target that accepts the image, after `last`. */
static const struct gpubpf_target_info *next_target(const struct gpubpf_twin_build *m, const struct gpubpf_target_info *last)
{
	do
		last = gpubpf_target_next_accepting(m->req->kind, last);
	while (last && !is_on_route(m, last));
	return last;
}

/* -- insertion -- */

static struct gpubpf_lower_job make_lower_job(const struct gpubpf_twin_build *m)
{
	const struct gpubpf_layout *layout = &m->req->layout;

	return (struct gpubpf_lower_job){
		.unit = &m->req->unit,
		.layouts = layout->maps,
		.layout_hash = layout->hash,
		.granules = gpubpf_layout_granules(layout),
		.print_ring = layout->print_ring,
		.sites = m->sites,
		.nsites = m->nsites,
		.caps = &m->req->caps,
		.insertions = m->insertions.list,
		.ninsertions = m->insertions.n,
		.print_layout = layout->prints,
		.registers = m->req->registers,
		.run_in_maps = m->s->raw,
		.plain_mem = m->s->raw,
		.checked = m->s->raw == GPUBPF_RAW_CHECKED,
	};
}

static const struct gpubpf_target_opts lower_opts = { .opt_level = 2 };

/* The next target after `last` (NULL: the first) that emits probes as a separate piece which fits the pieces of
 * m->target. */
static const struct gpubpf_target_info *find_emitter(const struct gpubpf_twin_build *m,
						     const struct gpubpf_target_info *last)
{
	const struct gpubpf_target_info *t;

	for (size_t i = 0; (t = gpubpf_target_at(i)); i++) {
		if (!last && t->emits && m->target->probes >> t->output & 1 &&
		    gpubpf_caps_accept_image(&m->req->caps, t->output))
			return t;
		last = t == last ? NULL : last;
	}
	return NULL;
}

/* Emit the probes as a separate piece, after the other pieces. */
static int emit_probes(struct gpubpf_twin_build *m)
{
	struct gpubpf_twin_piece *piece = &m->pieces.piece[m->pieces.npieces];
	struct gpubpf_lower_job job = make_lower_job(m);
	int err;

	if (!m->emitter)
		return gpubpf_diag_set(&m->diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
				       "%s accepts probes in no form that gpubpf can emit", m->req->caps.name);
	err = gpubpf_worker_emit(m->set->worker[m->emitter->worker], m->emitter->name, &job, &lower_opts, &piece->blob,
				 &m->diag);
	if (err < 0)
		return err;
	piece->kind = m->emitter->output;
	m->pieces.npieces++;
	return 0;
}

static int inject(struct gpubpf_twin_build *m)
{
	struct gpubpf_lower_job job = make_lower_job(m);
	struct gpubpf_twin_image probes = { 0 };
	struct gpubpf_target_opts opts = lower_opts;
	uint8_t job_digest[GPUBPF_IMAGE_DIGEST];
	int err = m->target->assembled ? gpubpf_twin_build_assemble(m, &job, &lower_opts, &probes) : 0;

	if (!err) {
		opts.probes = probes.piece[0].blob.data;
		opts.probes_size = probes.piece[0].blob.size;
		/* other kernels of the image will be requested */
		if (m->image->digest && !m->target->assembled && !gpubpf_job_fingerprint(&job, job_digest))
			opts.alike = job_digest;
		err = gpubpf_worker_inject(gpubpf_twin_build_reader(m), m->target->name, m->image, &job, &opts,
					   &m->pieces, &m->diag);
	}
	gpubpf_twin_image_finish(&probes);
	if (err < 0 || !m->target->probes || !m->pieces.npieces)
		return err;
	m->emitter = find_emitter(m, NULL);
	return emit_probes(m);
}

/* Emit the probes again, with the next emitter. A vendor's linker may accept OpenCL C where it rejects SPIR-V: Intel's
 * 2026.2 reports some SPIR-V that it produced itself as invalid. */
static int emit_probes_again(struct gpubpf_twin_build *m)
{
	struct gpubpf_twin_piece *last = &m->pieces.piece[m->pieces.npieces - 1];

	m->emitter = m->emitter ? find_emitter(m, m->emitter) : NULL;
	if (!m->emitter)
		return -ENOTSUP;
	free(last->blob.data);
	*last = (struct gpubpf_twin_piece){ 0 };
	m->pieces.npieces--;
	return emit_probes(m);
}

static void apply_refusals(struct gpubpf_twin_build *m, const struct gpubpf_twin_image *from)
{
	for (uint32_t i = 0; i < from->nrefused; i++)
		if (from->refused[i].site < m->nsites)
			gpubpf_twin_build_refuse(&m->twin->kernels[m->site_kernel[from->refused[i].site]], "%s",
						 from->refused[i].reason);
}

/* Must a worker with the vendor's compiler build the pieces, because the runtime does not? */
static bool needs_vendor_build(const struct gpubpf_twin_build *m)
{
	return m->target->builds && !(m->req->caps.bits & GPUBPF_CAP_LINKS_PARTS);
}

/* Has the time limit for building the twin passed? Then refuse the twin. */
static bool deadline_passed(struct gpubpf_twin_build *m)
{
	uint64_t spent_ms = (gpubpf_now_ns() - m->start_ns) / 1000000;

	if (spent_ms <= gpubpf_session_build_ms(m->s))
		return false;
	gpubpf_twin_refuse(m->twin, "its twin was not built within %u s", gpubpf_session_build_ms(m->s) / 1000);
	return true;
}

/* Let the vendor's compiler build all twins except the ones that `without` marks. */
static int build_without(struct gpubpf_twin_build *m, const bool *without, char *log, size_t size)
{
	struct gpubpf_twin_image pieces = m->pieces;
	int err;

	pieces.nrefused = 0;
	pieces.refused = calloc(pieces.ntwins + 1, sizeof(*pieces.refused));
	if (!pieces.refused)
		return -ENOMEM;
	for (uint32_t i = 0; i < pieces.ntwins; i++)
		if (without[i])
			pieces.refused[pieces.nrefused++].site = pieces.twins[i];
	gpubpf_diag_init(&m->diag);
	log[0] = 0;
	err = gpubpf_worker_build(m->set->worker[GPUBPF_WORKER_BUILD], &m->req->caps, &pieces, &m->built, log, size,
				  &m->diag);
	free(pieces.refused);
	return err;
}

/* Build each twin alone. If that fails, refuse its kernel and mark the twin in without[]. Returns the number of other
 * twins, or -errno. */
static int find_crashing(struct gpubpf_twin_build *m, bool *without, bool *others, char *log, size_t size)
{
	uint32_t n = m->pieces.ntwins;
	int left = 0, err;

	for (uint32_t i = 0; i < n; i++) {
		struct gpubpf_twin_kernel *k = &m->twin->kernels[m->site_kernel[m->pieces.twins[i]]];

		memset(others, true, n);
		others[i] = false;
		err = deadline_passed(m) ? -ETIMEDOUT : build_without(m, others, log, size);
		gpubpf_twin_image_finish(&m->built);
		if (err == -ECANCELED || err == -ETIMEDOUT || err == -ENOMEM)
			return err;
		without[i] = err < 0;
		left += err >= 0;
		if (err < 0)
			gpubpf_twin_build_refuse(k, "%s%s",
						 err == -EPIPE ? "the vendor's compiler crashed on its twin: " : "",
						 m->diag.what);
	}
	return left;
}

/* The vendor's compiler crashed on all twins together: refuse the kernels that crash it alone, and build the others. */
static int build_survivors(struct gpubpf_twin_build *m, char *log, size_t size)
{
	uint32_t n = m->pieces.ntwins;
	bool *without = calloc(n, sizeof(*without)), *others = calloc(n, sizeof(*others));
	int left = without && others ? find_crashing(m, without, others, log, size) : -ENOMEM;
	int err = left > 0 ? build_without(m, without, log, size) : left < 0 ? left : -EPIPE;

	m->twin->transient_failure = true; /* do not store the refusal, because the crash may have another cause */
	free(without);
	free(others);
	return err;
}

static int build(struct gpubpf_twin_build *m)
{
	char log[4096] = "", line[160];
	int err;

	if (!needs_vendor_build(m)) {
		m->built = m->pieces;
		m->pieces = (struct gpubpf_twin_image){ 0 };
		gpubpf_twin_build_append_code(m);
		return 0;
	}
	err = gpubpf_worker_build(m->set->worker[GPUBPF_WORKER_BUILD], &m->req->caps, &m->pieces, &m->built, log,
				  sizeof(log), &m->diag);
	if (err < 0 && err != -ECANCELED && err != -ETIMEDOUT && !emit_probes_again(m)) {
		gpubpf_diag_init(&m->diag);
		log[0] = 0;
		err = gpubpf_worker_build(m->set->worker[GPUBPF_WORKER_BUILD], &m->req->caps, &m->pieces, &m->built,
					  log, sizeof(log), &m->diag);
	}
	if (err == -EPIPE && m->pieces.ntwins > 1)
		err = build_survivors(m, log, sizeof(log));
	if (err >= 0)
		return 0;
	gpubpf_compiler_log_summary(log, line, sizeof(line));
	if (line[0])
		gpubpf_twin_refuse(m->twin, "the vendor's compiler refused the twin: %s", line);
	return err;
}

/* Does the kernel have at least one insertion? It has none if its programs are for a kind of instruction that it does
 * not contain. */
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
	struct gpubpf_twin_piece *piece = &m->built.piece[0];

	for (uint32_t i = 0; i < m->built.ntwins; i++) {
		uint32_t site = m->built.twins[i];
		struct gpubpf_twin_kernel *k = site < m->nsites ? &t->kernels[m->site_kernel[site]] : NULL;

		if (!k || k->reason[0])
			continue;
		snprintf(k->twin, sizeof(k->twin), GPUBPF_TWIN_PREFIX "%s", k->name);
		k->flags = GPUBPF_TWIN_ARG_PID | k->stack |
			   (m->target->has_env_params ? GPUBPF_TWIN_ARG_ARENA | GPUBPF_TWIN_ARG_LAUNCH : 0) |
			   (k->recurses ? GPUBPF_TWIN_RECURSES : 0) |
			   (next_target(m, m->target) ? GPUBPF_TWIN_OTHER_FORM : 0);
	}
	for (uint32_t i = 0; i < t->nkernels; i++)
		if (!t->kernels[i].twin[0] && has_place(m, i))
			gpubpf_twin_build_refuse(&t->kernels[i], "the twin was not built");
	if (!m->built.npieces)
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

static void set_stage(struct gpubpf_twin_build *m, const char *stage)
{
	__atomic_store_n(&m->set->stage, stage, __ATOMIC_RELAXED);
}

static int make_steps(struct gpubpf_twin_build *m)
{
	int err;

	set_stage(m, "reading");
	err = gpubpf_twin_build_query(m);
	if (!err)
		err = inspect(m);
	if (!err)
		err = gpubpf_twin_build_select_sites(m);
	set_stage(m, "lowering");
	if (!err && m->nsites && !deadline_passed(m))
		err = inject(m);
	if (!err)
		apply_refusals(m, &m->pieces);
	if (!err)
		gpubpf_twin_store_set_includes(m->twin, m->req, &m->pieces);
	m->twin->lower_ns = gpubpf_now_ns() - m->start_ns;
	if (err < 0 || !m->pieces.ntwins || deadline_passed(m))
		return err;
	set_stage(m, needs_vendor_build(m) ? "the vendor's compiler" : "lowering");
	err = build(m);
	m->twin->build_ns = gpubpf_now_ns() - m->start_ns - m->twin->lower_ns;
	if (err < 0)
		return err;
	apply_refusals(m, &m->built);
	return publish(m);
}

static void set_refusal(struct gpubpf_twin_build *m, int err)
{
	m->twin->transient_failure = err == -EPIPE || m->diag.code == GPUBPF_E_SYSTEM;
	const char *remedy = m->diag.remedy; /* shown only if it is more specific than the error code's default */

	if (m->diag.code == GPUBPF_OK || !strcmp(remedy, gpubpf_error_remedy(m->diag.code)))
		remedy = "";
	switch (err) {
	case -ETIMEDOUT:
		gpubpf_twin_refuse(m->twin, "its twin was not built within %u s", gpubpf_session_build_ms(m->s) / 1000);
		break;
	case -ECANCELED:
		gpubpf_twin_refuse(m->twin, "the session has ended");
		break;
	case -EPIPE:
		gpubpf_twin_refuse(m->twin, "the compile worker died: %s", m->diag.what);
		break;
	default:
		gpubpf_twin_refuse(m->twin, "%s%s%s%s%s", m->diag.where, m->diag.where[0] ? ": " : "",
				   m->diag.what[0] ? m->diag.what : strerror(-err), remedy[0] ? "; " : "", remedy);
	}
}

/* -- selection of the target -- */

static void free_build(struct gpubpf_twin_build *m)
{
	gpubpf_twin_image_finish(&m->pieces);
	gpubpf_twin_image_finish(&m->built);
	free(m->answer);
	free(m->infos);
	free(m->sites);
	free(m->site_kernel);
	free(m->insertions.list);
	free(m->progs);
}

/* Why the image, or its only kernel, has no twin; "": it has one. */
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

/* Combine the reasons of the previous target and of `last` in *t. The reason of a target that declined is dropped; if
 * neither declined, the message has both reasons, the previous target's first. */
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

/* Build with the first target that accepts the image and succeeds. A target that declines (-ENOENT) contributes no
 * reason. */
static int try_targets(struct gpubpf_twin_build *m)
{
	struct attempt before = { "" };
	const struct gpubpf_twin_build initial = *m;
	int err;

	for (;;) {
		const struct gpubpf_target_info *next = next_target(m, m->target);

		err = make_steps(m);
		if (err < 0)
			set_refusal(m, err);
		if (m->twin->image && m->req->unloadable >> m->twin->kind & 1)
			gpubpf_twin_refuse(m->twin, "the runtime did not load its twin as %s", m->target->meaning);
		join_reasons(m->twin, &before, m->target, err == -ENOENT);
		if (!err && !failure_reason(m->twin)[0]) {
			m->twin->route = m->target->name;
			snprintf(m->twin->instead, sizeof(m->twin->instead), "%s", before.reason);
		}
		if (!next || !failure_reason(m->twin)[0] || err == -ECANCELED || err == -ETIMEDOUT || err == -ENOMEM ||
		    deadline_passed(m))
			return err;
		snprintf(before.reason, sizeof(before.reason), "%s", failure_reason(m->twin));
		before.declined = err == -ENOENT;
		free_build(m);
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

	while (err == -ENOENT && (m.target = next_target(&m, m.target))) {
		gpubpf_diag_init(&m.diag);
		err = gpubpf_twin_build_query(&m);
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
	free_build(&m);
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
	m.target = next_target(&m, NULL);
	if (m.target)
		try_targets(&m);
	else
		refuse_kind(twin, req->kind);
	free_build(&m);
}
