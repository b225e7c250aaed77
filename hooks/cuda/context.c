/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts, each a device to the launch path. One that is destroyed takes its modules, our twins and our maps
 * along: what they hold is copied back before.
 */
#include "cuda.h"

#define DEVICES 64

/* Primary contexts are counted by the driver: destroyed with the last release, or by a reset. */
static struct {
	_Atomic(CUcontext) context;
	atomic_int retained;
} primary[DEVICES];

struct gpubpf_hook_device *cuda_device_of(CUcontext context)
{
	struct gpubpf_device_open how = { .runtime = &cuda_own, .context = context };
	struct gpubpf_hook_device *device = context ? gpubpf_hook_device_find(context) : NULL;
	CUdevice number = 0;
	int mode;

	if (!context || device)
		return device;
	if (cuda_enter(&cuda_own, context, &mode))
		return NULL;
	cuda_own.ctx_device(&number);
	cuda_leave(&cuda_own, &mode);
	return gpubpf_hook_device_add(context, &how, number);
}

static void end(CUcontext context)
{
	if (!context || !cuda_active())
		return;
	cuda_modules_end(context);
	gpubpf_hook_device_end(context);
}

static CUresult destroy(CUcontext context, CUresult (*next)(CUcontext))
{
	if (!next)
		return CUDA_ERROR_NOT_FOUND;
	end(context);
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

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	CUresult error = cuda_next_init() && cuda_next.cuDevicePrimaryCtxRetain ?
				 cuda_next.cuDevicePrimaryCtxRetain(context, device) : CUDA_ERROR_NOT_FOUND;

	if (!error && device >= 0 && device < DEVICES) {
		atomic_store(&primary[device].context, *context);
		atomic_fetch_add(&primary[device].retained, 1);
	}
	return error;
}

static CUresult release(CUdevice device, CUresult (*next)(CUdevice))
{
	if (!next)
		return CUDA_ERROR_NOT_FOUND;
	if (device >= 0 && device < DEVICES && atomic_fetch_sub(&primary[device].retained, 1) == 1)
		end(atomic_load(&primary[device].context));
	return next(device);
}

/* The runtime API of CUDA 13 asks for these two by their first version. */
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
	if (device >= 0 && device < DEVICES)
		end(atomic_load(&primary[device].context));
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
