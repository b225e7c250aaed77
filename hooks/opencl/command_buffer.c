/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extension cl_khr_command_buffer: the application records kernels in a command buffer, and each enqueue of the buffer
 * launches them. The layer counts each launch but does not probe it: the arguments of a recorded kernel are fixed, and
 * a twin receives the launch number as an argument. Changes of recorded commands
 * (cl_khr_command_buffer_mutable_dispatch) are not intercepted.
 */
#include "opencl.h"

#include <stdlib.h>

static GPUBPF_RECORDS(ocl_buffers)

#define REASON "recorded in a command buffer (cl_khr_command_buffer), where launches cannot be probed"

	struct recorded {
	struct recorded *next;
	struct gpubpf_hook_record *record;
};

struct ocl_buffer {
	struct gpubpf_record object;
	const struct ocl_platform *platform;
	/* the buffer's first queue; if the buffer has only one queue, commands do not pass a queue */
	cl_command_queue queue;
	pthread_mutex_t lock; /* protects the members below */
	struct recorded *kernels;
};

/* Add a recorded launch to the buffer. If `record` is NULL (out of memory), runs of the launch are not counted. */
static void add(struct ocl_buffer *b, struct gpubpf_hook_record *record)
{
	struct recorded *r = record ? calloc(1, sizeof(*r)) : NULL;

	if (!r) {
		free(record);
		return;
	}
	r->record = record;
	pthread_mutex_lock(&b->lock);
	r->next = b->kernels;
	b->kernels = r;
	pthread_mutex_unlock(&b->lock);
}

static cl_command_buffer_khr fail(cl_int *error, cl_int with)
{
	if (error)
		*error = with;
	return NULL;
}

static cl_command_buffer_khr CL_API_CALL create(cl_uint n, const cl_command_queue *queues,
						const cl_command_buffer_properties_khr *properties, cl_int *error)
{
	struct ocl_platform *platform = NULL;
	cl_command_buffer_khr handle;
	struct ocl_buffer *b;
	cl_device_id device;

	if (n && queues && !ocl->clGetCommandQueueInfo(queues[0], CL_QUEUE_DEVICE, sizeof(device), &device, NULL))
		platform = ocl_platform_of(device);
	if (!platform || !platform->buffer_create)
		return fail(error, n && queues ? CL_INVALID_COMMAND_QUEUE : CL_INVALID_VALUE);
	b = calloc(1, sizeof(*b));
	if (!b)
		return fail(error, CL_OUT_OF_HOST_MEMORY);
	handle = platform->buffer_create(n, queues, properties, error);
	if (!handle) {
		free(b);
		return NULL;
	}
	b->platform = platform;
	b->queue = queues[0];
	pthread_mutex_init(&b->lock, NULL);
	gpubpf_records_add(&ocl_buffers, handle, &b->object);
	return handle;
}

/*
 * Create a copy of the buffer for other queues (cl_khr_command_buffer_multi_device). The copy launches the same
 * kernels.
 */
static cl_command_buffer_khr CL_API_CALL remap(cl_command_buffer_khr from, cl_bool automatic, cl_uint n,
					       const cl_command_queue *queues, cl_uint nhandles,
					       const cl_mutable_command_khr *handles, cl_mutable_command_khr *copies,
					       cl_int *error)
{
	struct ocl_buffer *was = gpubpf_records_find(&ocl_buffers, from), *b;
	cl_command_buffer_khr handle;

	if (!was)
		return fail(error, CL_INVALID_COMMAND_BUFFER_KHR);
	b = calloc(1, sizeof(*b));
	if (!b)
		return fail(error, CL_OUT_OF_HOST_MEMORY);
	handle = was->platform->buffer_remap(from, automatic, n, queues, nhandles, handles, copies, error);
	if (!handle) {
		free(b);
		return NULL;
	}
	b->platform = was->platform;
	b->queue = n && queues ? queues[0] : was->queue;
	pthread_mutex_init(&b->lock, NULL);
	pthread_mutex_lock(&was->lock);
	for (struct recorded *r = was->kernels; r; r = r->next)
		add(b, gpubpf_hook_record_copy(r->record));
	pthread_mutex_unlock(&was->lock);
	gpubpf_records_add(&ocl_buffers, handle, &b->object);
	return handle;
}

static cl_int CL_API_CALL retain(cl_command_buffer_khr handle)
{
	struct ocl_buffer *b = gpubpf_records_find(&ocl_buffers, handle);
	cl_int err = b ? b->platform->buffer_retain(handle) : CL_INVALID_COMMAND_BUFFER_KHR;

	if (!err)
		gpubpf_records_retain(&ocl_buffers, handle);
	return err;
}

static void destroy(struct ocl_buffer *b)
{
	for (struct recorded *r = b->kernels, *next; r; r = next) {
		next = r->next;
		free(r->record);
		free(r);
	}
	pthread_mutex_destroy(&b->lock);
	free(b);
}

static cl_int CL_API_CALL release(cl_command_buffer_khr handle)
{
	struct ocl_buffer *b = gpubpf_records_find(&ocl_buffers, handle);
	const struct ocl_platform *platform = b ? b->platform : NULL;

	if (!b)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	b = gpubpf_records_release(&ocl_buffers, handle);
	if (b)
		destroy(b);
	return platform->buffer_release(handle);
}

static cl_int CL_API_CALL record(cl_command_buffer_khr handle, cl_command_queue queue,
				 const cl_ndrange_kernel_command_properties_khr *properties, cl_kernel kernel,
				 cl_uint dim, const size_t *offset, const size_t *global, const size_t *local,
				 cl_uint nwait, const cl_sync_point_khr *wait, cl_sync_point_khr *point,
				 cl_mutable_command_khr *command)
{
	struct ocl_buffer *b = gpubpf_records_find(&ocl_buffers, handle);
	struct gpubpf_hook_launch l;
	struct ocl_kernel *k;
	cl_int err;

	if (!b)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	err = b->platform->buffer_record(handle, queue, properties, kernel, dim, offset, global, local, nwait, wait,
					 point, command);
	k = err ? NULL : ocl_kernel_find(kernel);
	if (!k)
		return err;
	ocl_launch_describe(&l, k, queue ? queue : b->queue, dim, global, local);
	if (l.device)
		add(b, gpubpf_hook_record_create(&l, REASON));
	return err;
}

static cl_int CL_API_CALL enqueue(cl_uint n, cl_command_queue *queues, cl_command_buffer_khr handle, cl_uint nwait,
				  const cl_event *wait, cl_event *event)
{
	struct ocl_buffer *b = gpubpf_records_find(&ocl_buffers, handle);
	cl_int err;

	if (!b)
		return CL_INVALID_COMMAND_BUFFER_KHR;
	err = b->platform->buffer_enqueue(n, queues, handle, nwait, wait, event);
	pthread_mutex_lock(&b->lock);
	for (struct recorded *r = b->kernels; r && !err; r = r->next)
		gpubpf_hook_record_launched(r->record);
	pthread_mutex_unlock(&b->lock);
	return err;
}

const struct ocl_extension_call ocl_buffer_calls[OCL_BUFFER_CALLS] = {
	{ "clCreateCommandBufferKHR", (void *)create },  { "clRemapCommandBufferKHR", (void *)remap },
	{ "clRetainCommandBufferKHR", (void *)retain },  { "clReleaseCommandBufferKHR", (void *)release },
	{ "clCommandNDRangeKernelKHR", (void *)record }, { "clEnqueueCommandBufferKHR", (void *)enqueue },
};
