/* SPDX-License-Identifier: Apache-2.0 */
/* Implements struct gpubpf_device_ops by the CUDA driver API. */
#include "device.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"
#include "wait.h"

#define CLOCK_WAIT_NS 50000000ull

struct gpubpf_device_module {
	struct gpubpf_device *device;
	CUmodule module;
};

struct gpubpf_device_kernel {
	struct gpubpf_device *device;
	CUfunction function;
};

int cuda_fail(const struct cuda_driver *cu, struct gpubpf_reason *why, const char *what, CUresult error)
{
	snprintf(why->text, sizeof(why->text), "%s: %s", what, cuda_error(cu, error));
	return -EIO;
}

static CUresult enter(struct gpubpf_device *device, int *mode)
{
	CUresult error = cuda_enter(device->cu, device->context, mode);

	if (error || device->stream)
		return error;
	error = device->cu->stream_create(&device->stream, CU_STREAM_NON_BLOCKING);
	if (error)
		cuda_leave(device->cu, mode);
	return error;
}

int cuda_device_enter(struct gpubpf_device *device, int *mode)
{
	return enter(device, mode) ? -EIO : 0;
}

int cuda_device_enter_or_explain(struct gpubpf_device *device, int *mode, struct gpubpf_reason *why)
{
	CUresult error = enter(device, mode);

	return error ? cuda_fail(device->cu, why, "the application's CUDA context cannot be used", error) : 0;
}

static CUresult copy_from(struct gpubpf_device *device, void *to, CUdeviceptr from, size_t size)
{
	CUresult error = device->cu->copy_from(to, from, size, device->stream);

	return error ? error : device->cu->stream_synchronize(device->stream);
}

static int attribute(struct gpubpf_device *device, int which)
{
	int value = 0;

	device->cu->device_attribute(&value, which, device->device);
	return value;
}

static void fill_caps(struct gpubpf_device *device, int ordinal)
{
	struct gpubpf_device_caps *caps = &device->caps;
	size_t memory = 0;
	int version = 0;

	device->cu->device_memory(&memory, device->device);
	device->cu->driver_version(&version);
	snprintf(caps->backend, sizeof(caps->backend), "cuda");
	device->cu->device_name(caps->name, sizeof(caps->name), device->device);
	snprintf(caps->driver, sizeof(caps->driver), "NVIDIA CUDA %d.%d", version / 1000, version % 1000 / 10);
	snprintf(caps->arch, sizeof(caps->arch), "sm_%d%d",
		 attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
		 attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
	caps->bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_EXIT_THREAD | GPUBPF_CAP_ALLOCATIONS |
		     GPUBPF_CAP_ACCEPTS_PTX | GPUBPF_CAP_DRAINS | GPUBPF_CAP_SM_ID | cuda_memory_caps(device);
	caps->clock = GPUBPF_CLOCK_GLOBALTIMER;
	caps->compute_units = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	caps->warp_size = 32;
	caps->address_bits = 64;
	caps->max_threads_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	for (int d = 0; d < 3; d++)
		caps->max_blocks[d] = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + d);
	caps->sub_groups = caps->warp_size;
	caps->memory = caps->max_alloc = memory;
	caps->ordinal = ordinal;
}

/*
 * Finds the how->index-th device that matches how->name. The name is a part of the device's name, or the device's
 * ordinal. A NULL name matches any device.
 */
static int find_device(const struct cuda_driver *cu, const struct gpubpf_device_open *how, CUdevice *device, int *ordinal)
{
	const char *wanted = how->name;
	char name[96] = "", *end;
	uint32_t index = how->index;
	int n = 0;

	cu->device_count(&n);
	for (int i = 0; i < n; i++) {
		if (cu->device_get(device, i) || cu->device_name(name, sizeof(name), *device))
			continue;
		*ordinal = i;
		if ((!wanted || strstr(name, wanted) || (strtol(wanted, &end, 10) == i && end != wanted && !*end)) &&
		    !index--)
			return 0;
	}
	return -ENODEV;
}

static int open_context(struct gpubpf_device *device, const struct gpubpf_device_open *how, int *ordinal,
			struct gpubpf_reason *why)
{
	const struct cuda_driver *cu = device->cu;
	CUcontext old;
	CUresult error;

	if (how->context) {
		device->context = how->context;
		error = cu->ctx_push(device->context);
		if (error)
			return cuda_fail(cu, why, "the application's context cannot be used", error);
		error = cu->ctx_device(&device->device);
		cu->ctx_pop(&old);
		*ordinal = device->device;
		return error ? cuda_fail(cu, why, "the device of the application's context is unknown", error) : 0;
	}
	error = cu->init(0);
	if (error)
		return cuda_fail(cu, why, "cuInit() failed", error);
	if (find_device(cu, how, &device->device, ordinal) < 0) {
		snprintf(why->text, sizeof(why->text), "no CUDA device named '%s'", how->name ? how->name : "");
		return -ENODEV;
	}
	error = cu->primary_retain(&device->context, device->device);
	if (error)
		return cuda_fail(cu, why, "cannot open the device's primary context", error);
	device->primary = true;
	return 0;
}

