/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creation of command queues. If a session needs the times of launches, queues of CPUs get profiling, and the adapter
 * reads the time of each launch from its event. A GPU's runtime may serialize the launches of a queue with profiling, so
 * the adapter does not change these queues.
 */
#include "hooks/host/kernel.h"
#include "opencl.h"

#include <stdlib.h>

static bool is_cpu(cl_device_id device)
{
	cl_device_type type = 0;

	return !ocl->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL) && type & CL_DEVICE_TYPE_CPU;
}

bool ocl_times_launches(const struct gpubpf_hook_device *device)
{
	return is_cpu(gpubpf_hook_device_open_params(device)->handle);
}

static bool adds_profiling(cl_device_id device)
{
	return gpubpf_hook_active() && (gpubpf_plan_has_times() || gpubpf_host_is_on(GPUBPF_HOST_KERNEL)) &&
	       is_cpu(device);
}

static cl_command_queue create_queue(cl_context context, cl_device_id device, cl_command_queue_properties properties,
				     cl_int *error)
{
	cl_command_queue queue = NULL;

	if (adds_profiling(device))
		queue = ocl->clCreateCommandQueue(context, device, properties | CL_QUEUE_PROFILING_ENABLE, error);
	return queue ? queue : ocl->clCreateCommandQueue(context, device, properties, error);
}

CL_API_ENTRY cl_command_queue CL_API_CALL ocl_clCreateCommandQueue(cl_context context, cl_device_id device,
								   cl_command_queue_properties properties, cl_int *error)
{
	return GPUBPF_HOST_CALL(cl_command_queue, create_queue(context, device, properties, error),
				error ? *error : CL_SUCCESS, .event = GPUBPF_HOST_STREAM,
				.function = "clCreateCommandQueue");
}

/* Copy a list of properties, with room for one more. Returns NULL if out of memory. *n receives its length. */
static cl_queue_properties *copy_properties(const cl_queue_properties *from, size_t *n)
{
	cl_queue_properties *to;
	size_t i;

	*n = 0;
	while (from && from[*n])
		*n += 2;
	to = calloc(*n + 3, sizeof(*to));
	for (i = 0; to && i < *n; i++)
		to[i] = from[i];
	return to;
}

/* Returns a copy of the list that requests profiling, or NULL if out of memory, or if the queue is on the device. */
static cl_queue_properties *add_profiling(const cl_queue_properties *properties)
{
	size_t n, at;
	cl_queue_properties *with = copy_properties(properties, &n);

	for (at = 0; with && at < n && with[at] != CL_QUEUE_PROPERTIES; at += 2)
		;
	if (!with || (at < n && with[at + 1] & CL_QUEUE_ON_DEVICE)) {
		free(with);
		return NULL;
	}
	with[at] = CL_QUEUE_PROPERTIES;
	with[at + 1] |= CL_QUEUE_PROFILING_ENABLE;
	return with;
}

static cl_command_queue create_queue_with(cl_context context, cl_device_id device,
					  const cl_queue_properties *properties, cl_int *error)
{
	cl_queue_properties *with = adds_profiling(device) ? add_profiling(properties) : NULL;
	cl_command_queue queue = with ? ocl->clCreateCommandQueueWithProperties(context, device, with, error) : NULL;

	free(with);
	return queue ? queue : ocl->clCreateCommandQueueWithProperties(context, device, properties, error);
}

CL_API_ENTRY cl_command_queue CL_API_CALL ocl_clCreateCommandQueueWithProperties(cl_context context, cl_device_id device,
										 const cl_queue_properties *properties,
										 cl_int *error)
{
	return GPUBPF_HOST_CALL(cl_command_queue, create_queue_with(context, device, properties, error),
				error ? *error : CL_SUCCESS, .event = GPUBPF_HOST_STREAM,
				.function = "clCreateCommandQueueWithProperties");
}
