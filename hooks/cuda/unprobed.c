/* SPDX-License-Identifier: Apache-2.0 */
/* Old launch calls that twins do not support. The agent counts each launch and reports why it is unprobed. */
#include "cuda.h"

#include <stdlib.h>

static const char preset_args_reason[] = "launched by cuLaunch() or cuLaunchGrid(), which twins do not support; "
					 "launch it by cuLaunchKernel()";
static const char multi_device_reason[] = "launched by cuLaunchCooperativeKernelMultiDevice(), which twins do not "
					  "support: its devices wait for each other";

static void count_on_device(struct gpubpf_hook_device *device, const struct cuda_function *f,
			    const struct cuda_launch *k, const char *reason)
{
	struct gpubpf_hook_launch l = {
		.kernel = f->kernel,
		.device = device,
		.dim = 3,
		.block = { k->bx, k->by, k->bz },
		.grid = { (size_t)k->gx * k->bx, (size_t)k->gy * k->by, (size_t)k->gz * k->bz },
	};
	struct gpubpf_hook_record *record = gpubpf_hook_record_create(&l, reason);

	if (record)
		gpubpf_hook_record_launched(record);
	free(record);
}

static void count_launch(const struct cuda_launch *k, const char *reason)
{
	struct cuda_function *f = cuda_active() ? cuda_function_find(k->f) : NULL;
	CUcontext context = f ? f->context : NULL;
	struct gpubpf_hook_device *device;

	if (!f || !cuda_function_use(f))
		return;
	if (!context)
		cuda_next.cuCtxGetCurrent(&context);
	device = cuda_device_of(context);
	if (device)
		count_on_device(device, f, k, reason);
	cuda_function_leave(f);
}

/*
 * Count a launch by a call that passes only the grid's size. The block size was set by an earlier call, which the agent
 * does not record.
 */
static CUresult count_launched(CUresult error, CUfunction f, unsigned width, unsigned height)
{
	if (!error)
		count_launch(&(struct cuda_launch){ .f = f, .gx = width, .gy = height, .gz = 1 }, preset_args_reason);
	return error;
}

CUresult cuLaunch(CUfunction f)
{
	return cuda_next_init() && cuda_next.cuLaunch ? count_launched(cuda_next.cuLaunch(f), f, 1, 1) :
							CUDA_ERROR_NOT_FOUND;
}

CUresult cuLaunchGrid(CUfunction f, int width, int height)
{
	return cuda_next_init() && cuda_next.cuLaunchGrid ?
		       count_launched(cuda_next.cuLaunchGrid(f, width, height), f, width, height) :
		       CUDA_ERROR_NOT_FOUND;
}

CUresult cuLaunchGridAsync(CUfunction f, int width, int height, CUstream stream)
{
	return cuda_next_init() && cuda_next.cuLaunchGridAsync ?
		       count_launched(cuda_next.cuLaunchGridAsync(f, width, height, stream), f, width, height) :
		       CUDA_ERROR_NOT_FOUND;
}

static CUresult count_all_launched(CUresult error, const struct cuda_launch *launches, unsigned n)
{
	for (unsigned i = 0; i < n && !error; i++)
		count_launch(&launches[i], multi_device_reason);
	return error;
}

CUresult cuLaunchCooperativeKernelMultiDevice(struct cuda_launch *launches, unsigned n, unsigned flags)
{
	return cuda_next_init() && cuda_next.cuLaunchCooperativeKernelMultiDevice ?
		       count_all_launched(cuda_next.cuLaunchCooperativeKernelMultiDevice(launches, n, flags), launches, n) :
		       CUDA_ERROR_NOT_FOUND;
}

CUresult cuLaunchCooperativeKernelMultiDevice_ptsz(struct cuda_launch *launches, unsigned n, unsigned flags)
{
	return cuda_next_init() && cuda_next.cuLaunchCooperativeKernelMultiDevice_ptsz ?
		       count_all_launched(cuda_next.cuLaunchCooperativeKernelMultiDevice_ptsz(launches, n, flags),
					  launches, n) :
		       CUDA_ERROR_NOT_FOUND;
}