static int cuda_open(const struct gpubpf_device_open *how, struct gpubpf_device **out, struct gpubpf_reason *why)
{
	const struct cuda_driver *cu = how->runtime ? how->runtime : cuda_driver_load(why->text, sizeof(why->text));
	struct gpubpf_device *device;
	int err, ordinal = 0;

	if (!cu)
		return -ENOENT;
	device = calloc(1, sizeof(*device));
	if (!device)
		return -ENOMEM;
	device->cu = cu;
	err = open_context(device, how, &ordinal, why);
	if (err < 0) {
		free(device);
		return err;
	}
	fill_caps(device, ordinal);
	*out = device;
	return 0;
}

static const struct gpubpf_device_caps *cuda_caps(const struct gpubpf_device *device)
{
	return &device->caps;
}

/* ---- modules and launches ---- */

static CUresult load_image(const struct cuda_driver *cu, const void *image, CUmodule *module, char *log, size_t size)
{
	int options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)(uintptr_t)size };

	return cu->module_load(module, image, 2, options, values);
}

static int cuda_module_load(struct gpubpf_device *device, enum gpubpf_image_kind kind, const void *image, size_t size,
			    const char *options, struct gpubpf_device_module **out, struct gpubpf_reason *why)
{
	struct gpubpf_device_module *module;
	char log[160] = "", *copy;
	CUresult error;
	int mode;

	if (kind != GPUBPF_IMAGE_PTX && kind != GPUBPF_IMAGE_CUBIN) {
		snprintf(why->text, sizeof(why->text), "CUDA loads only PTX and cubins");
		return -EINVAL;
	}
	module = calloc(1, sizeof(*module));
	copy = malloc(size + 1); /* one more byte, because the driver reads PTX up to a NUL */
	if (!module || !copy || cuda_device_enter(device, &mode) < 0) {
		free(module);
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, image, size);
	copy[size] = 0;
	error = load_image(device->cu, copy, &module->module, log, sizeof(log));
	cuda_leave(device->cu, &mode);
	free(copy);
	if (error) {
		log[strcspn(log, "\n")] = 0;
		snprintf(why->text, sizeof(why->text), "loading the module failed: %s %s",
			 cuda_error(device->cu, error), log);
		free(module);
		return -EINVAL;
	}
	module->device = device;
	*out = module;
	return 0;
}

static void cuda_module_unload(struct gpubpf_device_module *module)
{
	int mode;

	if (!module)
		return;
	if (cuda_device_enter(module->device, &mode) == 0) {
		module->device->cu->module_unload(module->module);
		cuda_leave(module->device->cu, &mode);
	}
	free(module);
}

static int cuda_kernel_get(struct gpubpf_device_module *module, const char *name, struct gpubpf_device_kernel **out,
			   struct gpubpf_reason *why)
{
	struct gpubpf_device *device = module->device;
	struct gpubpf_device_kernel *kernel = calloc(1, sizeof(*kernel));
	CUresult error;
	int mode;

	if (!kernel || cuda_device_enter(device, &mode) < 0) {
		free(kernel);
		return -ENOMEM;
	}
	error = device->cu->module_function(&kernel->function, module->module, name);
	cuda_leave(device->cu, &mode);
	if (error) {
		free(kernel);
		return cuda_fail(device->cu, why, name, error);
	}
	kernel->device = device;
	*out = kernel;
	return 0;
}

static void cuda_kernel_put(struct gpubpf_device_kernel *kernel)
{
	free(kernel);
}

static int cuda_launch(struct gpubpf_device_kernel *kernel, const struct gpubpf_device_launch *launch,
		       struct gpubpf_reason *why)
{
	struct gpubpf_device *device = kernel->device;
	unsigned grid[3] = { 1, 1, 1 }, block[3] = { 1, 1, 1 };
	void *args[64];
	CUresult error;
	int mode;

