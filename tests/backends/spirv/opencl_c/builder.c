/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The builder must find the application's device among devices of the same name. The fake OpenCL library has two
 * platforms with one device each, whose driver versions are longer than the caps can store.
 */
#include <string.h>

#include "backends/spirv/build/job.h"
#include "backends/spirv/wire/driver.h"
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

int main(void)
{
	ok(find(NAME, VENDOR, versions[0]) == 0, "the builder finds the first of two devices by its driver version");
	ok(find(NAME, VENDOR, versions[1]) == 1, "and the second");
	ok(find(NAME, VENDOR, "2024.1") == 0, "without that version it takes the first with the name");
	ok(find(NAME, "Another vendor", versions[1]) == 0, "the vendor must match too");
	ok(find("Another processor", VENDOR, versions[1]) == -1, "another name is no match");
	return done();
}
