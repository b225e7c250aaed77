/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches. If the launch path selects a twin, the layer sets the original's arguments on the twin and enqueues
 * the twin with the application's event. If the runtime refuses the twin, the original runs. The application sees only
 * errors of the original.
 */
#include "hooks/launch/measure.h"
#include "opencl.h"

#include <time.h>

#include "hooks/process/time.h"

#define EXIT_WAIT_NS 50000000ull /* how long the end of the process waits for callbacks of the layer */

struct enqueue {
	cl_command_queue queue;
	cl_kernel kernel;
	bool task; /* the call is clEnqueueTask, which has no NDRange */
	cl_uint dim;
	const size_t *offset, *global, *local;
	cl_uint nwait;
	const cl_event *wait;
	cl_event *event;
};

static const size_t one[3] = { 1, 1, 1 };

static cl_int run(const struct enqueue *e, cl_kernel kernel, const size_t *local, cl_event *event)
{
	if (e->task)
		return ocl->clEnqueueTask(e->queue, kernel, e->nwait, e->wait, event);
	return ocl->clEnqueueNDRangeKernel(e->queue, kernel, e->dim, e->offset, e->global, local, e->nwait, e->wait, event);
}

/*
 * Number of event callbacks of the layer that have not returned. In an attached session each twin has one. A detach
 * waits until the number is 0, and then frees the devices and records.
 */
static atomic_long pending_callbacks;

bool ocl_callbacks_wait(uint64_t ns)
{
	const struct timespec nap = { 0, 100000 };
	uint64_t deadline = gpubpf_now_ns() + ns;

	while (atomic_load(&pending_callbacks) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
	return !atomic_load(&pending_callbacks);
}

/* Count the times of launches that have ended: the runtime may call their callbacks after the application's last wait. */
__attribute__((destructor)) static void wait_at_exit(void)
{
	ocl_callbacks_wait(EXIT_WAIT_NS);
}

void ocl_callbacks_after_fork(void)
{
	atomic_store(&pending_callbacks, 0);
}

/* Register a callback of the layer; it ends with end_callback(). Returns an OpenCL error. */
static cl_int set_callback(cl_event event, cl_int status, void(CL_CALLBACK *fn)(cl_event, cl_int, void *), void *arg)
{
	cl_int err;

	atomic_fetch_add(&pending_callbacks, 1);
	err = ocl->clSetEventCallback(event, status, fn, arg);
	if (err)
		atomic_fetch_sub(&pending_callbacks, 1);
	return err;
}

static void end_callback(void)
{
	atomic_fetch_sub(&pending_callbacks, 1);
}

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *device)
{
	gpubpf_hook_completed(device);
	end_callback();
}

static void CL_CALLBACK on_attached_end(cl_event event, cl_int status, void *arg)
{
	end_callback();
}

static void CL_CALLBACK on_measured_start(cl_event event, cl_int status, void *measure)
{
	gpubpf_hook_measure_start(measure);
	end_callback();
}

static void CL_CALLBACK on_measured_end(cl_event event, cl_int status, void *measure)
{
	gpubpf_hook_measure_end(measure);
	end_callback();
}

static void CL_CALLBACK on_profiled_end(cl_event event, cl_int status, void *measure)
{
	cl_ulong queued = 0, start = 0, end = 0;

	if (status == CL_COMPLETE &&
	    !ocl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_QUEUED, sizeof(queued), &queued, NULL) &&
	    !ocl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof(start), &start, NULL) &&
	    !ocl->clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL) && end > start) {
		gpubpf_hook_measure_times(measure, queued, start, end);
	} else {
		gpubpf_hook_measure_drop(measure);
		gpubpf_hook_measure_drop(measure);
	}
	ocl->clReleaseEvent(event);
	end_callback();
}

static bool profiles(cl_command_queue queue)
{
	cl_command_queue_properties properties = 0;

	return !ocl->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL) &&
	       properties & CL_QUEUE_PROFILING_ENABLE;
}

/*
 * Measure the time by the queue's profiling. If the queue does not profile, measure the time from the event's change to
 * CL_RUNNING until its change to CL_COMPLETE.
 */
