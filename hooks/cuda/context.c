/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA contexts. Each context is a device of the launch path. When a context is destroyed, its modules, twins and maps
 * are destroyed too. Therefore the agent first copies the maps back.
 */
#include "cuda.h"

#include <stdlib.h>
#include <time.h>

#include "hooks/process/agent_thread.h"

#define MAX_DEVICES 64

/*
 * Counts references to each device's primary context, as the driver does. The driver destroys a primary context when it
 * is reset, or when its last reference is released. A reference is released by the application or by the destruction of
 * a green context.
 */
static struct {
	_Atomic(CUcontext) context;
	atomic_int retained;
} primary[MAX_DEVICES];

/* Contexts used with the deprecated cuCtxAttach(). */
struct attached {
	struct gpubpf_handle base;
	atomic_int extra_refs; /* number of references in addition to the creator's reference */
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

static atomic_bool gives_up; /* the detach no longer waits */

/* Begin a wait when no capture is open. Returns false if the detach no longer waits. */
static bool begin_wait(void)
{
	const struct timespec nap = { 0, 1000000 };

	while (!atomic_load(&gives_up)) {
		if (cuda_wait_begin())
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

/* Wait until the kernels in the device's context have ended. */
static void wait_device(struct gpubpf_hook_device *device)
{
	int mode;

	if (!gpubpf_hook_device_use(device))
		return;
	if (begin_wait()) {
		if (!cuda_enter(&cuda_direct, gpubpf_hook_device_open_params(device)->context, &mode)) {
			cuda_direct.ctx_synchronize();
			cuda_leave(&cuda_direct, &mode);
		}
		cuda_wait_end();
	}
	gpubpf_hook_device_leave(device);
}

/* In a separate thread, because a kernel may never end. */
static void *wait_all(void *arg)
{
	gpubpf_hook_devices_each(&cuda_hook_ops, wait_device);
	atomic_store((atomic_int *)arg, 1);
	return NULL;
}

bool cuda_contexts_wait(uint64_t ns)
{
	static atomic_int is_idle;
	const struct timespec nap = { 0, 1000000 };
	uint64_t deadline = gpubpf_now_ns() + ns;

	atomic_store(&is_idle, 0);
	atomic_store(&gives_up, false);
	if (gpubpf_thread_start(wait_all, &is_idle) < 0)
		return false;
	while (!atomic_load(&is_idle) && gpubpf_now_ns() < deadline)
		nanosleep(&nap, NULL);
	atomic_store(&gives_up, true);
	return atomic_load(&is_idle);
}

void cuda_contexts_forget(void)
{
	for (int i = 0; i < MAX_DEVICES; i++) {
		atomic_store(&primary[i].context, NULL);
		atomic_store(&primary[i].retained, 0);
	}
	gpubpf_handles_clear(&attachments);
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

/*
 * Returns the device's primary context. In an attached session the application may have retained it before the attach.
 * The caller knows that the context exists, so a reference of the agent changes nothing.
 */
static CUcontext primary_context(CUdevice device)
{
	CUcontext context = atomic_load(&primary[device].context);

	if (!context && gpubpf_hook_attached() && !cuda_direct.primary_retain(&context, device))
		cuda_direct.primary_release(device);
	return context;
}

/*
 * In an attached session, the agent does not know the references that are older. So it ends the context whenever no
 * newer reference is left. If the context lives on, the next launch records it again.
 */
static void before_release(CUdevice device)
{
	int had = is_counted(device) ? atomic_fetch_sub(&primary[device].retained, 1) : 0;

	if (is_counted(device) && (had == 1 || (had < 1 && gpubpf_hook_attached())))
		end_context(primary_context(device));
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

/* The CUDA 13 runtime API looks up cuDevicePrimaryCtxRelease and cuDevicePrimaryCtxReset without the suffix _v2. */
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
		end_context(primary_context(device));
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
