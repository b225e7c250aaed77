/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the launch path's operations for Level Zero: get the images of modules, load and unload twins. */
#include "level_zero.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

#define NATIVE_REASON                                                                                           \
	"created from native code whose SPIR-V is unknown; clear the program's cache of modules so that it builds " \
	"from SPIR-V once"

struct module {
	const struct lz_driver *driver;
	ze_module_handle_t handle;
};

static int image(void *adapter_program, struct gpubpf_hook_device *device, struct gpubpf_hook_image *image)
{
	struct lz_module *m = adapter_program;
	int err = 0;

	pthread_mutex_lock(&m->lock);
	if (m->code)
		err = lz_code_image(m->code, image);
	else
		image->reason = NATIVE_REASON;
	pthread_mutex_unlock(&m->lock);
	return err;
}

static void image_put(struct gpubpf_hook_image *image)
{
	free((void *)image->data);
	free((void *)image->options);
}

static struct gpubpf_name_list *kernels(void *adapter_program)
{
	struct lz_module *m = adapter_program;
	struct gpubpf_name_list *names;
	size_t size;

	pthread_mutex_lock(&m->lock);
	size = m->names ? sizeof(*names) + m->names->size : 0;
	names = size ? malloc(size) : NULL;
	if (names)
		memcpy(names, m->names, size);
	pthread_mutex_unlock(&m->lock);
	return names;
}

static void unload(void *module)
{
	struct module *m = module;

	m->driver->api.ModuleDestroy(m->handle);
	free(m);
}

/* Link the twin with the modules that the application linked with the original. */
static int link_peers(struct lz_module *p, ze_module_handle_t twin, struct gpubpf_reason *why)
{
	ze_module_handle_t *all = calloc(p->npeers + 1, sizeof(*all));
	ze_result_t err;
	uint32_t n = 0;

	if (!all)
		return -ENOMEM;
	all[n++] = twin;
	for (uint32_t i = 0; i < p->npeers; i++)
		if (gpubpf_records_find(&lz_modules, p->peers[i]))
			all[n++] = p->peers[i];
	err = n > 1 ? p->driver->api.ModuleDynamicLink(n, all, NULL) : ZE_RESULT_SUCCESS;
	free(all);
	return err ? gpubpf_ze_error(why, "linking the twin", err) : 0;
}

/*
 * Load the twin's module. The caller holds the lock of the original's record, so the application cannot destroy the
 * original meanwhile.
 */
static int load_locked(struct lz_module *p, enum gpubpf_image_kind kind, const void *data, size_t size,
		       struct module *m, struct gpubpf_reason *why)
{
	uint32_t n = p->code->nparts;
	const ze_module_constants_t **constants = calloc(n + 1, sizeof(*constants));
	const char **flags = calloc(n + 1, sizeof(*flags));
	struct gpubpf_ze_build build = { flags, constants, n };
	int err = -ENOMEM;

	gpubpf_assert_held(&p->lock);
	for (uint32_t i = 0; constants && flags && i < n; i++) {
		constants[i] = p->code->parts[i].constants_or_null;
		flags[i] = p->code->parts[i].flags;
	}
	if (constants && flags)
		err = gpubpf_ze_module_load(&p->driver->api, p->context, p->device, kind, data, size, &build,
					    &m->handle, why);
	free(constants);
	free(flags);
	if (!err && p->npeers && (err = link_peers(p, m->handle, why)))
		p->driver->api.ModuleDestroy(m->handle);
	return err;
}

static int load(struct gpubpf_hook_device *device, void *adapter_program, const struct gpubpf_hook_twin_image *image,
		void **module, struct gpubpf_reason *why)
{
	struct lz_module *p = adapter_program;
	struct module *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->driver = p->driver;
	pthread_mutex_lock(&p->lock);
	if (p->dead || !p->code) {
		snprintf(why->text, sizeof(why->text), "the application destroyed the module");
		err = -ECANCELED;
	} else {
		err = load_locked(p, image->kind, image->data, image->size, m, why);
	}
	pthread_mutex_unlock(&p->lock);
	if (err < 0) {
		free(m);
		return err;
	}
	*module = m;
	return 0;
}

