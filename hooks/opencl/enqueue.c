/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches. If the launch path selects a twin, the layer sets the original's arguments on the twin and enqueues the
 * twin with the application's event. If the runtime refuses the twin, the original runs, and the application sees only
 * the original's error.
 */
#include "opencl.h"

struct enqueue {
	cl_command_queue queue;
	cl_kernel kernel;
	bool task; /* clEnqueueTask, which has no NDRange */
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

static void CL_CALLBACK on_complete(cl_event event, cl_int status, void *device)
{
	gpubpf_hook_completed(device);
}

/* Set the twin's extra arguments, which follow the kernel's own (enum gpubpf_twin_flags). */
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

/* The local size for the twin. If the application passes none, the runtime may choose different ones for twin and
 * original, and results may depend on it. Then the twin gets the size that the runtime suggests for the original. */
static const size_t *local_size(const struct enqueue *e, const struct ocl_kernel *k, size_t chosen[3])
{
	const struct ocl_context *c = k->program->context;

	if (e->local || e->task || !c->platform || !c->platform->suggested ||
	    c->platform->suggested(e->queue, e->kernel, e->dim, e->offset, e->global, chosen))
		return e->local;
	return chosen;
}

/* Enqueue a twin whose end must be reported (l->followed), because its arena is copied back when no twin runs. */
static cl_int run_followed(const struct enqueue *e, const struct gpubpf_hook_launch *l, cl_kernel kernel,
			   const size_t *local)
{
	cl_event own = NULL, *event = e->event ? e->event : &own;
	cl_int err = run(e, kernel, local, event);

	if (err)
		return err;
	if (!*event || ocl->clSetEventCallback(*event, CL_COMPLETE, on_complete, l->device))
		gpubpf_hook_completed(l->device);
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
		err = l->followed ? run_followed(e, l, twin->handle, local) : run(e, twin->handle, local, e->event);
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
	};
	for (cl_uint i = 0; i < dim && dim <= 3 && global; i++) { /* the runtime reports an error for more dimensions */
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
	if (!l.device)
		return run(e, e->kernel, e->local, e->event);
	gpubpf_hook_launch_begin(&l);
	if (l.twin) {
		twin_err = k->recorded ? run_twin(e, k, &l) : CL_OUT_OF_HOST_MEMORY;
		if (!twin_err) {
			gpubpf_hook_launch_end(&l, GPUBPF_LAUNCHED);
			return CL_SUCCESS;
		}
	}
	err = run(e, e->kernel, e->local, e->event);
	gpubpf_hook_launch_end(&l, err ? GPUBPF_LAUNCH_FAILED : twin_err ? GPUBPF_LAUNCHED_ORIGINAL : GPUBPF_LAUNCHED);
	if (twin_err && !err)
		gpubpf_log_once("kernel %s: the runtime refused the twin with error %d; it ran unprobed",
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
