/* SPDX-License-Identifier: Apache-2.0 */
/* Implements struct gpubpf_device_ops for Level Zero. */
#include "level_zero.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/spirv/wire/clock.h"
#include "core/wire/checks.h"
#include "core/wire/placement.h"
#include "device_state.h"

struct gpubpf_device_module {
	struct gpubpf_device *device;
	ze_module_handle_t module;
};

struct gpubpf_device_kernel {
	struct gpubpf_device *device;
	ze_kernel_handle_t kernel;
	uint32_t nargs;
};

ze_context_handle_t gpubpf_ze_context(const struct gpubpf_device *device)
{
	return device->context;
}

static void lz_arena_detach(struct gpubpf_device *d)
{
	if (d->arena && d->arena_kind != ARENA_SYSTEM)
		d->api.MemFree(d->context, d->arena);
	d->arena = NULL;
}

static const struct gpubpf_device_caps *lz_caps(const struct gpubpf_device *d)
{
	return &d->caps;
}

static int lz_arena_attach(struct gpubpf_device *d, void *host, size_t size, uint64_t *address, struct gpubpf_reason *why)
{
	ze_host_mem_alloc_desc_t on_host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	ze_device_mem_alloc_desc_t on_device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_result_t code = ZE_RESULT_SUCCESS;
	void *at = host;

	if (d->arena)
		return -EBUSY;
	if (d->arena_kind == ARENA_DEVICE && d->caps.memory &&
	    !gpubpf_placement_fits(size, d->caps.memory, true, why->text, sizeof(why->text)))
		return -ENOMEM;
	if (d->arena_kind == ARENA_HOST)
		code = d->api.MemAllocHost(d->context, &on_host, size, 4096, &at);
	else if (d->arena_kind == ARENA_DEVICE)
		code = d->api.MemAllocDevice(d->context, &on_device, size, 4096, d->id, &at);
	if (code)
		return gpubpf_ze_error(why, "allocating memory for maps", code);
	d->arena = at;
	d->arena_size = size;
	*address = (uint64_t)(uintptr_t)at;
	return 0;
}

static bool is_outside(const struct gpubpf_device *d, size_t offset, size_t size)
{
	return !d->arena || offset > d->arena_size || size > d->arena_size - offset;
}

static int copy_by_device(struct gpubpf_device *d, void *to, const void *from, size_t size)
{
	ze_result_t code;

	pthread_mutex_lock(&d->lock);
	code = d->api.CommandListAppendMemoryCopy(d->list, to, from, size, NULL, 0, NULL);
	pthread_mutex_unlock(&d->lock);
	return code ? -EIO : 0;
}

static int copy(struct gpubpf_device *d, void *to, const void *from, size_t size)
{
	if (d->arena_kind == ARENA_DEVICE)
		return copy_by_device(d, to, from, size);
	if (d->arena_kind == ARENA_HOST)
		memcpy(to, from, size);
	return 0;
}

static int lz_arena_pull(struct gpubpf_device *d, size_t offset, void *to, size_t size)
{
	return is_outside(d, offset, size) ? -EINVAL : copy(d, to, d->arena + offset, size);
}

static int lz_arena_push(struct gpubpf_device *d, size_t offset, const void *from, size_t size)
{
	return is_outside(d, offset, size) ? -EINVAL : copy(d, d->arena + offset, from, size);
}

/*
 * Allocate map memory outside of the arena. Twins may access all memory of this kind, because the agent enables
 * indirect access for their kernels (hooks/level_zero/twin_load.c).
 */
static int lz_memory_get(struct gpubpf_device *d, enum gpubpf_placement where, void *host, size_t size,
			 struct gpubpf_device_memory *memory, struct gpubpf_reason *why)
{
	ze_host_mem_alloc_desc_t on_host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
	ze_device_mem_alloc_desc_t on_device = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	ze_result_t code = ZE_RESULT_SUCCESS;
	void *at = host;

	if (where == GPUBPF_PLACE_MANAGED)
		code = d->api.MemAllocShared(d->context, &on_device, &on_host, size, 4096, d->id, &at);
	else if (where == GPUBPF_PLACE_PINNED || !(d->caps.bits & GPUBPF_CAP_SVM_SYSTEM))
		code = d->api.MemAllocHost(d->context, &on_host, size, 4096, &at);
	if (code)
		return gpubpf_ze_error(why, "allocating memory for maps", code);
	*memory = (struct gpubpf_device_memory){
		.where = where,
		.host = at,
		.address = (uintptr_t)at,
		.size = size,
		.handle = at == host ? NULL : at,
	};
	return 0;
}

