/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Emits the probes of a twin and injects them.
 *
 * Does: Lets workers lower and emit the selected programs, and insert them into a copy of the kernel. Before: The sites
 * and insertions of the twin are selected. After: m->pieces has the twin, for the vendor's compiler or for the agent.
 * Requires: If the route has a job that only emits, a target whose output m->target accepts.
 */
#include "twin_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/worker/alike.h"
#include "core/worker/job.h"
#include "core/session/session.h"
#include "twin_store.h"

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
		.run_in_maps = gpubpf_session_raw(m->s),
		.plain_mem = gpubpf_session_raw(m->s),
		.checked = gpubpf_session_raw(m->s) == GPUBPF_RAW_CHECKED,
	};
}

static struct gpubpf_target_opts make_opts(const struct gpubpf_twin_build *m)
{
	return (struct gpubpf_target_opts){ .opt_level = 2, .after = m->after, .dump = m->dump };
}

/* Returns the next target after `last` (NULL: the first) that emits probes as a kind of code that m->target accepts. */
static const struct gpubpf_target_info *find_emitter(const struct gpubpf_twin_build *m,
						     const struct gpubpf_target_info *last)
{
	const struct gpubpf_target_info *t;

	if (!m->target->probes)
		return last ? NULL : m->target;
	for (size_t i = 0; (t = gpubpf_target_at(i)); i++) {
		if (!last && m->target->probes >> t->output & 1 && gpubpf_target_emits_for(t, &m->req->caps))
			return t;
		last = t == last ? NULL : last;
	}
	return NULL;
}

/*
 * Emit the probes with m->emitter. If m->emitter is m->target, the job is first reduced to what the probes depend on.
 * Kernels with equal reduced jobs then get the same probes.
 */
static int emit(struct gpubpf_twin_build *m)
{
	struct gpubpf_twin_piece *piece = &m->probes.piece[0];
	struct gpubpf_lower_job job = make_lower_job(m), reduced = job;
	struct gpubpf_target_opts opts = make_opts(m);
	bool own = m->emitter == m->target;
	int err = own ? gpubpf_job_reduce(&job, &reduced) : 0;

	if (err < 0)
		return err;
	err = gpubpf_worker_emit(m->set->worker[m->emitter->worker], m->emitter->name, &reduced, &opts, &piece->blob,
				 &m->diag);
	if (own)
		free((void *)reduced.sites);
	if (err < 0)
		return err;
	piece->kind = m->emitter->output;
	m->probes.npieces = 1;
	return 0;
}

int gpubpf_twin_build_emit(struct gpubpf_twin_build *m, uint32_t step)
{
	m->emitter = find_emitter(m, NULL);
	if (m->emitter)
		return emit(m);
	return gpubpf_diag_set(&m->diag, GPUBPF_E_TARGET_LACKS, GPUBPF_NOPC,
			       "%s accepts no kind of code that gpubpf can generate", m->req->caps.name);
}

/* Append the probes to the pieces of the twin, which the vendor's compiler links. */
static void link_probes(struct gpubpf_twin_build *m)
{
	m->pieces.piece[m->pieces.npieces++] = m->probes.piece[0];
	m->probes = (struct gpubpf_twin_image){ 0 };
}

int gpubpf_twin_build_emit_again(struct gpubpf_twin_build *m)
{
	const struct gpubpf_target_info *next = m->emitter ? find_emitter(m, m->emitter) : NULL;
	struct gpubpf_twin_piece *last = &m->pieces.piece[m->pieces.npieces - 1];
	int err;

	if (!next)
		return -ENOTSUP;
	m->emitter = next;
	free(last->blob.data);
	*last = (struct gpubpf_twin_piece){ 0 };
	m->pieces.npieces--;
	err = emit(m);
	if (!err)
		link_probes(m);
	return err;
}

int gpubpf_twin_build_inject(struct gpubpf_twin_build *m, uint32_t step)
{
	struct gpubpf_lower_job job = make_lower_job(m);
	struct gpubpf_target_opts opts = make_opts(m);
	uint8_t job_digest[GPUBPF_IMAGE_DIGEST];
	int err;

	if (m->probes.npieces && !m->target->probes) {
		opts.probes = m->probes.piece[0].blob.data;
		opts.probes_size = m->probes.piece[0].blob.size;
	}
	/*
	 * This step also lowers the programs. Set the key `alike`, which is the same for equal jobs, because agents
	 * will request other kernels of this image.
	 */
	if (step & GPUBPF_STAGE_BIT(LOWER) && m->image->digest && !m->after && !gpubpf_job_fingerprint(&job, job_digest))
		opts.alike = job_digest;
	err = gpubpf_worker_inject(gpubpf_twin_build_reader(m), m->target->name, m->image, &job, &opts, &m->pieces,
				   &m->diag);
	if (err < 0)
		return err;
	if (m->target->probes && m->pieces.npieces)
		link_probes(m);
	gpubpf_twin_build_apply_refusals(m);
	gpubpf_twin_store_set_includes(m->twin, m->req, &m->pieces);
	return 0;
}
