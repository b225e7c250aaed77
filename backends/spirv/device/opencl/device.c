/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the OpenCL device (core/device.h): open, arena, modules, launches, clock. */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/spirv/wire/clock.h"
#include "backends/spirv/wire/settings.h"
#include "core/wire/placement.h"
#include "opencl.h"

#define MAX_PLATFORMS 16
#define MAX_DEVICES 16

struct gpubpf_device_module {
	struct gpubpf_device *device;
	cl_program program;
};

struct gpubpf_device_kernel {
	struct gpubpf_device *device;
	cl_kernel kernel;
	cl_uint nargs;
};

static bool matches(struct gpubpf_device *d, cl_platform_id platform, cl_device_id id, const char *name)
{
	char device_name[256] = "", platform_name[256] = "";

	if (!name)
		return true;
	d->api.clGetDeviceInfo(id, CL_DEVICE_NAME, sizeof(device_name) - 1, device_name, NULL);
	d->api.clGetPlatformInfo(platform, CL_PLATFORM_NAME, sizeof(platform_name) - 1, platform_name, NULL);
	return strcasestr(device_name, name) || strcasestr(platform_name, name);
}

/* Find device number `index` (from 0) among the devices whose own name or platform name matches `name`. */
static int find_device(struct gpubpf_device *d, const char *name, uint32_t index, struct gpubpf_reason *why)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_device_id ids[MAX_DEVICES];
	cl_uint nplatforms = 0, n;

	d->api.clGetPlatformIDs(MAX_PLATFORMS, platforms, &nplatforms);
	for (cl_uint p = 0; p < nplatforms && p < MAX_PLATFORMS; p++) {
		n = 0;
		if (d->api.clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &n))
			continue;
		for (cl_uint i = 0; i < n && i < MAX_DEVICES; i++) {
			if (!matches(d, platforms[p], ids[i], name) || index-- > 0)
				continue;
			d->id = ids[i];
			return 0;
		}
	}
	snprintf(why->text, sizeof(why->text), "no OpenCL device %s%s among %u platforms", name ? "named " : "",
		 name ? name : "", nplatforms);
	return -ENODEV;
}

static void ocl_close(struct gpubpf_device *d);

static int open_context(struct gpubpf_device *d, const struct gpubpf_device_open *how, struct gpubpf_reason *why)
{
	cl_int err = 0;

	if (how->context) {
		d->id = how->handle;
		d->context = how->context;
		d->api.clRetainContext(d->context);
	} else {
		int found = find_device(d, how->name, how->index, why);

		if (found < 0)
			return found;
		d->context = d->api.clCreateContext(NULL, 1, &d->id, NULL, NULL, &err);
		if (err) {
			d->context = NULL;
			return ocl_error(why, "creating a context", err);
		}
	}
	d->queue = d->api.clCreateCommandQueue(d->context, d->id, 0, &err);
	return err ? ocl_error(why, "creating a queue", err) : 0;
}

static int ocl_open(const struct gpubpf_device_open *how, struct gpubpf_device **device, struct gpubpf_reason *why)
{
	struct gpubpf_device *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	err = ocl_api_load(&d->api, how->runtime, why);
	if (!err)
		err = open_context(d, how, why);
	if (err < 0) {
		ocl_close(d);
		return err;
	}
	d->cache = how->cache;
	gpubpf_cl_settings_query(&d->caps, how->variable);
	ocl_caps_fill(d);
	d->cache = NULL;
	ocl_create_address_query(d);
	ocl_memory_test(d);
	*device = d;
	return 0;
}

static void ocl_arena_detach(struct gpubpf_device *d)
{
	if (d->arena)
		d->api.clReleaseMemObject(d->arena);
	d->arena = NULL;
}

static void ocl_close(struct gpubpf_device *d)
{
	if (!d)
		return;
	ocl_arena_detach(d);
	if (d->clock_kernel)
		d->api.clReleaseKernel(d->clock_kernel);
	if (d->clock_word)
		d->api.clReleaseMemObject(d->clock_word);
	ocl_end_address_query(d);
	if (d->address_kernel)
		d->api.clReleaseKernel(d->address_kernel);
	if (d->address_word)
		d->api.clReleaseMemObject(d->address_word);
	if (d->test)
		d->api.clReleaseProgram(d->test);
	if (d->queue)
		d->api.clReleaseCommandQueue(d->queue);
	if (d->context)
		d->api.clReleaseContext(d->context);
	free(d);
}

static const struct gpubpf_device_caps *ocl_caps(const struct gpubpf_device *d)
{
	return &d->caps;
}

/*
 * Check that the device has enough memory for the arena. AMD's driver reports free memory, in KiB; other drivers report
 * only the total.
 */