static void lz_memory_put(struct gpubpf_device *d, const struct gpubpf_device_memory *memory)
{
	if (memory->handle)
		d->api.MemFree(d->context, memory->handle);
}

static int lz_module_load(struct gpubpf_device *d, enum gpubpf_image_kind kind, const void *image, size_t size,
			  const char *options, struct gpubpf_device_module **module, struct gpubpf_reason *why)
{
	const ze_module_constants_t *none = NULL;
	struct gpubpf_ze_build build = { &options, &none, options ? 1 : 0 };
	struct gpubpf_device_module *m = calloc(1, sizeof(*m));
	int err = m ? gpubpf_ze_module_load(&d->api, d->context, d->id, kind, image, size, &build, &m->module, why) :
		      -ENOMEM;

	if (err < 0) {
		free(m);
		return err;
	}
	m->device = d;
	*module = m;
	return 0;
}

static void lz_module_unload(struct gpubpf_device_module *m)
{
	if (!m)
		return;
	m->device->api.ModuleDestroy(m->module);
	free(m);
}

static int lz_kernel_get(struct gpubpf_device_module *m, const char *name, struct gpubpf_device_kernel **kernel,
			 struct gpubpf_reason *why)
{
	ze_kernel_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name };
	ze_kernel_properties_t p = { .stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES };
	struct gpubpf_device_kernel *k = calloc(1, sizeof(*k));
	ze_result_t code;

	if (!k)
		return -ENOMEM;
	k->device = m->device;
	code = m->device->api.KernelCreate(m->module, &desc, &k->kernel);
	if (!code)
		code = m->device->api.KernelGetProperties(k->kernel, &p);
	if (code) {
		if (k->kernel)
			m->device->api.KernelDestroy(k->kernel);
		free(k);
		return gpubpf_ze_error(why, "finding a kernel", code);
	}
	k->nargs = p.numKernelArgs;
	*kernel = k;
	return 0;
}

static void lz_kernel_put(struct gpubpf_device_kernel *k)
{
	if (!k)
		return;
	k->device->api.KernelDestroy(k->kernel);
	free(k);
}

static ze_result_t set_shape(struct gpubpf_device_kernel *k, const struct gpubpf_device_launch *l, ze_group_count_t *count)
{
	const struct gpubpf_ze_api *api = &k->device->api;
	uint32_t grid[3] = { 1, 1, 1 }, block[3] = { 1, 1, 1 };
	ze_result_t code = ZE_RESULT_SUCCESS;

	for (uint32_t i = 0; i < l->dim && i < 3; i++) {
		grid[i] = l->grid[i];
		block[i] = l->block[i];
	}
	if (!l->block[0])
		code = api->KernelSuggestGroupSize(k->kernel, grid[0], grid[1], grid[2], &block[0], &block[1], &block[2]);
	for (uint32_t i = 0; i < 3 && !code; i++)
		if (!block[i] || grid[i] % block[i])
			code = ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION;
	if (!code)
		code = api->KernelSetGroupSize(k->kernel, block[0], block[1], block[2]);
	if (!code && api->KernelSetGlobalOffsetExp)
		code = api->KernelSetGlobalOffsetExp(k->kernel, l->offset[0], l->offset[1], l->offset[2]);
	if (!code)
		*count = (ze_group_count_t){ grid[0] / block[0], grid[1] / block[1], grid[2] / block[2] };
	return code;
}

/* Requires the device's lock. */
static int launch(struct gpubpf_device_kernel *k, const struct gpubpf_device_launch *l, struct gpubpf_reason *why)
{
	const struct gpubpf_ze_api *api = &k->device->api;
	ze_group_count_t count;
	ze_result_t code = ZE_RESULT_SUCCESS;

	gpubpf_assert_held(&k->device->lock);
	for (uint32_t i = 0; i < l->nargs && !code; i++)
		code = api->KernelSetArgumentValue(k->kernel, i, l->arg_sizes[i], l->args[i]);
	if (code)
		return gpubpf_ze_error(why, "setting an argument", code);
	code = set_shape(k, l, &count);
	if (!code)
		code = api->CommandListAppendLaunchKernel(k->device->list, k->kernel, &count, NULL, 0, NULL);
	return code ? gpubpf_ze_error(why, "launching", code) : 0;
}

