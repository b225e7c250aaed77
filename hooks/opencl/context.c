/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

#include <stdlib.h>

#include "core/wire/checks.h"
#include "hooks/process/agent_thread.h"

GPUBPF_RECORDS(ocl_contexts)

cl_uint ocl_context_references(cl_context handle)
{
	cl_uint n = 0;

	ocl->clGetContextInfo(handle, CL_CONTEXT_REFERENCE_COUNT, sizeof(n), &n, NULL);
	return n;
}

int ocl_context_count_held(struct ocl_context *context, cl_uint before)
{
	int held = (int)(ocl_context_references(context->object.handle) - before);

	if (held < 0 || held > 8) /* implausible: another thread has changed the count */
		held = 0;
	atomic_fetch_add(&context->held, held);
	return held;
}

static struct ocl_platform *platform_of(cl_context handle)
{
	cl_device_id first[64];
	size_t size;

	if (ocl->clGetContextInfo(handle, CL_CONTEXT_DEVICES, sizeof(first), first, &size) != CL_SUCCESS ||
	    size < sizeof(*first))
		return NULL;
	return ocl_platform_of(first[0]);
}

static struct ocl_context *create(cl_context handle)
{
	struct ocl_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->platform = platform_of(handle);
	pthread_mutex_init(&c->lock, NULL);
	gpubpf_records_add(&ocl_contexts, handle, &c->object);
	return c;
}

static void destroy(struct ocl_context *c)
{
	struct ocl_device *d, *next;

	for (d = c->devices; d; d = next) {
		next = d->next;
		gpubpf_hook_device_destroy(d->hook);
		free(d);
	}
	gpubpf_allocations_end(c->object.handle);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

struct ocl_context *ocl_context_hold(cl_context handle)
{
	struct ocl_context *c = gpubpf_records_find(&ocl_contexts, handle);

	if (!c)
		return create(handle);
	gpubpf_records_retain(&ocl_contexts, handle);
	return c;
}

void ocl_context_put(cl_context handle)
{
	struct ocl_context *c = gpubpf_records_release(&ocl_contexts, handle);

	if (c)
		destroy(c);
}

static struct ocl_device *find_device(struct ocl_context *c, cl_device_id handle)
{
	struct ocl_device *d = atomic_load_explicit(&c->devices, memory_order_acquire);

	while (d && d->handle != handle)
		d = d->next;
	return d;
}

struct adding {
	struct ocl_device *device;
	cl_context context;
	int err;
};

/* Create the launch path's device. To number it, the agent lists all platforms, so loaders initialize even those that
 * the application has not used. */
static void create_hook(void *arg)
{
	struct adding *a = arg;
	struct gpubpf_device_open how = {
		.runtime = (void *)ocl,
		.context = a->context,
		.handle = a->device->handle,
	};

	a->err = gpubpf_hook_device_create(&ocl_hook_ops, &how, ocl_device_ordinal(how.handle), &a->device->hook);
}

static struct ocl_device *add_device(struct ocl_context *c, cl_device_id handle)
{
	struct ocl_device *d = calloc(1, sizeof(*d));
	struct adding adding = { d, c->object.handle, 0 };

	gpubpf_assert_held(&c->lock);
	if (!d)
		return NULL;
	d->handle = handle;
	gpubpf_run_on_agent_thread(create_hook, &adding);
	if (adding.err < 0) {
		free(d);
		return NULL;
	}
	d->next = c->devices;
	atomic_store_explicit(&c->devices, d, memory_order_release);
	return d;
}

struct gpubpf_hook_device *ocl_context_device(struct ocl_context *c, cl_device_id handle)
{
	struct ocl_device *d = find_device(c, handle);

	if (!d) {
		pthread_mutex_lock(&c->lock);
		d = find_device(c, handle);
		if (!d)
			d = add_device(c, handle);
		pthread_mutex_unlock(&c->lock);
	}
	return d ? d->hook : NULL;
}

CL_API_ENTRY cl_context CL_API_CALL
ocl_clCreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *devices,
		    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *error)
{
	cl_context c = ocl->clCreateContext(properties, n, devices, notify, user, error);

	if (c)
		create(c);
	return c;
}

CL_API_ENTRY cl_context CL_API_CALL ocl_clCreateContextFromType(
	const cl_context_properties *properties, cl_device_type type,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *error)
{
	cl_context c = ocl->clCreateContextFromType(properties, type, notify, user, error);

	if (c)
		create(c);
	return c;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clRetainContext(cl_context context)
{
	cl_int err = ocl->clRetainContext(context);

	if (!err)
		gpubpf_records_retain(&ocl_contexts, context);
	return err;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clReleaseContext(cl_context context)
{
	ocl_context_put(context);
	return ocl->clReleaseContext(context);
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clGetContextInfo(cl_context context, cl_context_info name, size_t size, void *value,
						     size_t *size_ret)
{
	cl_int err = ocl->clGetContextInfo(context, name, size, value, size_ret);
	struct ocl_context *c;

	if (!err && name == CL_CONTEXT_REFERENCE_COUNT && value && (c = gpubpf_records_find(&ocl_contexts, context)) &&
	    *(cl_uint *)value > (cl_uint)c->held)
		*(cl_uint *)value -= c->held;
	return err;
}
