/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: backends/cuda/sass/access.c backends/cuda/sass/around.c backends/cuda/sass/body.c backends/cuda/sass/given.c backends/cuda/sass/constant.c backends/cuda/sass/check_constant.c backends/cuda/sass/operands.c
// SOURCES: backends/cuda/sass/places.c backends/cuda/sass/check_around.c backends/cuda/sass/check_said.c backends/cuda/sass/check_count.c backends/cuda/sass/count.c core/places.c core/nearest.c core/wire/match.c
// SOURCES: backends/cuda/sass/callees.c backends/cuda/sass/check.c backends/cuda/sass/code.c backends/cuda/sass/cubin.c backends/cuda/sass/form.c
// SOURCES: backends/cuda/sass/isa.c backends/cuda/sass/live.c backends/cuda/sass/params.c backends/cuda/sass/graft.c backends/cuda/sass/probe.c
// SOURCES: backends/cuda/sass/probe_asked.c backends/cuda/sass/probe_branch.c backends/cuda/sass/probe_predicates.c backends/cuda/sass/probe_time.c
// SOURCES: backends/cuda/sass/schedule.c backends/cuda/sass/numbering.c backends/cuda/sass/straight.c backends/cuda/sass/check_kept.c backends/cuda/sass/check_pending.c backends/cuda/sass/compact.c
// SOURCES: backends/cuda/sass/lines.c backends/cuda/sass/twin.c backends/cuda/sass/twin_addresses.c backends/cuda/sass/twin_info.c core/diag.c core/wire/name.c core/worker/lines.c
// LIBS: -ldw -lelf
/*
 * Any bytes as a cubin, of which every kernel gets a probe at its entry and one at its exits, and is read back: a twin,
 * or refused with a reason; and one that says it counts a block's lanes.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "backends/cuda/sass/check.h"
#include "backends/cuda/sass/lines.h"
#include "backends/cuda/sass/params.h"
#include "backends/cuda/sass/twin.h"
#include "core/diag.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* MOV R0, 0; ISETP P0, R0; @P0 MOV R2, 0; EXIT */
static struct sass_insn insns[] = {
	{ 0x0000000000007802, 0x000fcc0000000f00 }, { 0x000000ff0000720c, 0x000fda0003f05070 },
	{ 0x0000000000020802, 0x000fe20000000f00 }, { 0x000000000000794d, 0x000fea0003800000 },
};
static const struct sass_probe probe = { .insns = insns, .n = 4, .regs = 3, .frame = 16, .predicates = true };

#define MOST_AROUND 64

struct placing {
	const struct sass_code *code;
	struct sass_body bodies[2];
	struct sass_around list[MOST_AROUND];
	struct sass_arounds around;
};

static int place(void *arg, const struct sass_place *at)
{
	struct placing *p = arg;

	if (p->around.n == MOST_AROUND || (p->around.n && p->around.list[p->around.n - 1].place.at > at->at))
		return 1;
	p->list[p->around.n++] = (struct sass_around){
		*at, 0, &p->bodies[sass_around_is_guarded(at)] };
	return 0;
}

/* Accesses of global memory: at the same instruction none is named twice. */
static void find_places(struct placing *p, const struct sass_code *code, struct gpubpf_diag *diag)
{
	*p = (struct placing){ .code = code };
	p->around.list = p->list;
	for (int guarded = 0; guarded < 2; guarded++)
		if (sass_body_make(code->arch, &probe, guarded, &p->bodies[guarded], diag) < 0)
			abort();
	sass_places_each(code, 1u << GPUBPF_SITE_MEM, &(struct gpubpf_lines){ 0 }, 0, place, p);
}

static void probed(const struct sass_cubin *app, const struct sass_kernel *k)
{
	static struct sass_section nothing;
	static struct gpubpf_param params[SASS_PARAMS_MAX];
	const struct sass_cubin probes = { .sections = &nothing, .nsections = 1 };
	struct sass_grafted grafted = { 0 };
	struct sass_twin twin = { 0 };
	static struct placing places;
	struct gpubpf_diag diag;
	struct sass_code code;
	int err;

	gpubpf_diag_init(&diag);
	memset(params, 0, sizeof(params));
	sass_params(app, k, params, &diag);
	gpubpf_diag_init(&diag);
	if (sass_code_read(app, k, &code, &diag) < 0) {
		if (!diag.what[0])
			abort();
		return;
	}
	find_places(&places, &code, &diag);
	err = sass_graft(&code, k->regs, &probe, &probe, &places.around, &grafted, &diag);
	if (err == -EINVAL && places.around.n && diag.what[0]) { /* as before there were such */
		gpubpf_diag_init(&diag);
		places.around.n = 0;
		err = sass_graft(&code, k->regs, &probe, &probe, &places.around, &grafted, &diag);
	}
	if (!err)
		err = sass_twin_write(app, k, &code, &probes, &grafted, &twin, &diag);
	if (!err)
		err = sass_check(app, k, &code, &twin, &(struct sass_has){ .entry = true, .exit = true }, &places.around, &diag);
	sass_body_finish(&places.bodies[0]);
	sass_body_finish(&places.bodies[1]);
	sass_twin_finish(&twin);
	grafted.counts = true;
	if (!err && !sass_twin_write(app, k, &code, &probes, &grafted, &twin, &diag)) /* its code does not, which is found out */
		sass_check(app, k, &code, &twin, &(struct sass_has){ true, true, true }, &places.around, &diag);
	if (err == -EINVAL && !diag.what[0])
		abort();
	sass_twin_finish(&twin);
	sass_grafted_finish(&grafted);
	sass_code_finish(&code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gpubpf_lines lines;
	struct sass_cubin app;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	if (sass_cubin_open(data, size, &app, &diag) < 0) {
		if (!diag.what[0])
			abort();
		return 0;
	}
	for (uint32_t i = 0; i < app.nkernels && i < 16; i++)
		probed(&app, &app.kernels[i]);
	sass_lines_read(&app, &lines);
	sass_line_at(&lines, 1, 0);
	gpubpf_lines_finish(&lines);
	sass_cubin_finish(&app);
	return 0;
}