static int lz_launch(struct gpubpf_device_kernel *k, const struct gpubpf_device_launch *l, struct gpubpf_reason *why)
{
	int err;

	if (l->nargs != k->nargs) {
		snprintf(why->text, sizeof(why->text), "the kernel has %u arguments, not %u", k->nargs, l->nargs);
		return -EINVAL;
	}
	pthread_mutex_lock(&k->device->lock);
	err = launch(k, l, why);
	pthread_mutex_unlock(&k->device->lock);
	return err;
}

/*
 * ---- the clock: measured by a kernel, because zeDeviceGetGlobalTimestamps() reads a clock that kernels cannot read
 * ----
 */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int lz_clock(struct gpubpf_device *d, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns)
{
	const struct gpubpf_device_launch one = {
		.dim = 1,
		.grid = { 1 },
		.block = { 1 },
		.args = (const void *const[]){ &d->clock_word },
		.arg_sizes = (const size_t[]){ sizeof(d->clock_word) },
		.nargs = 1,
	};
	struct gpubpf_reason why;
	int err;

	if (!d->clock_kernel)
		return -EOPNOTSUPP;
	*before_ns = now_ns();
	err = lz_launch(d->clock_kernel, &one, &why);
	*after_ns = now_ns();
	return err ? err : copy_by_device(d, cycles, d->clock_word, sizeof(*cycles));
}

/* Set caps.clock to none if the clock does not advance. */
static void test_clock(struct gpubpf_device *d)
{
	ze_device_mem_alloc_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC };
	uint64_t first = 0, second = 0, before, after;
	struct gpubpf_reason why;
	size_t size;
	const void *il = gpubpf_spv_clock(&size);

	if (!d->api.MemAllocDevice(d->context, &desc, sizeof(first), sizeof(first), d->id, &d->clock_word) &&
	    !copy_by_device(d, d->clock_word, &first, sizeof(first)) &&
	    !lz_module_load(d, GPUBPF_IMAGE_SPIRV, il, size, "", &d->clock_module, &why) &&
	    !lz_kernel_get(d->clock_module, GPUBPF_SPV_CLOCK_KERNEL, &d->clock_kernel, &why) &&
	    !lz_clock(d, &first, &before, &after) && first && !lz_clock(d, &second, &before, &after) && second > first)
		d->caps.clock = GPUBPF_CLOCK_CYCLES;
}

static void lz_close(struct gpubpf_device *d)
{
	if (!d)
		return;
	lz_arena_detach(d);
	lz_kernel_put(d->clock_kernel);
	lz_module_unload(d->clock_module);
	if (d->clock_word)
		d->api.MemFree(d->context, d->clock_word);
	if (d->list)
		d->api.CommandListDestroy(d->list);
	if (d->owns_context)
		d->api.ContextDestroy(d->context);
	pthread_mutex_destroy(&d->lock);
	free(d);
}

static int lz_open(const struct gpubpf_device_open *how, struct gpubpf_device **device, struct gpubpf_reason *why)
{
	struct gpubpf_device *d = calloc(1, sizeof(*d));
	int err;

	if (!d)
		return -ENOMEM;
	pthread_mutex_init(&d->lock, NULL);
	err = gpubpf_ze_api_load(&d->api, how->runtime, why);
	if (!err)
		err = gpubpf_ze_open_context(d, how, why);
	if (!err)
		err = gpubpf_ze_open_list(d, why);
	if (err < 0) {
		lz_close(d);
		return err;
	}
	gpubpf_ze_fill_caps(d);
	test_clock(d);
	*device = d;
	return 0;
}

const struct gpubpf_device_ops gpubpf_device_level_zero = {
	.backend = "level_zero",
	.open = lz_open,
	.close = lz_close,
	.caps = lz_caps,
	.arena_attach = lz_arena_attach,
	.arena_pull = lz_arena_pull,
	.arena_push = lz_arena_push,
	.arena_detach = lz_arena_detach,
	.memory_get = lz_memory_get,
	.memory_put = lz_memory_put,
	.module_load = lz_module_load,
	.module_unload = lz_module_unload,
	.kernel_get = lz_kernel_get,
	.kernel_put = lz_kernel_put,
	.launch = lz_launch,
	.clock = lz_clock,
};
