/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wraps the backend's device operations to count references. Objects that the agent creates in the application's
 * context hold references to that context. If the application queries the context's reference count, the layer
 * subtracts these references.
 */
#include "opencl.h"

#include "backends/spirv/device/opencl/device.h"

/*
 * The context of the device that is being opened, from open to attach. Both run in this order on one thread
 * (hooks/device/device.c).
 */
static _Thread_local struct ocl_context *opening;

static int device_open(const struct gpubpf_device_open *how, struct gpubpf_device **device, struct gpubpf_reason *why)
{
	cl_uint before = ocl_context_references(how->context);
	int err = gpubpf_device_opencl.open(how, device, why);

	opening = gpubpf_records_find(&ocl_contexts, how->context);
	if (opening && !err)
		ocl_context_count_held(opening, before);
	return err;
}

static int arena_attach(struct gpubpf_device *device, void *host, size_t size, uint64_t *address, struct gpubpf_reason *why)
{
	cl_uint before = opening ? ocl_context_references(opening->object.handle) : 0;
	int err = gpubpf_device_opencl.arena_attach(device, host, size, address, why);

	if (opening && !err)
		ocl_context_count_held(opening, before);
	opening = NULL;
	return err;
}

struct gpubpf_device_ops ocl_device_ops;

void ocl_device_init(void)
{
	ocl_device_ops = gpubpf_device_opencl;
	ocl_device_ops.open = device_open;
	ocl_device_ops.arena_attach = arena_attach;
}
