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
	return after_wait(ocl->clFinish(queue));
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clWaitForEvents(cl_uint n, const cl_event *events)
{
	return after_wait(ocl->clWaitForEvents(n, events));
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clReleaseCommandQueue(cl_command_queue queue)
{
	gpubpf_hook_device_synced();
	return ocl->clReleaseCommandQueue(queue);
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
							size_t offset, size_t size, void *to, cl_uint nwait,
							const cl_event *wait, cl_event *event)
{
	cl_int err = ocl->clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, nwait, wait, event);

	return blocking ? after_wait(err) : err;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clEnqueueReadBufferRect(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
							    const size_t *from, const size_t *to, const size_t *region,
							    size_t from_row, size_t from_slice, size_t to_row,
							    size_t to_slice, void *host, cl_uint nwait,
							    const cl_event *wait, cl_event *event)
{
	cl_int err = ocl->clEnqueueReadBufferRect(queue, buffer, blocking, from, to, region, from_row, from_slice,
						  to_row, to_slice, host, nwait, wait, event);

	return blocking ? after_wait(err) : err;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clEnqueueReadImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
						       const size_t *origin, const size_t *region, size_t row,
						       size_t slice, void *to, cl_uint nwait, const cl_event *wait,
						       cl_event *event)
{
	cl_int err = ocl->clEnqueueReadImage(queue, image, blocking, origin, region, row, slice, to, nwait, wait, event);

	return blocking ? after_wait(err) : err;
}

CL_API_ENTRY void *CL_API_CALL ocl_clEnqueueMapBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking,
						      cl_map_flags flags, size_t offset, size_t size, cl_uint nwait,
						      const cl_event *wait, cl_event *event, cl_int *error)
{
	void *at = ocl->clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, nwait, wait, event, error);

	if (blocking)
		gpubpf_hook_device_synced();
	return at;
}

CL_API_ENTRY void *CL_API_CALL ocl_clEnqueueMapImage(cl_command_queue queue, cl_mem image, cl_bool blocking,
						     cl_map_flags flags, const size_t *origin, const size_t *region,
						     size_t *row, size_t *slice, cl_uint nwait, const cl_event *wait,
						     cl_event *event, cl_int *error)
{
	void *at = ocl->clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, nwait, wait, event,
					  error);

	if (blocking)
		gpubpf_hook_device_synced();
	return at;
}