static bool has_room(const struct gpubpf_device *d, size_t size, struct gpubpf_reason *why)
{
	size_t free[2] = { 0 };
	bool is_free_known = !d->api.clGetDeviceInfo(d->id, CL_DEVICE_GLOBAL_FREE_MEMORY_AMD, sizeof(free), free, NULL) &&
			     free[0];

	return gpubpf_placement_fits(size, is_free_known ? free[0] * 1024ull : d->caps.memory, !is_free_known,
				     why->text, sizeof(why->text));
}

static int ocl_arena_attach(struct gpubpf_device *d, void *host, size_t size, uint64_t *address, struct gpubpf_reason *why)
{
	bool shared = d->caps.bits & GPUBPF_CAP_SHARED_ARENA;
	cl_int err;

	if (d->arena)
		return -EBUSY;
	if (!shared && !has_room(d, size, why))
		return -ENOMEM;
	d->arena = d->api.clCreateBuffer(d->context, CL_MEM_READ_WRITE | (shared ? CL_MEM_USE_HOST_PTR : 0), size,
					 shared ? host : NULL, &err);
	if (err) {
		d->arena = NULL;
		return ocl_error(why, "creating the arena's buffer", err);
	}
	d->arena_size = size;
	*address = (uint64_t)(uintptr_t)d->arena;
	return 0;
}

static bool is_outside(const struct gpubpf_device *d, size_t offset, size_t size)
{
	return !d->arena || offset > d->arena_size || size > d->arena_size - offset;
}

static int ocl_arena_pull(struct gpubpf_device *d, size_t offset, void *to, size_t size)
{
	if (is_outside(d, offset, size))
		return -EINVAL;
	if (d->caps.bits & GPUBPF_CAP_SHARED_ARENA)
		return 0;
	return d->api.clEnqueueReadBuffer(d->queue, d->arena, CL_TRUE, offset, size, to, 0, NULL, NULL) ? -EIO : 0;
}

static int ocl_arena_push(struct gpubpf_device *d, size_t offset, const void *from, size_t size)
{
	if (is_outside(d, offset, size))
		return -EINVAL;
	if (d->caps.bits & GPUBPF_CAP_SHARED_ARENA)
		return 0;
	return d->api.clEnqueueWriteBuffer(d->queue, d->arena, CL_TRUE, offset, size, from, 0, NULL, NULL) ? -EIO : 0;
}

/*
 * Create a program from SPIR-V. If it calls gpubpf_clock_read(), link it with the OpenCL C source of that function
 * (maps/device/devlib.h).
 */
static cl_program load_spirv(struct gpubpf_device *d, const void *image, size_t size, const char *options,
			     struct gpubpf_reason *why)
{
	struct ocl_piece pieces[2] = {
		{ .data = d->clock_source,
		  .size = strlen(d->clock_source),
		  .options = gpubpf_cl_clock_options(d->caps.clock) },
		{ .data = image, .size = size, .il = true, .options = options },
	};
	cl_program program;

	if (gpubpf_spv_reads_clock(image, size))
		return ocl_link(d, pieces, 2, why);
	/* build in one step: with a separate link, the driver would ignore the optimization options */
	program = ocl_create(d, &pieces[1], why);
	return program ? ocl_build(d, program, options, why) : NULL;
}

static cl_program load_source(struct gpubpf_device *d, const void *image, size_t size, const char *options,
			      struct gpubpf_reason *why)
{
	struct ocl_piece piece = { .data = image, .size = size };
	cl_program program = ocl_create(d, &piece, why);

	return program ? ocl_build(d, program, options, why) : NULL;
}

static cl_program load_binary(struct gpubpf_device *d, const void *image, size_t size, const char *options,
			      struct gpubpf_reason *why)
{
	const unsigned char *bytes = image;
	cl_int err;
	cl_program program = d->api.clCreateProgramWithBinary(d->context, 1, &d->id, &size, &bytes, NULL, &err);

	if (!err)
		return ocl_build(d, program, options, why);
	ocl_error(why, "loading a binary", err);
	return NULL;
}

static int ocl_module_load(struct gpubpf_device *d, enum gpubpf_image_kind kind, const void *image, size_t size,
			   const char *options, struct gpubpf_device_module **module, struct gpubpf_reason *why)
{
	struct gpubpf_device_module *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->device = d;
	options = options ? options : "";
	if (kind == GPUBPF_IMAGE_OPENCL_C)
		m->program = load_source(d, image, size, options, why);
	else if (kind == GPUBPF_IMAGE_SPIRV)
		m->program = load_spirv(d, image, size, options, why);
	else if (kind == GPUBPF_IMAGE_OPENCL_BINARY)
		m->program = load_binary(d, image, size, options, why);
	else
		snprintf(why->text, sizeof(why->text), "an OpenCL device loads only OpenCL C, SPIR-V or its own binaries");
	if (!m->program) {
		free(m);
		return -EIO;
	}
	*module = m;
	return 0;
}

