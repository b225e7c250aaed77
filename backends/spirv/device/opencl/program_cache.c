/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches the binary of a device's test program. Compiling it takes 0.35 s per process with Intel's CPU runtime, and
 * 0.07 s with PoCL if PoCL's own cache has the program. Loading the cached binary takes 4 ms. A cached binary is used
 * only if its complete key equals the key of this device and program.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include "backends/spirv/wire/hollow.h"
#include "core/wire/files/blob_store.h"
#include "core/wire/wire.h"
#include "opencl.h"

#define FOLDER "devices"

#ifdef __x86_64__
/*
 * Append to the key the processor's features and the register state that the operating system saves (XCR0). A binary
 * depends on both.
 */
static void put_processor(struct gpubpf_writer *w)
{
	static const struct {
		unsigned leaf, part, mask[4]; /* mask[]: bits of eax, ebx, ecx and edx that are the same on all cores */
	} queries[] = {
		{ 1, 0, { ~0u, 0, ~0u, ~0u } },
		{ 7, 0, { 0, ~0u, ~0u, ~0u } },
		{ 7, 1, { ~0u, 0, 0, ~0u } },
		{ 0x80000001, 0, { 0, 0, ~0u, ~0u } },
	};
	unsigned r[4], low = 0, high = 0;

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		if (!__get_cpuid_count(queries[i].leaf, queries[i].part, &r[0], &r[1], &r[2], &r[3]))
			memset(r, 0, sizeof(r));
		for (int k = 0; k < 4; k++)
			gpubpf_put_u32(w, r[k] & queries[i].mask[k]);
	}
	if (__get_cpuid(1, &r[0], &r[1], &r[2], &r[3]) && r[2] & bit_OSXSAVE)
		__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	gpubpf_put_u32(w, low);
	gpubpf_put_u32(w, high);
}
#else
static void put_processor(struct gpubpf_writer *w)
{
	const char *platform = (const char *)getauxval(AT_PLATFORM);

	gpubpf_put_str(w, platform ? platform : "");
	gpubpf_put_u64(w, getauxval(AT_HWCAP));
	gpubpf_put_u64(w, getauxval(AT_HWCAP2));
}
#endif

static void put_runtime(struct gpubpf_writer *w, struct gpubpf_device *d)
{
	static const cl_device_info queries[] = { CL_DEVICE_NAME, CL_DEVICE_VENDOR, CL_DEVICE_VERSION, CL_DRIVER_VERSION };
	char text[512];
	cl_platform_id platform = NULL;

	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++) {
		text[0] = 0;
		d->api.clGetDeviceInfo(d->id, queries[i], sizeof(text) - 1, text, NULL);
		gpubpf_put_str(w, text);
	}
	text[0] = 0;
	d->api.clGetDeviceInfo(d->id, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL);
	d->api.clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(text) - 1, text, NULL);
	gpubpf_put_str(w, text);
	gpubpf_put_u32(w, d->caps.address_bits);
}

static bool is_cpu(struct gpubpf_device *d)
{
	cl_device_type type = 0;

	d->api.clGetDeviceInfo(d->id, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	return (type & ~(cl_device_type)CL_DEVICE_TYPE_DEFAULT) == CL_DEVICE_TYPE_CPU;
}

/*
 * Write the key, which has everything on which the binary depends. Returns false if this device's program is never
 * cached, or if memory runs out.
 */
static bool make_key(struct gpubpf_device *d, const struct ocl_source *source, char folder[PATH_MAX],
		     struct gpubpf_writer *key)
{
	if (!d->cache || snprintf(folder, PATH_MAX, "%s/" FOLDER, d->cache) >= PATH_MAX || !is_cpu(d))
		return false;
	put_processor(key);
	put_runtime(key, d);
	gpubpf_put_str(key, d->caps.settings);
	gpubpf_put_str(key, source->options);
	for (cl_uint i = 0; i < source->ntexts; i++)
		gpubpf_put_str(key, source->texts[i]);
	if (key->failed)
		gpubpf_writer_finish(key);
	return !key->failed;
}

cl_program ocl_cache_load(struct gpubpf_device *d, const struct ocl_source *source)
{
	struct gpubpf_writer key = { 0 };
	struct gpubpf_reason why;
	const unsigned char *binary;
	cl_program program = NULL;
	char folder[PATH_MAX];
	size_t size;
	void *bytes;
	cl_int err;

	if (!make_key(d, source, folder, &key))
		return NULL;
	binary = bytes = gpubpf_blob_cache_find(folder, key.data, key.size, &size);
	if (bytes) {
		program = d->api.clCreateProgramWithBinary(d->context, 1, &d->id, &size, &binary, NULL, &err);
		program = err ? NULL : ocl_build(d, program, source->options, &why);
		if (!program)
			gpubpf_blob_cache_delete(folder, key.data, key.size);
	}
	free(bytes);
	gpubpf_writer_finish(&key);
	return program;
}

static unsigned char *get_binary(struct gpubpf_device *d, cl_program program, size_t *size)
{
	unsigned char *bytes = NULL;
	cl_uint devices = 0;

	if (d->api.clGetProgramInfo(program, CL_PROGRAM_NUM_DEVICES, sizeof(devices), &devices, NULL) || devices != 1 ||
	    d->api.clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(*size), size, NULL) || !*size ||
	    !(bytes = malloc(*size)))
		return NULL;
	if (!d->api.clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(bytes), &bytes, NULL) &&
	    !gpubpf_pocl_binary_lacks_code(bytes, *size))
		return bytes;
	free(bytes);
	return NULL;
}

void ocl_cache_store(struct gpubpf_device *d, const struct ocl_source *source, cl_program program)
{
	struct gpubpf_writer key = { 0 };
	char folder[PATH_MAX];
	unsigned char *bytes;
	size_t size = 0;

	if (!make_key(d, source, folder, &key))
		return;
	bytes = get_binary(d, program, &size);
	if (bytes)
		gpubpf_blob_cache_add(folder, key.data, key.size, bytes, size);
	free(bytes);
	gpubpf_writer_finish(&key);
}

void ocl_cache_remove(struct gpubpf_device *d, const struct ocl_source *source)
{
	struct gpubpf_writer key = { 0 };
	char folder[PATH_MAX];

	if (!make_key(d, source, folder, &key))
		return;
	gpubpf_blob_cache_delete(folder, key.data, key.size);
	gpubpf_writer_finish(&key);
}
