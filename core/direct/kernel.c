/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of gpubpf-runner in their forms of code. */
#include <string.h>

#include "runner.h"

#include "run_cl.h"
#include "run_gfx1100.h"
#include "run_gfx1101.h"
#include "run_gfx1102.h"
#include "run_gfx1103.h"
#include "run_gfx1150.h"
#include "run_gfx1151.h"
#include "run_gfx1200.h"
#include "run_gfx1201.h"
#include "run_gfx90a.h"
#include "run_gfx942.h"
#include "run_gfx950.h"
#include "run_ptx.h"
#include "run_spv.h"
#include "serve_cl.h"
#include "serve_ptx.h"
#include "serve_spv.h"

static const struct runner_form run_forms[] = {
#define GPUBPF_DIRECT_FORM(name, kind, arch) { GPUBPF_IMAGE_##kind, arch, direct_##name, sizeof(direct_##name) },
#include "forms.def"
};

static const struct runner_form serve_forms[] = {
	{ GPUBPF_IMAGE_OPENCL_C, "", serve_cl, sizeof(serve_cl) },
	{ GPUBPF_IMAGE_PTX, "", serve_ptx, sizeof(serve_ptx) },
	{ GPUBPF_IMAGE_SPIRV, "", serve_spv, sizeof(serve_spv) },
};

static bool accepts(const struct gpubpf_device_caps *caps, const struct runner_form *form)
{
	static const uint64_t bits[] = {
		[GPUBPF_IMAGE_SPIRV] = GPUBPF_CAP_ACCEPTS_SPIRV,
		[GPUBPF_IMAGE_OPENCL_C] = GPUBPF_CAP_ACCEPTS_OPENCL_C,
		[GPUBPF_IMAGE_PTX] = GPUBPF_CAP_ACCEPTS_PTX,
		[GPUBPF_IMAGE_AMDGPU] = GPUBPF_CAP_ACCEPTS_AMDGPU,
	};

	return caps->bits & bits[form->kind] && (!form->arch[0] || !strcmp(form->arch, caps->arch));
}

const struct runner_form *runner_find_form(const struct gpubpf_device_caps *caps, bool serves)
{
	const struct runner_form *forms = serves ? serve_forms : run_forms;
	size_t n = serves ? sizeof(serve_forms) / sizeof(serve_forms[0]) : sizeof(run_forms) / sizeof(run_forms[0]);

	for (size_t i = 0; i < n; i++)
		if (accepts(caps, &forms[i]))
			return &forms[i];
	return NULL;
}

void runner_set_sizes(const struct runner *r, struct gpubpf_device_launch *launch)
{
	for (int d = 0; d < 3; d++) {
		launch->block[d] = r->threads[d];
		launch->grid[d] = r->blocks[d] * r->threads[d];
	}
}