	if (launch->nargs > sizeof(args) / sizeof(*args) || launch->dim > 3)
		return -EINVAL;
	for (uint32_t i = 0; i < launch->nargs; i++)
		args[i] = (void *)launch->args[i];
	for (uint32_t i = 0; i < launch->dim; i++) {
		block[i] = launch->block[i] ? launch->block[i] : 1;
		if (launch->offset[i] || launch->grid[i] % block[i]) {
			snprintf(why->text, sizeof(why->text),
				 "a CUDA launch needs a grid of whole blocks, and no global offset");
			return -EINVAL;
		}
		grid[i] = launch->grid[i] / block[i];
	}
	if (cuda_device_enter(device, &mode) < 0)
		return -EIO;
	error = device->cu->launch(kernel->function, grid[0], grid[1], grid[2], block[0], block[1], block[2], 0,
				   device->stream, args, NULL);
	if (!error)
		error = device->cu->stream_synchronize(device->stream);
	cuda_leave(device->cu, &mode);
	return error ? cuda_fail(device->cu, why, "launch", error) : 0;
}

/* ---- the clock ---- */

static const char clock_ptx[] =
	".version 7.0\n.target sm_70\n.address_size 64\n"
	".visible .entry gpubpf_clock(.param .u64 to)\n"
	"{ .reg .b64 %a, %t; ld.param.u64 %a, [to]; mov.u64 %t, %globaltimer; st.global.u64 [%a], %t; ret; }\n";

static CUresult prepare_clock(struct gpubpf_device *device)
{
	const struct cuda_driver *cu = device->cu;
	char log[80];
	CUresult error;

	if (device->clock_kernel)
		return 0;
	error = load_image(cu, clock_ptx, &device->clock_module, log, sizeof(log));
	if (!error && !device->clock_word)
		error = cu->mem_alloc(&device->clock_word, sizeof(uint64_t));
	if (!error)
		error = cu->module_function(&device->clock_kernel, device->clock_module, "gpubpf_clock");
	return error;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/*
 * Waits until the clock kernel has run. The wait has a deadline, because a GPU kernel of the application may occupy the
 * device for any time.
 */
static CUresult wait_clock(struct gpubpf_device *device)
{
	uint64_t deadline = now_ns() + CLOCK_WAIT_NS;
	CUresult error;

	do
		error = device->cu->stream_query(device->stream);
	while (error == CUDA_ERROR_NOT_READY && now_ns() < deadline);
	return error;
}

static int cuda_clock(struct gpubpf_device *device, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns)
{
	const struct cuda_driver *cu = device->cu;
	void *args[] = { &device->clock_word };
	uint64_t before = 0, after = 0, value = 0;
	CUresult error;
	int mode;

	if (cuda_device_enter(device, &mode) < 0)
		return -EIO;
	error = prepare_clock(device);
	if (!error) {
		before = now_ns();
		error = cu->launch(device->clock_kernel, 1, 1, 1, 1, 1, 1, 0, device->stream, args, NULL);
		if (!error)
			error = wait_clock(device);
		after = now_ns();
	}
	if (!error)
		error = copy_from(device, &value, device->clock_word, sizeof(value));
	cuda_leave(device->cu, &mode);
	if (error)
		return -EIO;
	*cycles = value;
	*before_ns = before;
	*after_ns = after;
	return 0;
}

static void cuda_close(struct gpubpf_device *device)
{
	int mode;

	if (!device)
		return;
	cuda_end_wait(device);
	cuda_arena_detach(device);
	if (cuda_device_enter(device, &mode) == 0) {
		if (device->clock_module)
			device->cu->module_unload(device->clock_module);
		if (device->clock_word)
			device->cu->mem_free(device->clock_word);
		device->cu->stream_destroy(device->stream);
		for (unsigned i = 0; i < CUDA_PULLS; i++)
			if (device->from[i])
				device->cu->stream_destroy(device->from[i]);
		if (device->to)
			device->cu->stream_destroy(device->to);
		cuda_leave(device->cu, &mode);
	}
	if (device->primary)
		device->cu->primary_release(device->device);
	free(device);
}

const struct gpubpf_device_ops gpubpf_device_cuda = {
	.backend = "cuda",
	.open = cuda_open,
	.close = cuda_close,
	.caps = cuda_caps,
	.arena_attach = cuda_arena_attach,
	.arena_pull = cuda_arena_pull,
	.arena_push = cuda_arena_push,
	.arena_zero = cuda_arena_zero,
	.arena_wait = cuda_arena_wait,
	.arena_detach = cuda_arena_detach,
	.memory_get = cuda_memory_get,
	.memory_put = cuda_memory_put,
	.mirror_prepare = cuda_mirror_prepare,
	.arena_export = cuda_arena_export,
	.arena_adopt = cuda_arena_adopt,
	.settle = cuda_wait_idle,
	.module_load = cuda_module_load,
	.module_unload = cuda_module_unload,
	.kernel_get = cuda_kernel_get,
	.kernel_put = cuda_kernel_put,
	.launch = cuda_launch,
	.clock = cuda_clock,
};
