/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The OpenCL C reader must accept the text that the OpenCL C targets emit with the clc library, and refuse it if it is
 * damaged.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../tap.h"
#include "backends/spirv/opencl_c/target_clc.h"
#include "backends/spirv/opencl_c/target_wrap.h"
#include "core/model/diag.h"
#include "core/load/load.h"
#include "core/target.h"

static struct gpubpf_device_caps devices[] = {
	{ .name = "no device" },
	{ .name = "pthread-haswell", .driver = "5.0", .extensions = "cl_khr_int64_base_atomics cl_khr_fp64",
	  .opencl_c_version = 120, .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_X86, .clock = GPUBPF_CLOCK_TSC },
	{ .name = "NVIDIA H200", .driver = "580", .extensions = "cl_khr_int64_base_atomics cl_khr_int64_extended_atomics",
	  .opencl_c_version = 120, .bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_NVPTX_ASM,
	  .clock = GPUBPF_CLOCK_GLOBALTIMER },
};

static struct gpubpf_blob emit(const struct gpubpf_device_caps *caps)
{
	static const struct gpubpf_raw_insn insns[] = { { .code = 0xb7, .imm = 7 }, { .code = 0x95 } };
	const struct gpubpf_target_opts opts = { .opt_level = 2, .kernels = true };
	struct gpubpf_verify_opts how = { .max_cost = UINT64_MAX };
	uint32_t first = 0;
	struct gpubpf_site_desc site = { .site = GPUBPF_SITE_ENTRY, .kernel = "k", .progs = &first, .nprogs = 1 };
	struct gpubpf_unit unit;
	struct gpubpf_lower_job job = { .unit = &unit, .sites = &site, .nsites = 1, .caps = caps };
	struct gpubpf_blob text = { 0 };
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	ok(!gpubpf_unit_raw(insns, 2, NULL, 0, &unit, &diag) && !gpubpf_verify(&unit, unit.progs, &how, &diag) &&
	   !gpubpf_target_clc.emit(&job, &opts, &text, &diag), "a program becomes OpenCL C for %s %s", caps->name, diag.what);
	return text;
}

static int validate(const struct gpubpf_target *target, const char *text, size_t size,
		    const struct gpubpf_device_caps *caps, struct gpubpf_diag *diag)
{
	struct gpubpf_twin_piece piece = { .kind = GPUBPF_IMAGE_OPENCL_C, .blob = { (void *)text, size } };

	gpubpf_diag_init(diag);
	return target->validate(&piece, caps, diag);
}

/* Returns a copy of the text with the first `what` replaced. The caller frees it. */
static char *replaced(const struct gpubpf_blob *text, const char *what, const char *by)
{
	const char *at = memmem(text->data, text->size, what, strlen(what));
	size_t before = at ? at - (const char *)text->data : 0;
	char *all = malloc(text->size + strlen(by) + 1);

	ok(at, "there is %s", what);
	sprintf(all, "%.*s%s%.*s", (int)before, (const char *)text->data, at ? by : "",
		(int)(text->size - before - strlen(what)), at ? at + strlen(what) : "");
	return all;
}

static void test_broken(const struct gpubpf_blob *text, const struct gpubpf_device_caps *caps)
{
	static const struct {
		const char *what, *by, *says;
	} broken[] = {
		{ "gpubpf_body_0(env, &r0)", "gpubpf_body_9(env, &r0)", "gpubpf_body_9" },
		{ "u64 r0;\n\n\treturn", "u64 r0;\n\n\tretrun", "retrun" },
		{ "__kernel void gpubpf_run_0(", "__kernel void gpubpf_run_0((", "line " },
		{ "struct gpubpf_env", "struct gpubpf_evn", "gpubpf_env" },
	};
	struct gpubpf_diag diag;
	size_t last;

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		char *changed = replaced(text, broken[i].what, broken[i].by);

		ok(validate(&gpubpf_target_clc, changed, strlen(changed), caps, &diag) == -EINVAL &&
		   diag.code == GPUBPF_E_COMPILE && strstr(diag.what, broken[i].says), "with %s it is refused: %s",
		   broken[i].by, diag.what);
		free(changed);
	}
	last = (char *)memrchr(text->data, '}', text->size) - (char *)text->data;
	ok(validate(&gpubpf_target_clc, text->data, last, caps, &diag) == -EINVAL, "without its end it is refused: %s", diag.what);
	ok(validate(&gpubpf_target_clc, text->data, 0, caps, &diag) == -EINVAL, "nothing is refused: %s", diag.what);
	((char *)text->data)[text->size / 2] = 0;
	ok(validate(&gpubpf_target_clc, text->data, text->size, caps, &diag) == -EINVAL, "and a NUL: %s", diag.what);
}

static void test_wrapper(void)
{
	static const struct {
		const char *text, *says, *what;
	} cases[] = {
		{ "__kernel void k(no_such *p) { }\n", NULL, "what the application's source has is its own" },
		{ "__kernel void k(__global int *p) { }\n__kernel void gpubpf_twin_k(no_such *p) { }\n", "no_such",
		  "a wrapper whose declaration is wrong is refused" },
		{ "__kernel void k(__global int *p) { }\n__kernel void gpubpf_twin_k(__global int *p) { k(q); }\n", "'q'",
		  "a wrapper whose text is wrong is refused" },
		{ "__kernel void k(__global int *p) { *p = odd(1); }\n"
		  "__kernel void gpubpf_twin_k(__global int *p) { *p = odd(1); }\n", NULL,
		  "what a body has that is repeated is the application's" },
	};
	struct gpubpf_diag diag;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int err = validate(&gpubpf_target_wrap, cases[i].text, strlen(cases[i].text), &devices[0], &diag);

		ok(cases[i].says ? err == -EINVAL && strstr(diag.what, "gpubpf_twin_k") && strstr(diag.what, cases[i].says) : !err,
		   "%s: %s", cases[i].what, diag.what);
	}
}

int main(void)
{
	struct gpubpf_diag diag;

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		struct gpubpf_blob text = emit(&devices[i]);

		ok(!validate(&gpubpf_target_clc, text.data, text.size, &devices[i], &diag), "it is OpenCL C: %s", diag.what);
		test_broken(&text, &devices[i]);
		free(text.data);
	}
	test_wrapper();
	return done();
}
