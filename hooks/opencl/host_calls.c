/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs programs of sections host/ at copies and other calls of host_calls.def. If a copy blocks and its queue has
 * profiling, the runtime reports the copy's time on the device. Other copies have only the time of the call, because
 * their time on the device is unknown when the call returns.
 */
#include "opencl.h"

static inline size_t ocl_region_bytes(const size_t *region)
{
	return region ? region[0] * region[1] * region[2] : 0;
}

static inline cl_int ocl_error(const cl_int *error)
{
	return error ? *error : CL_SUCCESS;
}

static bool has_profiling(cl_command_queue queue)
{
	cl_command_queue_properties properties = 0;

	return ocl->clGetCommandQueueInfo &&
	       !ocl->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL) &&
	       properties & CL_QUEUE_PROFILING_ENABLE;
}

/* Get the time of a finished copy on the device. */
static void read_time(struct gpubpf_host_call *call, cl_event event)
{
	cl_ulong from = 0, to = 0;

	call->has_device_ns = !ocl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(from), &from, NULL) &&
			      !ocl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(to), &to, NULL) &&
			      to >= from;
	call->device_ns = to - from;
}

/* The state of a copy between its begin and its end. */
struct copy {
	struct gpubpf_host_call call;
	cl_event own, *event; /* event: the event that the runtime gets, or NULL */
	bool is_on, is_timed;
};

static void begin_copy(struct copy *c, cl_command_queue queue, cl_bool blocking, cl_event *event)
{
	c->is_on = gpubpf_host_begin(&c->call);
	c->is_timed = c->is_on && blocking && has_profiling(queue);
	c->own = NULL;
	c->event = event || !c->is_timed ? event : &c->own;
}

static cl_int end_copy(struct copy *c, cl_int err, bool synced)
{
	if (c->is_timed && !err && *c->event)
		read_time(&c->call, *c->event);
	if (c->is_on)
		gpubpf_host_end(&c->call, err);
	if (c->own)
		ocl->clReleaseEvent(c->own);
	if (synced)
		gpubpf_hook_device_synced();
	return err;
}

#define OCL_COPY(name, way, waits, blocks, size_of, into, out_of, parameters, arguments) \
	CL_API_ENTRY cl_int CL_API_CALL ocl_##name(parameters, cl_uint nwait, const cl_event *wait, cl_event *event) \
	{ \
		struct copy c = { .call = { .event = GPUBPF_HOST_COPY, .direction = GPUBPF_COPY_##way, .function = #name, \
					    .bytes = size_of, .pointer = (uintptr_t)(into), \
					    .source = (uintptr_t)(out_of), .stream = (uintptr_t)queue } }; \
\
		begin_copy(&c, queue, blocks, event); \
		return end_copy(&c, ocl->name(arguments, nwait, wait, c.event), waits && blocks); \
	}
#define OCL_PLAIN(type, name, kind, code, parameters, arguments, more) \
	CL_API_ENTRY type CL_API_CALL ocl_##name(parameters) \
	{ \
		return GPUBPF_HOST_CALL(type, ocl->name(arguments), code, .event = GPUBPF_HOST_##kind, .function = #name, more); \
	}
#include "host_calls.def"
