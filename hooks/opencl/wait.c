/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intercepts calls in which the application waits for the device. After such a call device memory can be copied back.
 */
#include "opencl.h"

static cl_int after_wait(cl_int err)
{
	gpubpf_hook_device_synced();
	return err;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clFinish(cl_command_queue queue)
{
	return GPUBPF_HOST_CALL(cl_int, after_wait(ocl->clFinish(queue)), result, .event = GPUBPF_HOST_SYNC,
				.function = "clFinish", .stream = (uintptr_t)queue);
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clWaitForEvents(cl_uint n, const cl_event *events)
{
	return GPUBPF_HOST_CALL(cl_int, after_wait(ocl->clWaitForEvents(n, events)), result, .event = GPUBPF_HOST_SYNC,
				.function = "clWaitForEvents");
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clReleaseCommandQueue(cl_command_queue queue)
{
	gpubpf_hook_device_synced();
	return GPUBPF_HOST_CALL(cl_int, ocl->clReleaseCommandQueue(queue), result, .event = GPUBPF_HOST_STREAM,
				.function = "clReleaseCommandQueue", .stream = (uintptr_t)queue);
}

CL_API_ENTRY void *CL_API_CALL ocl_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
						      cl_map_flags flags, size_t offset, size_t size, cl_uint nwait,
						      const cl_event *wait, cl_event *event, cl_int *error)
{
	void *at = GPUBPF_HOST_CALL(void *,
				    ocl->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, nwait, wait,
							    event, error),
				    error ? *error : CL_SUCCESS, .event = GPUBPF_HOST_COPY,
				    .function = "clEnqueueMapBuffer", .direction = GPUBPF_COPY_TO_HOST, .bytes = size,
				    .source = (uintptr_t)buffer, .stream = (uintptr_t)queue);

	if (blocking)
		gpubpf_hook_device_synced();
	return at;
}

CL_API_ENTRY void *CL_API_CALL ocl_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
						     cl_map_flags flags, const size_t *origin, const size_t *region,
						     size_t *row, size_t *slice, cl_uint nwait, const cl_event *wait,
						     cl_event *event, cl_int *error)
{
	void *at = GPUBPF_HOST_CALL(void *,
				    ocl->clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice,
							   nwait, wait, event, error),
				    error ? *error : CL_SUCCESS, .event = GPUBPF_HOST_COPY,
				    .function = "clEnqueueMapImage", .direction = GPUBPF_COPY_TO_HOST,
				    .source = (uintptr_t)image, .stream = (uintptr_t)queue);

	if (blocking)
		gpubpf_hook_device_synced();
	return at;
}
