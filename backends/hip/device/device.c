/* SPDX-License-Identifier: Apache-2.0 */
/* Implements struct gpubpf_device_ops with the HIP runtime. */
#include "device.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "core/wire/placement.h"
#include "driver.h"
#include "memory.h"

#define MAX_ARGS 64
#define COPY_PIECE (1u << 20)

struct gpubpf_device {
	const struct hip_driver *hip;
	int ordinal;
	struct gpubpf_device_caps caps;
	void *arena;
	size_t size;
	bool pinned; /* the arena is host memory that the device can access, instead of device memory */
};

struct gpubpf_device_module {
	struct gpubpf_device *device;
	hipModule_t module;
	char image[]; /* copy of the image, because the runtime may read it while the module is loaded */
};

struct gpubpf_device_kernel {
	struct gpubpf_device *device;
	hipFunction_t function;
};

static int fail(const struct gpubpf_device *d, struct gpubpf_reason *why, const char *what, hipError_t error)
{
	snprintf(why->text, sizeof(why->text), "%s: %s", what, hip_error(d->hip, error));
	return -EIO;
}

static hipError_t fill_caps(struct gpubpf_device *d)
{
	struct gpubpf_device_caps *caps = &d->caps;
	struct hip_properties p = { 0 };
	hipError_t error = d->hip->properties(&p, d->ordinal);
	size_t arch = strcspn(p.gcn_arch_name, ":");
	struct hip_visit visit;
	int version = 0;

	if (error)
		return error;
	d->hip->version(&version);
	snprintf(caps->backend, sizeof(caps->backend), "hip");
	snprintf(caps->name, sizeof(caps->name), "%.90s", p.name[0] ? p.name : "AMD GPU");
	snprintf(caps->driver, sizeof(caps->driver), "AMD HIP %d.%d", version / 10000000, version / 100000 % 100);
	snprintf(caps->arch, sizeof(caps->arch), "%.*s", (int)arch, p.gcn_arch_name);
	if (p.gcn_arch_name[arch])
		snprintf(caps->extensions, sizeof(caps->extensions), "%s", p.gcn_arch_name + arch + 1);
	caps->bits = GPUBPF_CAP_ATOMIC64 | GPUBPF_CAP_SUBGROUPS | GPUBPF_CAP_ACCEPTS_AMDGPU | GPUBPF_CAP_ALLOCATIONS;
	if (!hip_enter(d->hip, d->ordinal, &visit))
		caps->bits |= hip_memory_caps(d->hip, d->ordinal);
	hip_leave(d->hip, d->ordinal, &visit);
	caps->clock = GPUBPF_CLOCK_REALTIME;
	caps->compute_units = p.units;
	caps->warp_size = p.warp_size;
	caps->address_bits = 64;
	caps->max_threads_per_block = p.max_threads_per_block;
	for (int i = 0; i < 3; i++)
		caps->max_blocks[i] = p.max_grid[i];
	caps->sub_groups = caps->warp_size;
	caps->memory = caps->max_alloc = p.memory;
	caps->ordinal = d->ordinal;
	return 0;
}

/* Finds device number how->index among the matching devices. A device matches if its name or architecture contains
 * how->name, or if how->name is its ordinal. */
static hipError_t find_device(struct gpubpf_device *d, const struct gpubpf_device_open *how)
{
	hipError_t error = d->hip->init(0);
	uint32_t seen = 0;
	int n = 0;

	if (!error)
		error = d->hip->device_count(&n);
	for (int i = 0; !error && i < n; i++) {
		struct hip_properties p = { 0 };
		char number[12];

		snprintf(number, sizeof(number), "%d", i);
		if (d->hip->properties(&p, i))
			continue;
		if (how->name && !strstr(p.name, how->name) && !strstr(p.gcn_arch_name, how->name) &&
		    strcmp(number, how->name))
			continue;
		d->ordinal = i;
		if (seen++ == how->index)
			return 0;
	}
	return error ? error : hipErrorNotFound;
}

static int hip_open(const struct gpubpf_device_open *how, struct gpubpf_device **out, struct gpubpf_reason *why)
{
	const struct hip_driver *hip = how->runtime ? how->runtime : hip_driver_load(why->text, sizeof(why->text));
	struct gpubpf_device *d = hip ? calloc(1, sizeof(*d)) : NULL;
	hipError_t error = 0;
	int err = 0;

	if (!d)
		return hip ? -ENOMEM : -ENOENT;
	d->hip = hip;
	d->ordinal = how->index;
	if (!how->runtime)
		error = find_device(d, how);
	if (error)
		err = fail(d, why, how->name ? how->name : "no AMD device was found", error);
	else if ((error = fill_caps(d)))
		err = fail(d, why, "cannot read the device's properties", error);
	if (err < 0) {
		free(d);
		return error == hipErrorNotFound ? -ENODEV : err;
	}
	*out = d;
	return 0;
}

