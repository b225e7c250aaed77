/* SPDX-License-Identifier: Apache-2.0 */
#include "level_zero.h"

#include <stdlib.h>
#include <string.h>

GPUBPF_RECORDS(lz_modules)

/* Returns the names of all kernels of the module, malloc'd, or NULL if unknown. */
static struct gpubpf_name_list *kernel_names(const struct lz_driver *d, ze_module_handle_t module)
{
	struct gpubpf_name_list *all = NULL;
	uint32_t n = 0;
	const char **names;

	if (d->api.ModuleGetKernelNames(module, &n, NULL) || !(names = calloc(n + 1, sizeof(*names))))
		return NULL;
	if (n && !d->api.ModuleGetKernelNames(module, &n, names) && n)
		all = gpubpf_names_create(names, n);
	free(names);
	return all;
}

static void add_module(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t device,
		       const ze_module_desc_t *desc, ze_module_handle_t handle)
{
	struct gpubpf_hook_device *hook_device = lz_context_device(d, context, device);
	struct lz_module *m = hook_device ? calloc(1, sizeof(*m)) : NULL;

	if (!m || gpubpf_hook_program_create(&lz_hook_ops, m, &m->hook) < 0) {
		free(m);
		return;
	}
	m->driver = d;
	m->context = context;
	m->device = device;
	m->hook_device = hook_device;
	pthread_mutex_init(&m->lock, NULL);
	m->code = desc->format == ZE_MODULE_FORMAT_IL_SPIRV ? lz_code_new(desc) :
							      lz_native_code(desc->pInputModule, desc->inputSize);
	m->names = kernel_names(d, handle);
	gpubpf_records_add(&lz_modules, handle, &m->object);
}

ze_result_t lz_ModuleCreate(struct lz_driver *d, ze_context_handle_t context, ze_device_handle_t device,
			    const ze_module_desc_t *desc, ze_module_handle_t *module, ze_module_build_log_handle_t *log)
{
	ze_result_t err = LZ_HOST_CALL(MODULE, Module, Create, LZ_ARGUMENTS(context, device, desc, module, log));

	if (!err && lz_active())
		add_module(d, context, device, desc, *module);
	return err;
}

ze_result_t lz_ModuleDestroy(struct lz_driver *d, ze_module_handle_t module)
{
	struct lz_module *m = gpubpf_records_release(&lz_modules, module);

	if (m) {
		pthread_mutex_lock(&m->lock); /* waits for a thread that is loading a twin */
		m->dead = true;
		pthread_mutex_unlock(&m->lock);
		gpubpf_hook_program_destroy(m->hook);
		lz_code_free(m->code);
		free(m->peers);
		free(m->names);
		m->code = NULL;
		m->peers = NULL;
		m->names = NULL;
	}
	return LZ_HOST_CALL(MODULE, Module, Destroy, LZ_ARGUMENTS(module));
}

/* Add the modules with which m was linked to the peers of m. */
static void add_peers(struct lz_module *m, uint32_t n, const ze_module_handle_t *modules)
{
	ze_module_handle_t *peers = calloc(m->npeers + n + 1, sizeof(*peers));

	if (!peers)
		return; /* out of memory: the twins of m will lack functions, and the driver will refuse them */
	if (m->npeers)
		memcpy(peers, m->peers, m->npeers * sizeof(*peers));
	free(m->peers);
	m->peers = peers;
	for (uint32_t i = 0; i < n; i++)
		if (modules[i] != m->object.handle)
			m->peers[m->npeers++] = modules[i];
}

ze_result_t lz_ModuleDynamicLink(struct lz_driver *d, uint32_t n, ze_module_handle_t *modules,
				 ze_module_build_log_handle_t *log)
{
	ze_result_t err = LZ_HOST_CALL(MODULE, Module, DynamicLink, LZ_ARGUMENTS(n, modules, log));

	for (uint32_t i = 0; !err && i < n; i++) {
		struct lz_module *m = gpubpf_records_find(&lz_modules, modules[i]);

		if (!m)
			continue;
		pthread_mutex_lock(&m->lock);
		add_peers(m, n, modules);
		pthread_mutex_unlock(&m->lock);
	}
	return err;
}
