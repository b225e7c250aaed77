/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds a twin with the vendor's compiler.
 *
 * Does: Lets GPUBPF_WORKER_BUILD compile and link the pieces of the twin. If the compiler refuses probes in one kind of
 * code, the probes are emitted in the next kind. If the compiler crashes, each twin is compiled separately, and kernels
 * whose twins crash it are refused. Before: m->pieces is the output of inject. After: m->pieces is one binary, and its
 * refused kernels have a reason. Requires: Nothing; the pass does nothing if the device's runtime links pieces.
 */
#include "twin_build.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/job.h"
#include "core/session/session.h"

/* Let the vendor's compiler build all twins except those marked in `without`. */
static int build_without(struct gpubpf_twin_build *m, const bool *without, struct gpubpf_twin_image *built, char *log,
			 size_t size)
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
	err = gpubpf_worker_build(m->set->worker[GPUBPF_WORKER_BUILD], &m->req->caps, &pieces, built, log, size, &m->diag);
	free(pieces.refused);
	return err;
}

/*
 * Build each twin separately. If that fails, refuse its kernel and mark the twin in without[]. Returns the number of
 * twins that succeeded, or -errno.
 */
static int find_crashing(struct gpubpf_twin_build *m, bool *without, bool *others, char *log, size_t size)
{
	uint32_t n = m->pieces.ntwins;
	struct gpubpf_twin_image built = { 0 };
	int left = 0, err;

	for (uint32_t i = 0; i < n; i++) {
		struct gpubpf_twin_kernel *k = &m->twin->kernels[m->site_kernel[m->pieces.twins[i]]];

		memset(others, true, n);
		others[i] = false;
		err = gpubpf_twin_build_deadline_passed(m) ? -ETIMEDOUT : build_without(m, others, &built, log, size);
		gpubpf_twin_image_finish(&built);
		if (err == -ECANCELED || err == -ETIMEDOUT || err == -ENOMEM)
			return err;
		without[i] = err < 0;
		left += err >= 0;
		m->twin->transient_failure |= err < 0 && m->diag.code == GPUBPF_E_SYSTEM;
		if (err < 0)
			gpubpf_twin_build_refuse(k, "%s%s",
						 err == -EPIPE ? "the vendor's compiler crashed on its twin: " : "",
						 m->diag.what);
	}
	return left;
}

/*
 * The vendor's compiler has crashed while it compiled all twins together. Compile each twin alone, and refuse the
 * kernels whose twins fail. Then build the other twins together.
 */
static int build_survivors(struct gpubpf_twin_build *m, struct gpubpf_twin_image *built, char *log, size_t size)
{
	uint32_t n = m->pieces.ntwins;
	bool *without = calloc(n, sizeof(*without)), *others = calloc(n, sizeof(*others));
	int left = without && others ? find_crashing(m, without, others, log, size) : -ENOMEM;
	int err = left > 0 ? build_without(m, without, built, log, size) : left < 0 ? left : -EPIPE;

	/*
	 * A refused twin crashed the compiler twice, among the others and alone. So the session caches the refusal, and does
	 * not repeat the builds for each request. In another session the compiler may have more memory, so the disk does not
	 * cache it.
	 */
	m->twin->is_session_only = !left || (left > 0 && err >= 0);
	m->twin->transient_failure |= !m->twin->is_session_only;
	free(without);
	free(others);
	return err;
}

static int build(struct gpubpf_twin_build *m, struct gpubpf_twin_image *built)
{
	struct gpubpf_worker *worker = m->set->worker[GPUBPF_WORKER_BUILD];
	char log[4096] = "", line[160];
	int err = gpubpf_worker_build(worker, &m->req->caps, &m->pieces, built, log, sizeof(log), &m->diag);

	/*
	 * A vendor's linker may accept OpenCL C if it rejects SPIR-V. For example, Intel's 2026.2 rejects some SPIR-V
	 * that it produced itself as invalid.
	 */
	if (err < 0 && err != -ECANCELED && err != -ETIMEDOUT && !gpubpf_twin_build_emit_again(m)) {
		gpubpf_diag_init(&m->diag);
		log[0] = 0;
		err = gpubpf_worker_build(worker, &m->req->caps, &m->pieces, built, log, sizeof(log), &m->diag);
	}
	if (err == -EPIPE && m->pieces.ntwins > 1)
		err = build_survivors(m, built, log, sizeof(log));
	if (err >= 0)
		return 0;
	gpubpf_compiler_log_summary(log, line, sizeof(line));
	if (line[0])
		gpubpf_twin_refuse(m->twin, "the vendor's compiler refused the twin: %s", line);
	return err;
}

int gpubpf_twin_build_vendor(struct gpubpf_twin_build *m, uint32_t step)
{
	struct gpubpf_twin_image built = { 0 };
	int err;

	if (m->req->caps.bits & GPUBPF_CAP_LINKS_PARTS)
		return 0; /* the device's runtime builds the pieces */
	err = build(m, &built);
	if (err < 0)
		return err;
	gpubpf_twin_image_finish(&m->pieces);
	m->pieces = built;
	gpubpf_twin_build_apply_refusals(m);
	return 0;
}