static const struct gpubpf_device_caps *hip_caps(const struct gpubpf_device *d)
{
	return &d->caps;
}

/* ---- the arena ---- */

static hipError_t allocate(struct gpubpf_device *d, size_t size)
{
	hipError_t error = d->hip->mem_alloc(&d->arena, size);

	if (error) {
		error = d->hip->host_alloc(&d->arena, size, 0);
		d->pinned = !error;
	}
	return error;
}

static void release(struct gpubpf_device *d)
{
	if (d->pinned)
		d->hip->host_free(d->arena);
	else
		d->hip->mem_free(d->arena);
	d->arena = NULL;
	d->pinned = false;
}

/* Copies in chunks of at most COPY_PIECE bytes, which the runtime stages in its own memory. For a larger copy the
 * runtime would pin the caller's pages. These pages belong to a file that the tool maps too, and not every device can
 * access such pages. */
static hipError_t copy_pieces(const struct gpubpf_device *d, size_t offset, char *to, const char *from, size_t size)
{
	char *arena = (char *)d->arena + offset;
	hipError_t error = 0;

	for (size_t at = 0; !error && at < size;) {
		size_t n = size - at < COPY_PIECE ? size - at : COPY_PIECE;

		error = to ? d->hip->copy_from(to + at, arena + at, n) : d->hip->copy_to(arena + at, from + at, n);
		at += n;
	}
	return error;
}

/* Returns false and sets *why if the device has less free memory than needed. Returns true if the runtime does not
 * report free memory; the allocation may then fail. */
static bool has_free_memory(const struct gpubpf_device *d, size_t size, struct gpubpf_reason *why)
{
	size_t free, all;

	return !d->hip->mem_info || d->hip->mem_info(&free, &all) ||
	       gpubpf_placement_fits(size, free, false, why->text, sizeof(why->text));
}

static int hip_arena_attach(struct gpubpf_device *d, void *host, size_t size, uint64_t *address, struct gpubpf_reason *why)
{
	struct hip_visit visit;
	hipError_t error;
	bool fit = true;

	if (d->arena)
		return -EBUSY;
	d->size = size;
	error = hip_enter(d->hip, d->ordinal, &visit);
	if (!error)
		fit = has_free_memory(d, size, why);
	if (!error && fit)
		error = allocate(d, size);
	hip_leave(d->hip, d->ordinal, &visit);
	if (!fit)
		return -ENOMEM;
	if (error)
		return fail(d, why, "cannot allocate device memory for maps", error);
	*address = (uintptr_t)d->arena;
	return 0;
}

/* Copies `size` bytes from the arena to `to`, or from `from` to the arena. The other pointer is NULL. */
static int copy(struct gpubpf_device *d, size_t offset, void *to, const void *from, size_t size)
{
	struct hip_visit visit;
	hipError_t error;

	if (offset > d->size || size > d->size - offset)
		return -EINVAL;
	error = hip_enter(d->hip, d->ordinal, &visit);
	if (!error && to)
		error = d->hip->synchronize();
	if (!error)
		error = copy_pieces(d, offset, to, from, size);
	hip_leave(d->hip, d->ordinal, &visit);
	return error ? -EIO : 0;
}

static int hip_arena_pull(struct gpubpf_device *d, size_t offset, void *to, size_t size)
{
	return copy(d, offset, to, NULL, size);
}

static int hip_arena_push(struct gpubpf_device *d, size_t offset, const void *from, size_t size)
{
	return copy(d, offset, NULL, from, size);
}

/* Returns true if the null stream is idle. gpubpf's copies use the null stream, which waits for all streams except
 * non-blocking ones (HIP programming guide, streams). */
static bool hip_is_idle(struct gpubpf_device *d)
{
	struct hip_visit visit;
	bool quiet = !hip_enter(d->hip, d->ordinal, &visit) && d->hip->stream_query && !d->hip->stream_query(NULL);

	hip_leave(d->hip, d->ordinal, &visit);
	return quiet;
}

static void hip_arena_detach(struct gpubpf_device *d)
{
	struct hip_visit visit;

	if (!d->arena)
		return;
	if (!hip_enter(d->hip, d->ordinal, &visit))
		release(d);
	hip_leave(d->hip, d->ordinal, &visit);
}

static int hip_memory_allocate(struct gpubpf_device *d, enum gpubpf_placement where, void *host, size_t size,
			       struct gpubpf_device_memory *memory, struct gpubpf_reason *why)
{
	struct gpubpf_device_memory m = { .where = where, .size = size };
	struct hip_visit visit;
	hipError_t error = hip_enter(d->hip, d->ordinal, &visit);

	if (!error)
		error = hip_memory_get(d->hip, &m);
	hip_leave(d->hip, d->ordinal, &visit);
	if (error)
		return fail(d, why, "cannot allocate device memory for maps", error);
	*memory = m;
	return 0;
}

