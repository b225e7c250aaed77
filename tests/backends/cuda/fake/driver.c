/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver's devices, contexts, and look-up of functions by name. */
#include "fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES 8
#define DEPTH 16

pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

static struct CUctx_st primary[DEVICES];
static _Thread_local struct {
	CUcontext context;
	bool entered; /* true if cuCtxPushCurrent() pushed the context */
} stack[DEPTH];
static _Thread_local int depth;

/* ---- failures ---- */

CUresult fake_check(const char *symbol)
{
	const char *fail = getenv("FAKE_CUDA_FAIL");
	size_t n = fail ? strcspn(fail, ":") : 0;
	static atomic_int calls;

	if (n && strlen(symbol) == n && !strncmp(symbol, fail, n)) {
		int at = 1, code = FAKE_OUT_OF_MEMORY;

		sscanf(fail + n, ":%d:%d", &at, &code);
		if (atomic_fetch_add(&calls, 1) + 1 != at)
			code = 0;
		while (code < 0)
			pause();
		if (code)
			return code;
	}
	return fake_current() ? fake_current()->broken : 0;
}

/* ---- devices and contexts ---- */

static int count(void)
{
	const char *n = getenv("FAKE_CUDA_DEVICES"), *visible = getenv("CUDA_VISIBLE_DEVICES");
	int all = n ? atoi(n) : 2, seen = 0;

	if (!visible)
		return all;
	for (const char *at = visible; *at && seen < all; at += strcspn(at, ","), at += *at == ',')
		seen++;
	return seen;
}

FAKE_EXPORT CUresult cuInit(unsigned flags)
{
	return count() ? 0 : FAKE_NO_DEVICE;
}

FAKE_EXPORT CUresult cuDriverGetVersion(int *version)
{
	*version = 13000;
	return 0;
}

FAKE_EXPORT CUresult cuGetErrorName(CUresult error, const char **name)
{
	*name = error == FAKE_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" :
		error == FAKE_NEWER_PTX     ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION" :
		error == FAKE_INVALID_PTX   ? "CUDA_ERROR_INVALID_PTX" :
					      "CUDA_ERROR_FAKE";
	return 0;
}

FAKE_EXPORT CUresult cuDeviceGetCount(int *n)
{
	*n = count();
	return 0;
}

FAKE_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return ordinal < 0 || ordinal >= count() ? FAKE_INVALID_DEVICE : 0;
}

FAKE_EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	snprintf(name, size, "Fake %d", device);
	return 0;
}

FAKE_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	*bytes = 1u << 30;
	return 0;
}

/* Returns the device's architecture from FAKE_CUDA_SM, such as 90. */
static int capability(void)
{
	const char *sm = getenv("FAKE_CUDA_SM");

	return sm ? atoi(sm) : 90;
}

FAKE_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
	/* attributes of a GPU on PCIe: no atomics over the bus, no access to the host's page tables */
	static const bool has[] = {
		[CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY] = true,
		[CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY] = true,
		[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = true,
	};

	*value = attribute >= 0 && attribute < (int)(sizeof(has) / sizeof(has[0])) && has[attribute] ? 1 :
		 attribute == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT                               ? FAKE_SMS :
		 attribute == CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK                              ? 1024 :
		 attribute == CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR                   ? FAKE_REGISTERS :
		 attribute == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN                  ? FAKE_SHARED :
		 attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? capability() / 10 :
		 attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? capability() % 10 :
									     0;
	return 0;
}

CUcontext fake_current(void)
{
	return depth ? stack[depth - 1].context : NULL;
}

CUresult fake_push(CUcontext context)
{
	if (!context || !context->alive)
		return FAKE_INVALID_CONTEXT;
	stack[depth].context = context;
	stack[depth++].entered = false;
	return 0;
}

/* Aborts, because the agent entered a destroyed context or destroyed an entered one. Only the agent pushes contexts. */
static void broken_rule(const char *what)
{
	fprintf(stderr, "fake driver: %s\n", what);
	abort();
}

FAKE_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	if (context && !context->alive)
		broken_rule("a context was entered that is gone");
	if (fake_push(context))
		return FAKE_INVALID_CONTEXT;
	stack[depth - 1].entered = true;
	context->entered++;
	return 0;
}

FAKE_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
	if (!depth)
		return FAKE_INVALID_CONTEXT;
	*context = stack[--depth].context;
	if (stack[depth].entered)
		(*context)->entered--;
	return 0;
}

FAKE_EXPORT CUresult cuCtxSetCurrent(CUcontext context)
{
	if (!depth)
		stack[depth++].entered = false;
	stack[depth - 1].context = context;
	return context && !context->alive ? FAKE_INVALID_CONTEXT : 0;
}

FAKE_EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
	*context = fake_current();
	return 0;
}

FAKE_EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
	if (!fake_current())
		return FAKE_INVALID_CONTEXT;
	*device = fake_current()->device;
	return 0;
}

FAKE_EXPORT CUresult cuCtxSynchronize(void)
{
	CUresult error = fake_check("cuCtxSynchronize");

	if (getenv("FAKE_CUDA_BUSY"))
		usleep(1000 * atoi(getenv("FAKE_CUDA_BUSY")));
	return error ? error : fake_capture_rule(FAKE_CAPTURE_UNSUPPORTED);
}

