/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder must find the application's device among devices of the same name. The fake OpenCL library has two
 * platforms with one device each, whose driver versions are longer than the caps can store. The settings of the runtime
 * that an application sends must not load code.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backends/spirv/build/job.h"
#include "backends/spirv/wire/driver.h"
#include "backends/spirv/wire/settings.h"
#include "core/model/diag.h"
#include "tests/tap.h"

#define NAME "Processor of many words"
#define VENDOR "A vendor"

static const char *const versions[] = { "2025.20.10.0.17_160000.xmain-hotfix", "2026.20.10.0.17_160000.xmain-hotfix" };
static char handles[2]; /* their addresses are the handles of platforms, devices and contexts */

static cl_int get_platforms(cl_uint n, cl_platform_id *to, cl_uint *found)
{
	for (cl_uint i = 0; i < n && i < 2; i++)
		to[i] = (cl_platform_id)&handles[i];
	*found = 2;
	return CL_SUCCESS;
}

static cl_int get_devices(cl_platform_id platform, cl_device_type type, cl_uint n, cl_device_id *to, cl_uint *found)
{
	to[0] = (cl_device_id)platform;
	*found = 1;
	return CL_SUCCESS;
}

static cl_int get_info(cl_device_id device, cl_device_info what, size_t size, void *to, size_t *needed)
{
	const char *text = what == CL_DEVICE_NAME   ? NAME :
			   what == CL_DEVICE_VENDOR ? VENDOR :
						      versions[(char *)device - handles];

	if (size <= strlen(text))
		return CL_INVALID_VALUE;
	strcpy(to, text);
	return CL_SUCCESS;
}

static cl_context create_context(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
				 void (*call)(const char *, const void *, size_t, void *), void *user, cl_int *err)
{
	return (cl_context)devices[0];
}

const struct gpubpf_clapi *gpubpf_clapi(const char **why)
{
	static const struct gpubpf_clapi fake = { .clGetPlatformIDs = get_platforms,
						  .clGetDeviceIDs = get_devices,
						  .clGetDeviceInfo = get_info,
						  .clCreateContext = create_context };

	return &fake;
}

/* Returns the number of the device that the builder finds, or -1. */
static int find(const char *name, const char *vendor, const char *version)
{
	struct gpubpf_device_caps caps = { .settings = "" };
	struct builder *builder;
	struct gpubpf_diag diag;

	gpubpf_diag_init(&diag);
	snprintf(caps.name, sizeof(caps.name), "%s", name);
	gpubpf_cl_driver_format(caps.driver, vendor, version);
	return cl_builder_get(&caps, &builder, &diag) < 0 ? -1 : (int)((char *)builder->device - handles);
}

/* -- settings of the runtime's compiler, which the application sends -- */

static const struct {
	const char *settings;
	const char *refused; /* the variable that the builder must refuse; NULL: none */
} sent[] = {
	{ "CL_CONFIG_CPU_TARGET_ARCH=corei7\nPOCL_WORK_GROUP_METHOD=loops\n", NULL },
	{ "CL_CONFIG_LLVM_OPTIONS=-unroll-threshold=3  -vector-library=SVML\n", NULL },
	{ "CL_CONFIG_LLVM_OPTIONS=-load /tmp/x.so\n", "CL_CONFIG_LLVM_OPTIONS" },
	{ "CL_CONFIG_LLVM_OPTIONS=-unroll-threshold=3 --load=/tmp/x.so\n", "CL_CONFIG_LLVM_OPTIONS" },
	{ "CL_CONFIG_LLVM_OPTIONS=--pass-plugin=/tmp/x.so\n", "CL_CONFIG_LLVM_OPTIONS" },
	{ "CL_CONFIG_LLVM_OPTIONS=@/tmp/options\n", "CL_CONFIG_LLVM_OPTIONS" },
	{ "POCL_EXTRA_BUILD_FLAGS=-DN=1 -cl-fast-relaxed-math -O2 -g\n", NULL },
	{ "POCL_EXTRA_BUILD_FLAGS=\n", NULL },
	{ "POCL_EXTRA_BUILD_FLAGS=-DN=1\t-fpass-plugin=/tmp/x.so\n", "POCL_EXTRA_BUILD_FLAGS" },
	{ "POCL_EXTRA_BUILD_FLAGS=-Xclang -load -Xclang /tmp/x.so\n", "POCL_EXTRA_BUILD_FLAGS" },
	{ "POCL_EXTRA_BUILD_FLAGS=-mllvm -load=/tmp/x.so\n", "POCL_EXTRA_BUILD_FLAGS" },
	{ "POCL_EXTRA_BUILD_FLAGS=-include /etc/hostname\n", "POCL_EXTRA_BUILD_FLAGS" },
	{ "POCL_EXTRA_BUILD_FLAGS=@/tmp/options\n", "POCL_EXTRA_BUILD_FLAGS" },
};

static void check_sent(const char *settings, const char *wanted)
{
	const char *refused = NULL;
	int err;

	setenv("POCL_WORK_GROUP_METHOD", "before", 1);
	err = gpubpf_cl_settings_apply(settings, &refused);
	ok(err == (wanted ? -EPERM : 0) && !strcmp(refused ? refused : "", wanted ? wanted : ""), "%s %.60s",
	   wanted ? "refused:" : "allowed:", settings);
	if (wanted)
		ok(!strcmp(getenv("POCL_WORK_GROUP_METHOD"), "before"), "a refusal changes no variable");
}

static void check_settings(void)
{
	const char *refused = NULL;

	for (size_t i = 0; i < sizeof(sent) / sizeof(sent[0]); i++)
		check_sent(sent[i].settings, sent[i].refused);
	setenv("POCL_EXTRA_BUILD_FLAGS", "-include a.h", 1);
	check_sent("POCL_EXTRA_BUILD_FLAGS=-include a.h\n", NULL);
	ok(!strcmp(getenv("POCL_EXTRA_BUILD_FLAGS"), "-include a.h"), "the tool's own value stays");
	check_sent("POCL_EXTRA_BUILD_FLAGS=-include a.hpp\n", "POCL_EXTRA_BUILD_FLAGS");
	ok(gpubpf_cl_settings_apply("OCL_ICD_VENDORS=/tmp/x.icd\n", &refused) == -EINVAL && !getenv("OCL_ICD_VENDORS"),
	   "the application cannot set OCL_ICD_VENDORS");
	ok(gpubpf_cl_settings_apply("POCL_WORK_GROUP_METHOD=loops\nLD_LIBRARY_PATH=/tmp\n", &refused) == -EINVAL &&
		   !strcmp(getenv("POCL_WORK_GROUP_METHOD"), "before"),
	   "nor another variable after a known one");
	unsetenv("POCL_WORK_GROUP_METHOD");
}

int main(void)
{
	unsetenv("OCL_ICD_VENDORS");
	check_settings();
	ok(find(NAME, VENDOR, versions[0]) == 0, "the builder finds the first of two devices by its driver version");
	ok(find(NAME, VENDOR, versions[1]) == 1, "and the second");
	ok(find(NAME, VENDOR, "2024.1") == 0, "without that version it takes the first with the name");
	ok(find(NAME, "Another vendor", versions[1]) == 0, "the vendor must match too");
	ok(find("Another processor", VENDOR, versions[1]) == -1, "another name is no match");
	return done();
}