static void hip_memory_release(struct gpubpf_device *d, const struct gpubpf_device_memory *memory)
{
	struct hip_visit visit;

	if (!hip_enter(d->hip, d->ordinal, &visit))
		hip_memory_put(d->hip, memory);
	hip_leave(d->hip, d->ordinal, &visit);
}

/* ---- modules and launches ---- */

static int hip_module_load(struct gpubpf_device *d, enum gpubpf_image_kind kind, const void *image, size_t size,
			   const char *options, struct gpubpf_device_module **out, struct gpubpf_reason *why)
{
	struct gpubpf_device_module *module;
	struct hip_visit visit;
	hipError_t error;

	if (kind != GPUBPF_IMAGE_AMDGPU) {
		snprintf(why->text, sizeof(why->text), "AMD's runtime loads only code objects (GPUBPF_IMAGE_AMDGPU)");
		return -EINVAL;
	}
	module = malloc(sizeof(*module) + size);
	if (!module)
		return -ENOMEM;
	memcpy(module->image, image, size);
	module->device = d;
	error = hip_enter(d->hip, d->ordinal, &visit);
	if (!error)
		error = d->hip->module_load(&module->module, module->image);
	hip_leave(d->hip, d->ordinal, &visit);
	if (error) {
		free(module);
		return fail(d, why, "loading the module failed", error);
	}
	*out = module;
	return 0;
}

static void hip_module_unload(struct gpubpf_device_module *module)
{
	struct hip_visit visit;

	if (!module)
		return;
	if (!hip_enter(module->device->hip, module->device->ordinal, &visit))
		module->device->hip->module_unload(module->module);
	hip_leave(module->device->hip, module->device->ordinal, &visit);
	free(module);
}

static int hip_kernel_get(struct gpubpf_device_module *module, const char *name, struct gpubpf_device_kernel **out,
			  struct gpubpf_reason *why)
{
	struct gpubpf_device_kernel *kernel = calloc(1, sizeof(*kernel));
	hipError_t error;

	if (!kernel)
		return -ENOMEM;
	kernel->device = module->device;
	error = module->device->hip->module_function(&kernel->function, module->module, name);
	if (error) {
		free(kernel);
		return fail(module->device, why, name, error);
	}
	*out = kernel;
	return 0;
}

static void hip_kernel_put(struct gpubpf_device_kernel *kernel)
{
	free(kernel);
}

static int hip_launch(struct gpubpf_device_kernel *kernel, const struct gpubpf_device_launch *l, struct gpubpf_reason *why)
{
	struct gpubpf_device *d = kernel->device;
	unsigned blocks[3] = { 1, 1, 1 }, threads[3] = { 1, 1, 1 };
	struct hip_visit visit;
	void *args[MAX_ARGS];
	hipError_t error;

	if (l->nargs > MAX_ARGS || l->dim > 3)
		return -EINVAL;
	if (l->nargs)
		memcpy(args, l->args, l->nargs * sizeof(*args));
	for (uint32_t i = 0; i < l->dim; i++) {
		threads[i] = l->block[i] ? l->block[i] : 1;
		blocks[i] = l->grid[i] / threads[i];
		if (l->offset[i] || blocks[i] * threads[i] != l->grid[i]) {
			snprintf(why->text, sizeof(why->text),
				 "a HIP launch requires a grid that is a multiple of the block size, "
				 "and no global offset");
			return -EINVAL;
		}
	}
	error = hip_enter(d->hip, d->ordinal, &visit);
	if (!error)
		error = d->hip->launch(kernel->function, blocks[0], blocks[1], blocks[2], threads[0], threads[1],
				       threads[2], 0, NULL, args, NULL);
	if (!error)
		error = d->hip->synchronize();
	hip_leave(d->hip, d->ordinal, &visit);
	return error ? fail(d, why, "launch", error) : 0;
}

static int hip_clock(struct gpubpf_device *d, uint64_t *cycles, uint64_t *before_ns, uint64_t *after_ns)
{
	char pci[64] = "";

	return d->hip->pci_id(pci, sizeof(pci), d->ordinal) ? -EIO : hip_clock_read(pci, cycles, before_ns, after_ns);
}

static void hip_close(struct gpubpf_device *d)
{
	if (!d)
		return;
	hip_arena_detach(d);
	free(d);
}

const struct gpubpf_device_ops gpubpf_device_hip = {
	.backend = "hip",
	.open = hip_open,
	.close = hip_close,
	.caps = hip_caps,
	.arena_attach = hip_arena_attach,
	.arena_pull = hip_arena_pull,
	.arena_push = hip_arena_push,
	.quiet = hip_is_idle,
	.arena_detach = hip_arena_detach,
	.memory_get = hip_memory_allocate,
	.memory_put = hip_memory_release,
	.module_load = hip_module_load,
	.module_unload = hip_module_unload,
	.kernel_get = hip_kernel_get,
	.kernel_put = hip_kernel_put,
	.launch = hip_launch,
	.clock = hip_clock,
};
