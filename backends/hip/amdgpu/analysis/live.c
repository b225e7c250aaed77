/* SPDX-License-Identifier: Apache-2.0 */
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
	/* default: all registers of the kernel are live */
	struct gpubpf_live live = { .most = HIP_MAX_VECTOR, .to = kernel->regs };

	if (place->kind == GPUBPF_SITE_ENTRY)
		live.to = 1;

	/* kernel->regs includes accumulation registers, so it may exceed HIP_MAX_VECTOR */
	live.to = live.to < live.most ? live.to : live.most;
	return live;
}

int hip_live_refuse_exit(const struct hip_app_kernel *app, struct gpubpf_diag *diag)
{
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
			       "the kernel uses %u vector registers, and a probe at its exit needs two more",
			       hip_live_used(app).vector);
}

int hip_live_at_exit(const struct hip_app_kernel *app, struct gpubpf_diag *diag)
{
	struct hip_registers used = hip_live_used(app);

	if (used.vector + 2 > HIP_MAX_VECTOR && used.accum + 2 > (app->isa->accum ? HIP_MAX_VECTOR : 0))
		return hip_live_refuse_exit(app, diag);
	return 0;
}
