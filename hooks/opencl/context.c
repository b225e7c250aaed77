/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl.h"

#include <stdlib.h>

#include "core/wire/checks.h"
#include "hooks/process/agent_thread.h"

#define MAX_HELD 8 /* limit of references that the agent (queue, programs, kernels, buffer) adds between two counts */

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

	if (held < 0 || held > MAX_HELD) { /* another thread changed the reference count meanwhile */
		atomic_store(&context->is_inexact, true);
		held = 0;
	}
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

static struct ocl_context *create(cl_context handle, uint32_t references)
{
	struct ocl_context *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->platform = platform_of(handle);
	pthread_mutex_init(&c->lock, NULL);
	gpubpf_records_add_shared(&ocl_contexts, handle, &c->object, references);
	return c;
}

/* Create the record of a new context. Remove the record of a freed context with the same handle first (opencl.h). */
static void create_new(cl_context handle)
{
	struct ocl_context *old = gpubpf_hook_attached() ? gpubpf_records_take(&ocl_contexts, handle) : NULL;

	if (old) {
		ocl_programs_forget(old);
		destroy(old);
	}
	create(handle, 1);
}

/*
 * Find or create the record of a context from before the attach, and add a reference. The application has references
 * to the context already.
 */
static struct ocl_context *learn(cl_context handle)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct ocl_context *c;

	pthread_mutex_lock(&lock);
	c = gpubpf_records_find(&ocl_contexts, handle);
	if (c)
		gpubpf_records_retain(&ocl_contexts, handle);
	else
		c = create(handle, 1 + ocl_context_references(handle));
	pthread_mutex_unlock(&lock);
	return c;
}

struct ocl_context *ocl_context_hold(cl_context handle)
{
	struct ocl_context *c = gpubpf_records_find(&ocl_contexts, handle);

	if (!c && gpubpf_hook_attached())
		return learn(handle);
	if (!c)
		return create(handle, 1);
	gpubpf_records_retain(&ocl_contexts, handle);
	return c;
}

void ocl_context_put(cl_context handle)
{
	struct ocl_context *c = gpubpf_records_release(&ocl_contexts, handle);

	if (c)
		destroy(c);
}

static bool any(struct gpubpf_record *record, const void *arg)
{
	return true;
}

void ocl_contexts_release(void)
{
	struct ocl_context *c;

	while ((c = gpubpf_records_take_if(&ocl_contexts, any, NULL)))
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

/*
 * Create the launch path's device. The agent lists all platforms to find the device's number. As a side effect, OpenCL
 * loaders initialize platforms that the application has not used.
 */
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
		create_new(c);
	return c;
}

CL_API_ENTRY cl_context CL_API_CALL ocl_clCreateContextFromType(
	const cl_context_properties *properties, cl_device_type type,
	void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user, cl_int *error)
{
	cl_context c = ocl->clCreateContextFromType(properties, type, notify, user, error);

	if (c)
		create_new(c);
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

/* Subtract the agent's references from the reference count that the runtime returned. */
static void subtract_held(const struct ocl_context *c, cl_uint *references)
{
	if (c->is_inexact)
		gpubpf_log_once("CL_CONTEXT_REFERENCE_COUNT may include references of gpubpf's agent, because other threads created OpenCL objects at the same time");
	if (*references > (cl_uint)c->held)
		*references -= c->held;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clGetContextInfo(cl_context context, cl_context_info name, size_t size, void *value,
						     size_t *size_ret)
{
	cl_int err = ocl->clGetContextInfo(context, name, size, value, size_ret);
	struct ocl_context *c;

	if (!err && name == CL_CONTEXT_REFERENCE_COUNT && value && (c = gpubpf_records_find(&ocl_contexts, context)))
		subtract_held(c, value);
	return err;
}