static void ocl_module_unload(struct gpubpf_device_module *m)
{
	if (!m)
		return;
	m->device->api.clReleaseProgram(m->program);
	free(m);
}

static int ocl_kernel_get(struct gpubpf_device_module *m, const char *name, struct gpubpf_device_kernel **kernel,
			  struct gpubpf_reason *why)
{
	struct gpubpf_device_kernel *k = calloc(1, sizeof(*k));
	cl_int err;

	if (!k)
		return -ENOMEM;
	k->device = m->device;
	k->kernel = m->device->api.clCreateKernel(m->program, name, &err);
	if (!err)
		err = m->device->api.clGetKernelInfo(k->kernel, CL_KERNEL_NUM_ARGS, sizeof(k->nargs), &k->nargs, NULL);
	if (err) {
		if (k->kernel)
			m->device->api.clReleaseKernel(k->kernel);
		free(k);
		return ocl_error(why, "finding a kernel", err);
	}
	*kernel = k;
	return 0;
}

static void ocl_kernel_put(struct gpubpf_device_kernel *k)
{
	if (!k)
		return;
	k->device->api.clReleaseKernel(k->kernel);
	free(k);
}

static int ocl_launch(struct gpubpf_device_kernel *k, const struct gpubpf_device_launch *l, struct gpubpf_reason *why)
{
	const struct ocl_api *api = &k->device->api;
	cl_int err = 0;

	if (l->nargs != k->nargs) {
		snprintf(why->text, sizeof(why->text), "the kernel has %u arguments, not %u", k->nargs, l->nargs);
		return -EINVAL;
	}
	for (uint32_t i = 0; i < l->nargs && !err; i++)
		err = api->clSetKernelArg(k->kernel, i, l->arg_sizes[i], l->args[i]);
	if (!err)
		err = ocl_set_svm_pointers(k->device, k->kernel);
	if (err)
		return ocl_error(why, "setting an argument", err);
	err = api->clEnqueueNDRangeKernel(k->device->queue, k->kernel, l->dim, l->offset, l->grid,
					  l->block[0] ? l->block : NULL, 0, NULL, NULL);
	if (!err)
		err = api->clFinish(k->device->queue);
	return err ? ocl_error(why, "launching", err) : 0;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int read_by_kernel(struct gpubpf_device *d, uint64_t *cycles)
{
	enum { CLOCK_WORD = 1 }; /* index of the clock's word in the test kernel's buffer (caps.c) */
	size_t one = 1;

	if (!d->clock_kernel || d->api.clSetKernelArg(d->clock_kernel, 0, sizeof(d->clock_word), &d->clock_word) ||
	    d->api.clEnqueueNDRangeKernel(d->queue, d->clock_kernel, 1, NULL, &one, &one, 0, NULL, NULL) ||
	    d->api.clFinish(d->queue))
		return -EIO;
	return d->api.clEnqueueReadBuffer(d->queue, d->clock_word, CL_TRUE, CLOCK_WORD * sizeof(*cycles),
					  sizeof(*cycles), cycles, 0, NULL, NULL) ?
		       -EIO :
		       0;
}

/*
 * Read the device's clock. Also read the host's clock before and after that. If the device's clock is the CPU's
 * time-stamp counter, the host reads it directly. This needs no launch and is accurate to nanoseconds instead of
 * microseconds.
 */
static int ocl_clock(struct gpubpf_device *d, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns)
{
	int err = 0;

	if (d->caps.clock == GPUBPF_CLOCK_NONE)
		return -EOPNOTSUPP;
	*before_ns = now_ns();
#ifdef __x86_64__
	if (d->caps.clock == GPUBPF_CLOCK_TSC)
		*cycles = __builtin_ia32_rdtsc();
	else
#endif
		err = read_by_kernel(d, cycles);
	*after_ns = now_ns();
	return err;
}

const struct gpubpf_device_ops gpubpf_device_opencl = {
	.backend = "opencl",
	.open = ocl_open,
	.close = ocl_close,
	.caps = ocl_caps,
	.arena_attach = ocl_arena_attach,
	.arena_pull = ocl_arena_pull,
	.arena_push = ocl_arena_push,
	.arena_detach = ocl_arena_detach,
	.memory_get = ocl_memory_get,
	.memory_put = ocl_memory_put,
	.buffer_address = ocl_buffer_address,
	.module_load = ocl_module_load,
	.module_unload = ocl_module_unload,
	.kernel_get = ocl_kernel_get,
	.kernel_put = ocl_kernel_put,
	.launch = ocl_launch,
	.clock = ocl_clock,
};