static void measure(cl_command_queue queue, cl_event event, struct gpubpf_hook_measure *m)
{
	cl_int status = CL_COMPLETE;

	if (profiles(queue)) {
		/* on Intel's CPU runtime, the callback cannot read an event that the application has released */
		ocl->clRetainEvent(event);
		if (set_callback(event, CL_COMPLETE, on_profiled_end, m)) {
			ocl->clReleaseEvent(event);
			gpubpf_hook_measure_drop(m);
			gpubpf_hook_measure_drop(m);
		}
		return;
	}
	if (set_callback(event, CL_RUNNING, on_measured_start, m))
		gpubpf_hook_measure_drop(m);
	ocl->clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status), &status, NULL);
	if (status <= CL_RUNNING)
		gpubpf_hook_measure_late(m);
	if (set_callback(event, CL_COMPLETE, on_measured_end, m))
		gpubpf_hook_measure_drop(m);
}

/* Set the twin's extra arguments, which follow the kernel's own arguments (enum gpubpf_twin_flags). */
static cl_int set_extra(const struct gpubpf_hook_launch *l, const struct ocl_twin *twin)
{
	cl_mem arena = (cl_mem)(uintptr_t)l->arena;
	cl_uint at = twin->kernel->nargs;
	cl_int err = CL_SUCCESS;

	if (l->twin_flags & GPUBPF_TWIN_ARG_ARENA)
		err = ocl->clSetKernelArg(twin->handle, at++, sizeof(arena), &arena);
	if (!err && l->twin_flags & GPUBPF_TWIN_ARG_LAUNCH)
		err = ocl->clSetKernelArg(twin->handle, at++, sizeof(l->number), &l->number);
	if (!err && l->twin_flags & GPUBPF_TWIN_ARG_PID)
		err = ocl->clSetKernelArg(twin->handle, at++, sizeof(l->pid_tgid), &l->pid_tgid);
	return err;
}

/*
 * Returns the local size for the twin. If the application passes no local size, the runtime may choose different sizes
 * for twin and original, and results may depend on the size. Then the twin gets the size that the runtime suggests for
 * the original.
 */
static const size_t *local_size(const struct enqueue *e, const struct ocl_kernel *k, size_t chosen[3])
{
	const struct ocl_context *c = k->program->context;

	if (e->local || e->task || !c->platform || !c->platform->suggested ||
	    c->platform->suggested(e->queue, e->kernel, e->dim, e->offset, e->global, chosen))
		return e->local;
	return chosen;
}

/* Enqueue a twin whose end must be reported (l->followed), because its arena is copied back only when no twin runs. */
static cl_int run_followed(const struct enqueue *e, const struct gpubpf_hook_launch *l, cl_kernel kernel,
			   const size_t *local)
{
	cl_event own = NULL, *event = e->event ? e->event : &own;
	cl_int err = run(e, kernel, local, event);

	if (err)
		return err;
	if (!*event || set_callback(*event, CL_COMPLETE, on_complete, l->device))
		gpubpf_hook_completed(l->device);
	if (own)
		ocl->clReleaseEvent(own);
	return err;
}

/* Enqueue a twin in an attached session. If its end cannot be reported, wait for it. */
static cl_int run_attached(const struct enqueue *e, const struct gpubpf_hook_launch *l, cl_kernel kernel,
			   const size_t *local)
{
	struct enqueue with = *e;
	cl_event own = NULL;
	cl_int err;

	with.event = e->event ? e->event : &own;
	err = l->followed ? run_followed(&with, l, kernel, local) : run(&with, kernel, local, with.event);
	if (!err && *with.event && set_callback(*with.event, CL_COMPLETE, on_attached_end, NULL))
		ocl->clWaitForEvents(1, with.event);
	if (own)
		ocl->clReleaseEvent(own);
	return err;
}

static cl_int run_one(const struct enqueue *e, const struct gpubpf_hook_launch *l, cl_kernel kernel, const size_t *local)
{
	if (kernel != e->kernel && gpubpf_hook_attached())
		return run_attached(e, l, kernel, local);
	return l->followed && kernel != e->kernel ? run_followed(e, l, kernel, local) : run(e, kernel, local, e->event);
}

