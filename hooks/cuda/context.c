/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts. Each is a device of the launch path. The end of a context destroys its modules, twins and maps, so the
 * agent copies the maps back first.
 */
#include "cuda.h"

#include <stdlib.h>

#define MAX_DEVICES 64

/* Counts references to each device's primary context, as the driver does. The driver destroys the context at a reset,
 * or at the last release, by the application or by the end of a green context. */
static struct {
	_Atomic(CUcontext) context;
	atomic_int retained;
} primary[MAX_DEVICES];

/* Contexts used with the deprecated cuCtxAttach(). */
struct attached {
	struct gpubpf_handle base;
	atomic_int extra_refs; /* references in addition to the creator's */
};

static struct gpubpf_handles attachments = GPUBPF_HANDLES_INIT;

static CUresult device_number(CUcontext context, CUdevice *number)
{
	int mode;
	CUresult error = cuda_enter(&cuda_direct, context, &mode);

	if (error)
		return error;
	error = cuda_direct.ctx_device(number);
	cuda_leave(&cuda_direct, &mode);
	return error;
}

struct gpubpf_hook_device *cuda_device_of(CUcontext context)
{
	struct gpubpf_device_open how = { .runtime = &cuda_direct, .context = context };
	struct gpubpf_hook_device *device = context ? gpubpf_hook_device_find(&cuda_hook_ops, context) : NULL;
	CUdevice number;

	if (!context || device)
		return device;
	if (device_number(context, &number))
		return NULL;
	return gpubpf_hook_device_add(&cuda_hook_ops, context, &how, number);
}

static void end_context(CUcontext context)
{
	if (!context || !gpubpf_hook_joined())
		return;
	cuda_modules_end(context);
	cuda_twins_end(context);
	gpubpf_hook_device_end(&cuda_hook_ops, context);
	gpubpf_allocations_end(context);
}

static struct attached *find_attached(CUcontext context)
{
	return (struct attached *)gpubpf_handles_find(&attachments, context);
}

static CUresult destroy(CUcontext context, CUresult (*next)(CUcontext))
{
	struct attached *a = find_attached(context);

	if (!next)
		return CUDA_ERROR_NOT_FOUND;
	if (a)
		atomic_store(&a->base.handle, NULL);
	end_context(context);
	return next(context);
}

CUresult cuCtxDestroy(CUcontext context)
{
	return cuda_next_init() ? destroy(context, cuda_next.cuCtxDestroy) : CUDA_ERROR_NOT_FOUND;
}

CUresult cuCtxDestroy_v2(CUcontext context)
{
	return cuda_next_init() ? destroy(context, cuda_next.cuCtxDestroy_v2) : CUDA_ERROR_NOT_FOUND;
}

static void attach(CUcontext context)
{
	static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
	struct attached *a;

	pthread_mutex_lock(&adding);
	a = find_attached(context);
	if (!a && (a = calloc(1, sizeof(*a)))) {
		a->base.handle = context;
		gpubpf_handles_add(&attachments, &a->base);
	}
	if (a)
		atomic_fetch_add(&a->extra_refs, 1);
	pthread_mutex_unlock(&adding);
}

CUresult cuCtxAttach(CUcontext *context, unsigned flags)
{
	CUresult error = cuda_next_init() && cuda_next.cuCtxAttach ? cuda_next.cuCtxAttach(context, flags) :
								     CUDA_ERROR_NOT_FOUND;

	if (!error)
		attach(*context);
	return error;
}

CUresult cuCtxDetach(CUcontext context)
{
	struct attached *a = find_attached(context);

	if (!cuda_next_init() || !cuda_next.cuCtxDetach)
		return CUDA_ERROR_NOT_FOUND;
	if (!a || atomic_fetch_sub(&a->extra_refs, 1) <= 0)
		return destroy(context, cuda_next.cuCtxDetach);
	return cuda_next.cuCtxDetach(context);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult error = cuda_next_init() && cuda_next.cuDevicePrimaryCtxRetain ?
				 cuda_next.cuDevicePrimaryCtxRetain(context, device) :
				 CUDA_ERROR_NOT_FOUND;

	if (!error && device >= 0 && device < MAX_DEVICES) {
		atomic_store(&primary[device].context, *context);
		atomic_fetch_add(&primary[device].retained, 1);
	}
	return error;
}

static bool is_counted(CUdevice device)
{
	return device >= 0 && device < MAX_DEVICES;
}

static void before_release(CUdevice device)
{
	if (is_counted(device) && atomic_fetch_sub(&primary[device].retained, 1) == 1)
		end_context(atomic_load(&primary[device].context));
}

static CUresult after_release(CUdevice device, CUresult error)
{
	if (error && is_counted(device))
		atomic_fetch_add(&primary[device].retained, 1);
	return error;
}

static CUresult release(CUdevice device, CUresult (*next)(CUdevice))
{
	if (!next)
		return CUDA_ERROR_NOT_FOUND;
	before_release(device);
	return after_release(device, next(device));
}

/* The runtime API of CUDA 13 looks up the names without _v2 of these two. */
CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	return cuda_next_init() ? release(device, cuda_next.cuDevicePrimaryCtxRelease) : CUDA_ERROR_NOT_FOUND;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	return cuda_next_init() ? release(device, cuda_next.cuDevicePrimaryCtxRelease_v2) : CUDA_ERROR_NOT_FOUND;
}

static CUresult reset(CUdevice device, CUresult (*next)(CUdevice))
{
	if (!next)
		return CUDA_ERROR_NOT_FOUND;
	if (is_counted(device))
		end_context(atomic_load(&primary[device].context));
	return next(device);
}

CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
	return cuda_next_init() ? reset(device, cuda_next.cuDevicePrimaryCtxReset) : CUDA_ERROR_NOT_FOUND;
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	return cuda_next_init() ? reset(device, cuda_next.cuDevicePrimaryCtxReset_v2) : CUDA_ERROR_NOT_FOUND;
}

/* ---- green contexts ---- */

CUresult cuGreenCtxCreate(CUgreenCtx *green, void *what, CUdevice device, unsigned flags)
{
	CUresult error = CUDA_ERROR_NOT_FOUND;

	if (cuda_next_init() && cuda_next.cuGreenCtxCreate)
		error = cuda_next.cuGreenCtxCreate(green, what, device, flags);
	if (!error && is_counted(device))
		atomic_fetch_add(&primary[device].retained, 1);
	return error;
}

CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
	CUcontext context = NULL;
	CUdevice device = -1;

	if (!cuda_next_init() || !cuda_next.cuGreenCtxDestroy)
		return CUDA_ERROR_NOT_FOUND;
	if (green && cuda_next.cuCtxFromGreenCtx && !cuda_next.cuCtxFromGreenCtx(&context, green) &&
	    device_number(context, &device))
		device = -1;
	end_context(context);
	before_release(device);
	return after_release(device, cuda_next.cuGreenCtxDestroy(green));
}
