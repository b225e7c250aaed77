/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: allocates the registers of a twin's stubs.
 * Before: the kernel's metadata, descriptor and code, and the registers that the probes use.
 * After: the draft has its vector registers, and the twin's descriptor requests them.
 * Requires: the bodies of the draft, with the operands that they read.
 */
#include "live.h"

#include "core/model/diag.h"

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

struct hip_registers hip_live_used(const struct hip_app_kernel *app)
{
	struct hip_registers r = hip_registers_of(app->isa, &app->descriptor);
	uint32_t accum = max(app->meta.agprs, app->code.accum), vector = max(app->meta.vgprs, app->code.vector);

	if (app->meta.vgprs && accum < r.accum)
		r.accum = accum;
	if (!app->isa->accum && app->meta.vgprs && vector < r.vector)
		r.vector = vector;
	r.accum = max(r.accum, app->code.accum);
	r.vector = max(r.vector, app->code.vector);
	return r;
}

struct gpubpf_live hip_live(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place)
{
	struct gpubpf_live live = { .most = HIP_MAX_VECTOR, .to = kernel->regs }; /* at worst all it has */

	if (place->kind == GPUBPF_SITE_ENTRY)
		live.to = 1;

	live.to = live.to < live.most ? live.to : live.most; /* the kernel's count includes accumulation registers */
	return live;
}

static int refuse_exit(const struct hip_app_kernel *app, struct gpubpf_diag *diag)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
			       "the kernel uses %u vector registers, and a probe at its exit needs two more",
			       hip_live_used(app).vector);
}

int hip_live_at_exit(const struct hip_app_kernel *app, struct gpubpf_diag *diag)
{
	struct hip_registers used = hip_live_used(app);

	if (used.vector + 2 > HIP_MAX_VECTOR && used.accum + 2 > (app->isa->accum ? HIP_MAX_VECTOR : 0))
		return refuse_exit(app, diag);
	return 0;
}

static int refuse_insns(const struct hip_app_kernel *app, uint32_t vector, struct gpubpf_diag *diag)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
			       "the kernel uses %u vector registers; with a probe at its instructions it needs %u, but "
			       "there are %u", hip_live_used(app).vector, vector, HIP_MAX_VECTOR);
}

/* Allocates registers for probes at single instructions, from `at` on. Returns the first register after them. */
static uint32_t allocate_bodies(const struct hip_app_kernel *app, struct hip_draft *draft, uint32_t at)
{
	uint32_t lanes = draft->wave32 ? 32 : 64, used = hip_live_used(app).vector, given = 3u << HIP_ADDR, same = 0;

	for (uint32_t b = 0; b < draft->nbodies; b++) {
		given |= draft->bodies[b].given;
		same |= draft->bodies[b].same;
	}
	draft->saved = at;
	at += (draft->scalars + HIP_NSAVED + lanes - 1) / lanes;
	draft->same = at;
	at += same ? 1 : 0;
	for (uint32_t i = 0; i < HIP_NLANE_OPERANDS; i++)
		draft->given[i] = given >> i & 1 ? at++ : UINT32_MAX;
	draft->copies = at;
	draft->ncopies = draft->vectors < used ? draft->vectors : used;
	return at + max(draft->ncopies, 2); /* stubs themselves use two */
}

/*
 * Chooses the registers that hold the state at entry: above all that the kernel and the probes use. If the kernel uses
 * every register, they are above the probes' only. An exit probe then needs them saved in accumulation registers while
 * the kernel runs.
 */
int hip_live_allocate(const struct hip_app_kernel *app, struct hip_draft *draft, const struct hip_registers *probes,
		   struct gpubpf_diag *diag)
{
	struct hip_registers all = hip_live_used(app);
	bool full = max(all.vector, probes->vector) + 2 > HIP_MAX_VECTOR;

	draft->state = max(full ? probes->vector : max(all.vector, probes->vector), 2); /* stubs use v0 and v1 */
	draft->items = draft->state + 1;
	all.vector = max(all.vector, draft->nbodies ? allocate_bodies(app, draft, draft->items + 1) : draft->items + 1);
	if (draft->nbodies && (full || all.vector > HIP_MAX_VECTOR))
		return refuse_insns(app, all.vector, diag);
	all.accum = max(all.accum, probes->accum);
	all.scalar = max(max(all.scalar, probes->scalar), max(HIP_STATE_SGPRS, hip_start_of(app->isa, &draft->twin).end));
	draft->aside = UINT32_MAX;
	if (full && (hip_has(draft, HIP_AT_EXIT) || hip_has(draft, HIP_AT_END))) {
		draft->aside = all.accum;
		all.accum += 2;
	}
	if (all.accum > (app->isa->accum ? HIP_MAX_VECTOR : 0) || !hip_registers_set(app->isa, &draft->twin, &all))
		return refuse_exit(app, diag);
	return 0;
}