/* Destroys everything in the context and frees its memory, except exportable memory. */
static void die(CUcontext context)
{
	if (context->entered)
		broken_rule("a context was destroyed that a thread had entered");
	context->alive = false;
	fake_modules_die(context);
	fake_memory_die(context);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	struct CUctx_st *c = &primary[device];

	if (!c->alive)
		*c = (struct CUctx_st){ .device = device, .alive = true, .life = c->life + 1, .primary = 1 };
	c->refs++;
	*context = c;
	return 0;
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	struct CUctx_st *c = &primary[device];

	if (!c->alive)
		return FAKE_INVALID_CONTEXT;
	if (!--c->refs)
		die(c);
	return 0;
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device)
{
	if (primary[device].alive)
		die(&primary[device]);
	return 0;
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device)
{
	return cuDevicePrimaryCtxReset_v2(device);
}

FAKE_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active)
{
	*flags = 0;
	*active = primary[device].alive;
	return 0;
}

/* Returns a new context in the first free slot, so that handles of destroyed contexts are reused. */
static struct CUctx_st *new_context(CUdevice device, int sms)
{
	static struct CUctx_st pool[64];
	struct CUctx_st *c = pool;

	while (c->alive)
		c++;
	*c = (struct CUctx_st){ .device = device, .refs = 1, .alive = true, .life = c->life + 1, .sms = sms };
	return c;
}

FAKE_EXPORT CUresult cuCtxCreate_v2(CUcontext *context, unsigned flags, CUdevice device)
{
	*context = new_context(device, 0);
	return fake_push(*context);
}

FAKE_EXPORT CUresult cuCtxAttach(CUcontext *context, unsigned flags)
{
	*context = fake_current();
	if (!*context)
		return FAKE_INVALID_CONTEXT;
	(*context)->refs++;
	return 0;
}

FAKE_EXPORT CUresult cuCtxDetach(CUcontext context)
{
	if (!context || !context->alive || context != fake_current())
		return FAKE_INVALID_CONTEXT;
	return --context->refs ? 0 : cuCtxDestroy_v2(context);
}

/* A green context keeps a reference to the primary context. Its conversion to CUcontext returns the same handle. */
FAKE_EXPORT CUresult cuGreenCtxCreate(CUgreenCtx *green, void *desc, CUdevice device, unsigned flags)
{
	CUcontext kept;

	*green = (CUgreenCtx)new_context(device, FAKE_SMS / 2);
	return cuDevicePrimaryCtxRetain(&kept, device);
}

FAKE_EXPORT CUresult cuCtxFromGreenCtx(CUcontext *context, CUgreenCtx green)
{
	*context = (CUcontext)green;
	return *context && (*context)->alive ? 0 : FAKE_INVALID_CONTEXT;
}

FAKE_EXPORT CUresult cuGreenCtxGetDevResource(CUgreenCtx green, struct cuda_resource *resource, int type)
{
	resource->type = type;
	resource->sms = ((CUcontext)green)->sms;
	return fake_check("cuGreenCtxGetDevResource");
}

FAKE_EXPORT CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
	CUcontext context = (CUcontext)green;
	CUresult error;

	if (!green) /* the function must not begin with a call, which gpubpf attach cannot move */
		return FAKE_INVALID_CONTEXT;
	error = cuCtxDestroy_v2(context);
	return error ? error : cuDevicePrimaryCtxRelease_v2(context->device);
}

FAKE_EXPORT CUresult cuCtxDestroy_v2(CUcontext context)
{
	CUcontext popped;

	if (!context || !context->alive)
		return FAKE_INVALID_CONTEXT;
	if (fake_current() == context)
		cuCtxPopCurrent_v2(&popped);
	die(context);
	return 0;
}

/* ---- finding functions ---- */

/*
 * Returns the newest version of the named function, or its per-thread variant if the flags request that. The look-up
 * passes the symbol's version, so that a hook of dlsym() cannot change the answer.
 */
static void *find(const char *name, uint64_t flags)
{
	static const char *const endings[] = { "_v3", "_v2", "" };
	void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *found = NULL;
	char symbol[128];

	for (int ptsz = flags & 2 ? 1 : 0; !found && ptsz >= 0; ptsz--)
		for (size_t i = 0; !found && i < 3; i++) {
			snprintf(symbol, sizeof(symbol), "%.90s%s%s", name, endings[i], ptsz ? "_ptsz" : "");
			found = dlvsym(self, symbol, "FAKE_CUDA");
		}
	return found;
}

FAKE_EXPORT CUresult cuGetProcAddress_v2(const char *name, void **pfn, int version, uint64_t flags, int *status)
{
	*pfn = find(name, flags);
	if (status)
		*status = *pfn ? 0 : 1;
	return *pfn ? 0 : CUDA_ERROR_NOT_FOUND;
}

FAKE_EXPORT CUresult cuGetProcAddress(const char *name, void **pfn, int version, uint64_t flags)
{
	return cuGetProcAddress_v2(name, pfn, version, flags, NULL);
}
