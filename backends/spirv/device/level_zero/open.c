/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a Level Zero device: the functions, the context, and the command list. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "device_state.h"

#define MAX_DRIVERS 16
#define MAX_DEVICES 64
#define MAX_GROUPS 32

int gpubpf_ze_api_load(struct gpubpf_ze_api *api, const struct gpubpf_ze_api *functions, struct gpubpf_reason *why)
{
	__typeof__(&zeInit) init;
	ze_result_t code;
	void *lib;

	if (functions) {
		*api = *functions;
		return 0;
	}
	lib = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(why->text, sizeof(why->text), "cannot load the Level Zero loader: %s", dlerror());
		return -ENOENT;
	}
#define RESOLVE(table, member) \
	api->table##member = (__typeof__(api->table##member))dlsym(lib, "ze" #table #member); \
	if (!api->table##member) { \
		snprintf(why->text, sizeof(why->text), "libze_loader.so.1 has no ze" #table #member); \
		return -ENOENT; \
	}
	GPUBPF_ZE_FUNCTIONS(RESOLVE)
#undef RESOLVE
	api->KernelSetGlobalOffsetExp = (__typeof__(api->KernelSetGlobalOffsetExp))dlsym(lib, "zeKernelSetGlobalOffsetExp");
	init = (__typeof__(init))dlsym(lib, "zeInit");
	code = init ? init(0) : ZE_RESULT_ERROR_UNINITIALIZED;
	if (code == ZE_RESULT_ERROR_UNINITIALIZED) {
		snprintf(why->text, sizeof(why->text), "Level Zero finds no driver with a device");
		return -ENODEV;
	}
	return code ? gpubpf_ze_error(why, "zeInit", code) : 0;
}

static bool matches(const struct gpubpf_device *d, ze_device_handle_t device, const char *name)
{
	ze_device_properties_t p = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };

	return !name || (!d->api.DeviceGetProperties(device, &p) && strcasestr(p.name, name));
}

static int find_device(struct gpubpf_device *d, const struct gpubpf_device_open *how, ze_driver_handle_t *driver,
		       struct gpubpf_reason *why)
{
	ze_driver_handle_t drivers[MAX_DRIVERS];
	ze_device_handle_t devices[MAX_DEVICES];
	uint32_t ndrivers = 0, n, index = how->index;

	if (d->api.DriverGet(&ndrivers, NULL) || !clamp(&ndrivers, MAX_DRIVERS) || d->api.DriverGet(&ndrivers, drivers))
		ndrivers = 0;
	for (uint32_t i = 0; i < ndrivers; i++) {
		n = 0;
		if (d->api.DeviceGet(drivers[i], &n, NULL) || !clamp(&n, MAX_DEVICES) ||
		    d->api.DeviceGet(drivers[i], &n, devices))
			continue;
		for (uint32_t k = 0; k < n; k++) {
			if (!matches(d, devices[k], how->name) || index-- > 0)
				continue;
			*driver = drivers[i];
			d->id = devices[k];
			return 0;
		}
	}
	snprintf(why->text, sizeof(why->text), "no Level Zero device %s%s among %u drivers", how->name ? "named " : "",
		 how->name ? how->name : "", ndrivers);
	return -ENODEV;
}

int gpubpf_ze_open_context(struct gpubpf_device *d, const struct gpubpf_device_open *how, struct gpubpf_reason *why)
{
	ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_driver_handle_t driver = NULL;
	ze_result_t code;
	int err;

	if (how->context) {
		d->context = how->context;
		d->id = how->handle;
		return 0;
	}
	err = find_device(d, how, &driver, why);
	if (err < 0)
		return err;
	code = d->api.ContextCreate(driver, &desc, &d->context);
	if (code)
		return gpubpf_ze_error(why, "creating a context", code);
	d->owns_context = true;
	return 0;
}

int gpubpf_ze_open_list(struct gpubpf_device *d, struct gpubpf_reason *why)
{
	ze_command_queue_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
		.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS,
	};
	ze_command_queue_group_properties_t groups[MAX_GROUPS];
	uint32_t n = 0;
	ze_result_t code = d->api.DeviceGetCommandQueueGroupProperties(d->id, &n, NULL);

	for (uint32_t i = 0; i < MAX_GROUPS; i++)
		groups[i] =
			(ze_command_queue_group_properties_t){ .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES };
	if (!code && clamp(&n, MAX_GROUPS))
		code = d->api.DeviceGetCommandQueueGroupProperties(d->id, &n, groups);
	while (!code && desc.ordinal + 1 < n &&
	       !(groups[desc.ordinal].flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE))
		desc.ordinal++;
	if (!code)
		code = d->api.CommandListCreateImmediate(d->context, d->id, &desc, &d->list);
	return code ? gpubpf_ze_error(why, "creating a command list", code) : 0;
}
