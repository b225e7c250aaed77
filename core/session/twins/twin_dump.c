/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the twin of one kernel up to a stage or pass, and returns the code after it.
 *
 * Does: Runs the steps of the kernel's route in new workers. Before: Verified programs and a layout of their maps.
 * After: The code that the stage or pass produced. Requires: The workers that the steps of the route need.
 */
#include "twin_dump.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/session.h"
#include "core/wire/name.h"
#include "core/worker/job.h"
#include "twin_build.h"

static const char *const stage_names[] = {
#define GPUBPF_STAGE(id, name, label, does) [GPUBPF_STAGE_##id] = name,
#include "core/model/stages.def"
};

static int set_code(struct gpubpf_blob *to, const void *data, size_t size)
{
	void *copy = malloc(size + 1);

	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, size);
	free(to->data);
	*to = (struct gpubpf_blob){ copy, size };
	return 0;
}

/* List the kernels of the image and their places, one per line. */
static int list_places(const struct gpubpf_twin_build *m, struct gpubpf_blob *to)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	for (uint32_t i = 0; f && i < m->ninfos; i++) {
		const struct gpubpf_kernel_info *info = &m->infos[i];

		fprintf(f, "%s %s%s%s\n", info->flags & GPUBPF_KINFO_FUNCTION ? "function" : "kernel", info->name,
			info->reason[0] ? ": " : "", info->reason);
		for (uint32_t k = 0; k < info->nplaces; k++)
			fprintf(f, "  gpu/%s/ id %u line %u%s%s\n", gpubpf_place_kind(info->places[k].kind)->name,
				info->places[k].id, info->places[k].line, info->places[k].name[0] ? " " : "",
				info->places[k].name);
	}
	if (!f || fclose(f))
		return -ENOMEM;
	free(to->data);
	*to = (struct gpubpf_blob){ text, size };
	return 0;
}

static void copy_piece(const struct gpubpf_twin_image *from, struct gpubpf_blob *to)
{
	if (from->npieces)
		set_code(to, from->piece[0].blob.data, from->piece[0].blob.size);
}

static void copy_answer(struct gpubpf_twin_build *m)
{
	if (m->answer[0] == '!')
		gpubpf_twin_refuse(m->twin, "the device's compiler did not answer: %s", m->answer + 1);
	else
		set_code(m->dump, m->answer, strlen(m->answer));
}

/*
 * Copy the output of the stage to m->dump. If the stage is not the last one of its job, the worker has already done
 * this.
 */
static void copy_output(struct gpubpf_twin_build *m, enum gpubpf_stage stage)
{
	if (stage == GPUBPF_STAGE_QUERY && m->answer)
		copy_answer(m);
	else if (stage == GPUBPF_STAGE_INSPECT)
		list_places(m, m->dump);
	else if (stage == GPUBPF_STAGE_EMIT || stage == GPUBPF_STAGE_ASSEMBLE)
		copy_piece(&m->probes, m->dump);
	else if (stage == GPUBPF_STAGE_FINISH && m->twin->code.data)
		set_code(m->dump, m->twin->code.data, m->twin->code.size);
	else if (stage >= GPUBPF_STAGE_INJECT)
		copy_piece(&m->pieces, m->dump);
}

bool gpubpf_twin_dump_step(struct gpubpf_twin_build *m, uint32_t step, int err)
{
	bool reached = false;

	for (enum gpubpf_stage stage = 0; !err && stage < GPUBPF_NSTAGES && !m->dump->data; stage++) {
		if (!(step >> stage & 1) || strcmp(stage_names[stage], m->after))
			continue;
		copy_output(m, stage);
		reached = true;
	}
	return m->dump->data || (reached && m->twin->reason[0]);
}

static int open_workers(struct gpubpf_worker_set *set)
{
	int err = 0;

	for (int kind = 0; !err && kind < GPUBPF_NWORKERS; kind++) {
		struct gpubpf_worker_opts opts = { .kind = kind };

		err = gpubpf_worker_create(&opts, &set->worker[kind]);
	}
	return err;
}

static void close_workers(struct gpubpf_worker_set *set)
{
	for (int kind = 0; kind < GPUBPF_NWORKERS; kind++)
		gpubpf_worker_destroy(set->worker[kind]);
}

/* Store in why[] why there is no code after the stage. */
static int set_why(const struct gpubpf_twin_build *m, int err, char why[GPUBPF_DUMP_REASON_SIZE])
{
	const struct gpubpf_twin *t = m->twin;
	const char *reason = err < 0 && m->diag.what[0] ? m->diag.what :
			     t->reason[0]               ? t->reason :
			     t->kernels[0].reason[0]    ? t->kernels[0].reason :
							  "";

	if (reason[0])
		snprintf(why, GPUBPF_DUMP_REASON_SIZE, "%s", reason);
	else if (err < 0)
		snprintf(why, GPUBPF_DUMP_REASON_SIZE, "%s", strerror(-err));
	else
		snprintf(why, GPUBPF_DUMP_REASON_SIZE, "its route %s has no code after %s", m->target->name, m->after);
	return err < 0 ? err : -ENODATA;
}

static int try_targets(struct gpubpf_twin_build *m, char why[GPUBPF_DUMP_REASON_SIZE])
{
	const struct gpubpf_twin_build initial = *m;
	int err = -EINVAL;

	snprintf(why, GPUBPF_DUMP_REASON_SIZE, "no route accepts files of this kind");
	while ((m->target = gpubpf_twin_build_next_target(m, m->target))) {
		const struct gpubpf_target_info *target = m->target;

		gpubpf_twin_clear(m->twin);
		err = gpubpf_twin_build_run(m);
		if (m->dump->data)
			return 0;
		err = set_why(m, err, why);
		gpubpf_twin_build_finish_state(m);
		*m = initial;
		m->target = target;
	}
	return err;
}

int gpubpf_twin_dump(const struct gpubpf_session *s, const struct gpubpf_twin_dump_opts *opts, struct gpubpf_blob *code,
		     const char **route, char why[GPUBPF_DUMP_REASON_SIZE])
{
	struct gpubpf_requested_kernel kernel = { .whole = (char *)opts->kernel };
	struct gpubpf_twin_req req = { .caps = *opts->caps,
				       .layout = *opts->layout,
				       .kind = opts->image->kind,
				       .kernels = &kernel,
				       .nkernels = 1,
				       .unit = *opts->unit };
	struct gpubpf_worker_set set = { 0 };
	struct gpubpf_twin_build m = { .s = s,
				       .set = &set,
				       .req = &req,
				       .image = opts->image,
				       .after = opts->after,
				       .dump = code,
				       .start_ns = gpubpf_now_ns() };
	int err = open_workers(&set);

	*code = (struct gpubpf_blob){ 0 };
	gpubpf_name_short(opts->kernel, strlen(opts->kernel), kernel.name);
	m.twin = err ? NULL : gpubpf_twin_new(&req);
	gpubpf_diag_init(&m.diag);
	if (m.twin)
		err = try_targets(&m, why);
	else
		snprintf(why, GPUBPF_DUMP_REASON_SIZE, "%s", strerror(ENOMEM));
	*route = m.target ? m.target->name : "";
	gpubpf_twin_build_finish_state(&m);
	if (m.twin)
		gpubpf_twin_put(m.twin);
	close_workers(&set);
	return m.twin ? err : -ENOMEM;
}