static void kernel_put(void *twin)
{
	struct lz_twin *t = twin;

	if (t->handle)
		t->kernel->module->driver->api.KernelDestroy(t->handle);
	free(t->applied);
	free(t);
}

static uint32_t extra_args(uint32_t flags)
{
	return !!(flags & GPUBPF_TWIN_ARG_ARENA) + !!(flags & GPUBPF_TWIN_ARG_LAUNCH) + !!(flags & GPUBPF_TWIN_ARG_PID);
}

/*
 * Refuse the twin unless the driver reports the number of the original's arguments plus the number of extra arguments.
 */
static int check_args(const struct module *m, struct lz_twin *t, const struct gpubpf_hook_twin *what,
		      struct gpubpf_reason *why)
{
	ze_kernel_properties_t p = { .stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES };
	uint32_t want = t->kernel->nargs + extra_args(what->flags);

	if (!m->driver->api.KernelGetProperties(t->handle, &p) && what->params == t->kernel->nargs &&
	    p.numKernelArgs == want)
		return 0;
	snprintf(why->text, sizeof(why->text), "its twin has %u arguments instead of %u, of which %u are the kernel's",
		 p.numKernelArgs, want, what->params);
	return -EINVAL;
}

/* Returns true if the device has maps outside the arena. Twins access them without receiving them as arguments. */
static bool has_external_maps(struct gpubpf_hook_device *device)
{
	uint32_t n = 0;

	for (int where = 0; where < GPUBPF_PLACEMENTS; where++)
		n += gpubpf_hook_device_memory(device, where, NULL, 0);
	return n;
}

/*
 * Allow the twin to access memory that is not passed as an argument: external maps, and application memory that BPF
 * programs read.
 */
static ze_result_t allow_indirect_access(const struct module *m, struct lz_twin *t)
{
	struct gpubpf_hook_device *device = t->kernel->module->hook_device;

	if (!gpubpf_allocations_in_use(device) && !has_external_maps(device))
		return ZE_RESULT_SUCCESS;
	t->indirect = ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE |
		      ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED;
	return m->driver->api.KernelSetIndirectAccess(t->handle, t->indirect);
}

static int kernel(void *module, const struct gpubpf_hook_twin *what, void *adapter_kernel, void **twin,
		  struct gpubpf_reason *why)
{
	ze_kernel_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = what->name };
	struct lz_twin *t = calloc(1, sizeof(*t));
	struct lz_kernel *k = adapter_kernel;
	struct module *m = module;
	ze_result_t code;

	if (!t || !(t->applied = calloc(k->nargs + 1, sizeof(*t->applied)))) {
		free(t);
		return -ENOMEM;
	}
	t->kernel = k;
	code = m->driver->api.KernelCreate(m->handle, &desc, &t->handle);
	if (code) {
		t->handle = NULL;
		kernel_put(t);
		return gpubpf_ze_error(why, "creating the twin's kernel", code);
	}
	if (check_args(m, t, what, why) < 0) {
		kernel_put(t);
		return -EINVAL;
	}
	code = allow_indirect_access(m, t);
	if (code) {
		kernel_put(t);
		return gpubpf_ze_error(why, "allowing the twin indirect memory access", code);
	}
	*twin = t;
	return 0;
}

static bool kept(const void *twin)
{
	return atomic_load_explicit(&((const struct lz_twin *)twin)->is_in_list, memory_order_relaxed);
}

/* ---- the backend's device operations, with an operation that waits for the application's queues ---- */

static int settle(struct gpubpf_device *device, uint32_t timeout_ms)
{
	return lz_queues_wait(gpubpf_ze_context(device), timeout_ms);
}

static struct gpubpf_device_ops device_ops;

void lz_device_init(void)
{
	device_ops = gpubpf_device_level_zero;
	device_ops.settle = settle;
}

const struct gpubpf_hook_ops lz_hook_ops = {
	.backend = "level_zero",
	.device = &device_ops,
	.kernels = kernels,
	.image = image,
	.image_put = image_put,
	.twin_load = load,
	.twin_kernel = kernel,
	.twin_kept = kept,
	.twin_kernel_put = kernel_put,
	.twin_unload = unload,
};
