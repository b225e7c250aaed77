/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels, their arguments and settings. The adapter sets arguments and settings on the original, and records them if
 * the driver accepts them. Before a launch of a twin, the adapter sets on the twin the arguments and settings that
 * changed.
 */
#include "level_zero.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

GPUBPF_RECORDS(lz_kernels)

enum { SET_GROUP = 1, SET_OFFSET = 2, SET_INDIRECT = 4, SET_CACHE = 8 };

static void clear_arg(struct lz_arg *arg)
{
	if (arg->how == LZ_ARG_VALUE && arg->size > sizeof(arg->bytes))
		free(arg->data);
	arg->how = LZ_ARG_UNSET;
	arg->version++;
}

static void destroy(struct lz_kernel *k)
{
	gpubpf_hook_kernel_destroy(k->hook);
	for (uint32_t i = 0; k->args && i < k->nargs; i++)
		clear_arg(&k->args[i]);
	free(k->args);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

/* Create the record of a new kernel. If this fails, the kernel runs unprobed. */
static void add_kernel(const struct lz_driver *d, struct lz_module *m, const char *name, ze_kernel_handle_t handle)
{
	ze_kernel_properties_t p = { .stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES };
	struct lz_kernel *k = calloc(1, sizeof(*k));

	if (!k)
		return;
	k->module = m;
	pthread_mutex_init(&k->lock, NULL);
	if (d->api.KernelGetProperties(handle, &p) || !(k->args = calloc(p.numKernelArgs + 1, sizeof(*k->args))) ||
	    gpubpf_hook_kernel_create(m->hook, k, name, &k->hook) < 0) {
		destroy(k);
		return;
	}
	k->nargs = p.numKernelArgs;
	k->recorded = true;
	gpubpf_records_add(&lz_kernels, handle, &k->object);
	gpubpf_hook_kernel_prefetch(k->hook, m->hook_device);
}

ze_result_t lz_KernelCreate(struct lz_driver *d, ze_module_handle_t module, const ze_kernel_desc_t *desc,
			    ze_kernel_handle_t *kernel)
{
	ze_result_t err = d->next.KernelCreate(module, desc, kernel);
	struct lz_module *m = err ? NULL : gpubpf_records_find(&lz_modules, module);

	if (m)
		add_kernel(d, m, desc->pKernelName, *kernel);
	return err;
}

ze_result_t lz_KernelDestroy(struct lz_driver *d, ze_kernel_handle_t kernel)
{
	struct lz_kernel *k = gpubpf_records_release(&lz_kernels, kernel);

	if (k)
		destroy(k);
	return d->next.KernelDestroy(kernel);
}

static int set_arg(struct lz_arg *arg, size_t size, const void *value)
{
	void *data = NULL;

	if (value && size > sizeof(arg->bytes) && !(data = malloc(size)))
		return -ENOMEM;
	clear_arg(arg);
	arg->size = size;
	arg->how = value ? LZ_ARG_VALUE : LZ_ARG_NULL;
	if (data)
		arg->data = memcpy(data, value, size);
	else if (value)
		memcpy(arg->bytes, value, size);
	return 0;
}

ze_result_t lz_KernelSetArgumentValue(struct lz_driver *d, ze_kernel_handle_t kernel, uint32_t index, size_t size,
				      const void *value)
{
	ze_result_t err = d->next.KernelSetArgumentValue(kernel, index, size, value);
	struct lz_kernel *k = err ? NULL : gpubpf_records_find(&lz_kernels, kernel);

	if (k && index < k->nargs && set_arg(&k->args[index], size, value) < 0)
		k->recorded = false; /* out of memory: the kernel runs unprobed */
	return err;
}

/*
 * If the driver accepted the call, mark one of the kernel's settings as changed and return the settings. Returns NULL
 * if the driver refused the call, or if the kernel has no record.
 */
static struct lz_setting *mark_changed(ze_result_t err, ze_kernel_handle_t kernel, uint32_t which)
{
	struct lz_kernel *k = err ? NULL : gpubpf_records_find(&lz_kernels, kernel);

	if (!k)
		return NULL;
	k->setting.set |= which;
	k->setting.version++;
	return &k->setting;
}

ze_result_t lz_KernelSetGroupSize(struct lz_driver *d, ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z)
{
	ze_result_t err = d->next.KernelSetGroupSize(kernel, x, y, z);
	struct lz_setting *s = mark_changed(err, kernel, SET_GROUP);

	if (s)
		memcpy(s->group, (uint32_t[]){ x, y, z }, sizeof(s->group));
	return err;
}

ze_result_t lz_KernelExpSetGlobalOffsetExp(struct lz_driver *d, ze_kernel_handle_t kernel, uint32_t x, uint32_t y,
					   uint32_t z)
{
	ze_result_t err = d->next.KernelExpSetGlobalOffsetExp(kernel, x, y, z);
	struct lz_setting *s = mark_changed(err, kernel, SET_OFFSET);

	if (s)
		memcpy(s->offset, (uint32_t[]){ x, y, z }, sizeof(s->offset));
	return err;
}

ze_result_t lz_KernelSetIndirectAccess(struct lz_driver *d, ze_kernel_handle_t kernel,
				       ze_kernel_indirect_access_flags_t flags)
{
	ze_result_t err = d->next.KernelSetIndirectAccess(kernel, flags);
	struct lz_setting *s = mark_changed(err, kernel, SET_INDIRECT);

	if (s)
		s->indirect = flags;
	return err;
}

ze_result_t lz_KernelSetCacheConfig(struct lz_driver *d, ze_kernel_handle_t kernel, ze_cache_config_flags_t flags)
{
	ze_result_t err = d->next.KernelSetCacheConfig(kernel, flags);
	struct lz_setting *s = mark_changed(err, kernel, SET_CACHE);

	if (s)
		s->cache = flags;
	return err;
}

static ze_result_t apply_arg(const struct lz_driver *d, struct lz_twin *twin, uint32_t i, const struct lz_arg *arg)
{
	const void *bytes = arg->size > sizeof(arg->bytes) ? arg->data : arg->bytes;

	if (arg->how == LZ_ARG_UNSET)
		return ZE_RESULT_SUCCESS; /* the application has not set this argument, so do not set it on the twin */
	if (arg->how == LZ_ARG_UNKNOWN) {
		gpubpf_log_once("kernel %s: launched by zeCommandListAppendLaunchKernelWithArguments() and then "
				"without arguments; its twin cannot get these argument values; it runs unprobed until "
				"the application sets all arguments",
				gpubpf_hook_kernel_name(twin->kernel->hook));
		return GPUBPF_TWIN_REPORTED;
	}
	return d->api.KernelSetArgumentValue(twin->handle, i, arg->size, arg->how == LZ_ARG_NULL ? NULL : bytes);
}

static ze_result_t apply_setting(const struct lz_driver *d, const struct lz_twin *t, const struct lz_setting *s)
{
	ze_kernel_handle_t twin = t->handle;
	ze_result_t err = ZE_RESULT_SUCCESS;

	if (s->set & SET_GROUP)
		err = d->api.KernelSetGroupSize(twin, s->group[0], s->group[1], s->group[2]);
	if (!err && s->set & SET_OFFSET)
		err = d->api.KernelSetGlobalOffsetExp(twin, s->offset[0], s->offset[1], s->offset[2]);
	if (!err && s->set & SET_INDIRECT)
		err = d->api.KernelSetIndirectAccess(twin, s->indirect | t->indirect);
	if (!err && s->set & SET_CACHE)
		err = d->api.KernelSetCacheConfig(twin, s->cache);
	return err;
}

ze_result_t lz_kernel_apply(struct lz_twin *twin)
{
	struct lz_kernel *k = twin->kernel;
	const struct lz_driver *d = k->module->driver;
	ze_result_t err;

	gpubpf_assert_held(&k->lock);
	for (uint32_t i = 0; i < k->nargs; i++) {
		if (k->args[i].version == twin->applied[i])
			continue;
		err = apply_arg(d, twin, i, &k->args[i]);
		if (err)
			return err;
		twin->applied[i] = k->args[i].version;
	}
	return lz_kernel_apply_setting(twin);
}

ze_result_t lz_kernel_apply_setting(struct lz_twin *twin)
{
	const struct lz_setting *s = &twin->kernel->setting;
	ze_result_t err;

	gpubpf_assert_held(&twin->kernel->lock);
	if (s->version == twin->setting)
		return ZE_RESULT_SUCCESS;
	err = apply_setting(twin->kernel->module->driver, twin, s);
	if (!err)
		twin->setting = s->version;
	return err;
}

void lz_kernel_note_args_set(struct lz_kernel *k, const struct lz_group_size *size)
{
	struct lz_setting *s = &k->setting;

	gpubpf_assert_held(&k->lock);
	for (uint32_t i = 0; i < k->nargs; i++) {
		clear_arg(&k->args[i]);
		k->args[i].how = LZ_ARG_UNKNOWN;
	}
	s->set |= SET_GROUP;
	s->version++;
	memcpy(s->group, (uint32_t[]){ size->x, size->y, size->z }, sizeof(s->group));
}