/* Enqueue the twin or the original. If the session measures launches, measure this launch. */
static cl_int run_measured(const struct enqueue *e, const struct gpubpf_hook_launch *l, cl_kernel kernel,
			   const size_t *local)
{
	struct gpubpf_hook_measure *m = gpubpf_hook_measure(l, kernel != e->kernel);
	struct enqueue with = *e;
	cl_event own = NULL;
	cl_int err;

	if (!m)
		return run_one(e, l, kernel, local);
	with.event = e->event ? e->event : &own;
	err = run_one(&with, l, kernel, local);
	if (!err && *with.event) {
		measure(e->queue, *with.event, m);
	} else {
		gpubpf_hook_measure_drop(m);
		gpubpf_hook_measure_drop(m);
	}
	if (own)
		ocl->clReleaseEvent(own);
	return err;
}

static cl_int run_twin(const struct enqueue *e, struct ocl_kernel *k, struct gpubpf_hook_launch *l)
{
	struct ocl_twin *twin = l->twin;
	const size_t *local;
	size_t chosen[3];
	cl_int err;

	local = local_size(e, k, chosen);
	ocl_memory_query_addresses(k->program->context, l->device);
	pthread_mutex_lock(&k->lock);
	err = ocl_args_apply(twin);
	if (!err)
		err = set_extra(l, twin);
	if (!err)
		err = run_measured(e, l, twin->handle, local);
	pthread_mutex_unlock(&k->lock);
	return err;
}

void ocl_launch_describe(struct gpubpf_hook_launch *l, struct ocl_kernel *k, cl_command_queue queue, cl_uint dim,
			 const size_t *global, const size_t *local)
{
	*l = (struct gpubpf_hook_launch){
		.kernel = k->hook,
		.device = ocl_program_device(k->program, queue),
		.dim = dim,
		.grid = { 1, 1, 1 },
		.call = k,
	};
	/* the runtime reports an error if dim is more than 3 */
	for (cl_uint i = 0; i < dim && dim <= 3 && global; i++) {
		l->grid[i] = global[i];
		l->block[i] = local ? local[i] : 0;
	}
	for (cl_uint i = dim; i < 3; i++)
		l->block[i] = local ? 1 : 0;
}

static cl_int enqueue(const struct enqueue *e)
{
	struct ocl_kernel *k = ocl_kernel_find(e->kernel);
	struct gpubpf_hook_launch l;
	cl_int err, twin_err = CL_SUCCESS;

	if (!k)
		return run(e, e->kernel, e->local, e->event);
	ocl_launch_describe(&l, k, e->queue, e->dim, e->global, e->local);
	l.function = e->task ? "clEnqueueTask" : "clEnqueueNDRangeKernel";
	l.stream = (uintptr_t)e->queue;
	if (!l.device)
		return run(e, e->kernel, e->local, e->event);
	gpubpf_hook_launch_begin(&l);
	if (l.twin && !ocl_args_are_known(k))
		gpubpf_hook_launch_refuse(&l, GPUBPF_MISS_ARGUMENTS);
	if (l.twin) {
		twin_err = k->recorded ? run_twin(e, k, &l) : CL_OUT_OF_HOST_MEMORY;
		if (!twin_err) {
			gpubpf_hook_launch_end(&l, GPUBPF_LAUNCHED);
			return CL_SUCCESS;
		}
	}
	err = run_measured(e, &l, e->kernel, e->local);
	l.result = err;
	gpubpf_hook_launch_end(&l, err ? GPUBPF_LAUNCH_FAILED : twin_err ? GPUBPF_LAUNCHED_ORIGINAL : GPUBPF_LAUNCHED);
	if (twin_err && !err)
		gpubpf_log_once("kernel %s: the runtime refused the twin with error %d; the launch ran unprobed",
				gpubpf_hook_kernel_name(k->hook), twin_err);
	return err;
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dim,
							   const size_t *offset, const size_t *global, const size_t *local,
							   cl_uint nwait, const cl_event *wait, cl_event *event)
{
	return enqueue(&(struct enqueue){ queue, kernel, false, dim, offset, global, local, nwait, wait, event });
}

CL_API_ENTRY cl_int CL_API_CALL ocl_clEnqueueTask(cl_command_queue queue, cl_kernel kernel, cl_uint nwait,
						  const cl_event *wait, cl_event *event)
{
	return enqueue(&(struct enqueue){ queue, kernel, true, 1, NULL, one, one, nwait, wait, event });
}
