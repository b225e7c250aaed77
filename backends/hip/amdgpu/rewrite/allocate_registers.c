/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: allocates the registers of a twin's stubs.
 * Before: the kernel's metadata, descriptor and code, and the registers that the probes use.
 * After: the draft names the vector registers of the stubs, and the twin's descriptor requests enough registers.
 * Requires: draft->bodies, with the operands that each probe reads.
 */
#include "allocate_registers.h"

#include "backends/hip/amdgpu/analysis/live.h"
#include "core/model/diag.h"

static uint32_t max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static int refuse_insns(const struct hip_app_kernel *app, uint32_t vector, struct gpubpf_diag *diag)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
			       "the kernel uses %u vector registers; with a probe at its instructions it needs %u, but "
			       "there are %u",
			       hip_live_used(app).vector, vector, HIP_MAX_VECTOR);
}

/* Allocates the vector registers for probes at single instructions, from v<at> on. Returns the first register after
 * them. */
static uint32_t allocate_bodies(const struct hip_app_kernel *app, struct hip_draft *draft, uint32_t at)
{
	uint32_t lanes = draft->wave32 ? 32 : 64, used = hip_live_used(app).vector, lane_operands = 3u << HIP_ADDR,
		 uniform_operands = 0;

	for (uint32_t b = 0; b < draft->nbodies; b++) {
		lane_operands |= draft->bodies[b].lane_operands;
		uniform_operands |= draft->bodies[b].uniform_operands;
	}
	draft->saved_reg = at;
	at += (draft->scalars + HIP_NSAVED + lanes - 1) / lanes;
	draft->uniform_reg = at;
	at += uniform_operands ? 1 : 0;
	for (uint32_t i = 0; i < HIP_NLANE_OPERANDS; i++)
		draft->lane_reg[i] = lane_operands >> i & 1 ? at++ : UINT32_MAX;
	draft->copies = at;
	draft->ncopies = draft->vectors < used ? draft->vectors : used;
	return at + max(draft->ncopies, 2); /* at least two copies, because stubs use two of them as temporaries */
}

/*
 * Selects the two vector registers that hold the state at the kernel's entry (struct hip_draft), above all registers of
 * the kernel and the probes. If the kernel leaves fewer than two registers, the two are above the registers of the
 * probes only. If a probe then runs at the kernel's end, two accumulation registers hold the state while the kernel
 * runs.
 */
int hip_allocate_registers(const struct hip_app_kernel *app, struct hip_draft *draft,
			   const struct hip_registers *probes, struct gpubpf_diag *diag)
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
	draft->spill_accum = UINT32_MAX;
	if (full && (hip_has(draft, HIP_AT_EXIT) || hip_has(draft, HIP_AT_END))) {
		draft->spill_accum = all.accum;
		all.accum += 2;
	}
	if (all.accum > (app->isa->accum ? HIP_MAX_VECTOR : 0) || !hip_registers_set(app->isa, &draft->twin, &all))
		return hip_live_refuse_exit(app, diag);
	return 0;
}
