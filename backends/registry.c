/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only file that names backends. Each program links those that it needs (the worker targets, the
 * agent devices): the others are weak, and so exist by name and say why they cannot be used.
 */
#include <dlfcn.h>
#include <string.h>

#include "core/device.h"
#include "core/target.h"

#define WEAK __attribute__((weak))

extern const struct gpubpf_target gpubpf_target_ptx WEAK, gpubpf_target_spirv WEAK, gpubpf_target_amdgpu WEAK,
	gpubpf_target_clc WEAK, gpubpf_target_wrap WEAK, gpubpf_target_llvm WEAK;
extern const struct gpubpf_device_ops gpubpf_device_opencl WEAK, gpubpf_device_cuda WEAK, gpubpf_device_hip WEAK,
	gpubpf_device_level_zero WEAK;

static const struct gpubpf_target *const targets[] = {
	&gpubpf_target_ptx, &gpubpf_target_spirv, &gpubpf_target_amdgpu, &gpubpf_target_clc, &gpubpf_target_wrap,
	&gpubpf_target_llvm,
};

static const struct backend {
	const char *name;
	const struct gpubpf_device_ops *device;
	const char *absent;
	const char *runtime[4]; /* any of these */
} backends[] = {
	{ "cuda", &gpubpf_device_cuda, "NVIDIA's driver is not installed (no libcuda.so.1)", { "libcuda.so.1" } },
	{ "opencl", &gpubpf_device_opencl, "no OpenCL loader is installed (no libOpenCL.so.1)", { "libOpenCL.so.1" } },
	{ "hip", &gpubpf_device_hip, "AMD's runtime is not installed (no libamdhip64.so)",
	  { "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so" } },
	{ "level_zero", &gpubpf_device_level_zero, "Intel's Level Zero loader is not installed (no libze_loader.so.1)",
	  { "libze_loader.so.1" } },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const struct gpubpf_target *gpubpf_target_at(size_t i)
{
	for (size_t t = 0; t < COUNT(targets); t++)
		if (targets[t] && i-- == 0)
			return targets[t];
	return NULL;
}

const struct gpubpf_target *gpubpf_target_find(const char *name)
{
	for (size_t t = 0; t < COUNT(targets); t++)
		if (targets[t] && !strcmp(targets[t]->name, name))
			return targets[t];
	return NULL;
}

const struct gpubpf_device_ops *gpubpf_device_at(size_t i)
{
	for (size_t b = 0; b < COUNT(backends); b++)
		if (backends[b].device && i-- == 0)
			return backends[b].device;
	return NULL;
}

static const struct backend *find_backend(const char *name)
{
	for (size_t b = 0; b < COUNT(backends); b++)
		if (!strcmp(backends[b].name, name))
			return &backends[b];
	return NULL;
}

const struct gpubpf_device_ops *gpubpf_device_find(const char *name)
{
	const struct backend *backend = find_backend(name);

	return backend ? backend->device : NULL;
}

const char *gpubpf_backend_at(size_t i)
{
	return i < COUNT(backends) ? backends[i].name : NULL;
}

const char *gpubpf_device_missing(const char *name)
{
	const struct backend *backend = find_backend(name);
	void *runtime = NULL;

	if (!backend)
		return "no such backend; known are cuda, opencl, hip and level_zero";
	if (!backend->device)
		return "this backend is not built into this program";
	for (size_t i = 0; !runtime && i < COUNT(backend->runtime) && backend->runtime[i]; i++)
		runtime = dlopen(backend->runtime[i], RTLD_LAZY | RTLD_LOCAL);
	if (!runtime)
		return backend->absent;
	dlclose(runtime);
	return "";
}
