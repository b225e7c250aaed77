/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the application reaches the agent's functions instead of the driver's. It links them (the agent is preloaded), or
 * looks them up by dlsym or cuGetProcAddress. Symbols that the agent does not interpose resolve to the driver's.
 */
#include "cuda.h"
#include "hooks/process/agent_thread.h"
#include "hooks/process/dlsym.h"

#include <dlfcn.h>
#include <string.h>

struct cuda_next cuda_next;
struct cuda_driver cuda_direct;
const char *cuda_missing_function;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

#define EXPORT __attribute__((visibility("default")))

EXPORT CUresult cuGetProcAddress(const char *name, void **pfn, int version, uint64_t flags);
EXPORT CUresult cuGetProcAddress_v2(const char *name, void **pfn, int version, uint64_t flags, int *status);

static void load_driver(void *unused)
{
	gpubpf_dlsym_fn find = gpubpf_dlsym_next();
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

	if (!lib)
		return;
#define CUDA_CALL(symbol, parameters, arguments) \
	cuda_next.symbol = (CUresult (*) parameters)find(lib, #symbol);
#include "calls.def"
#define CUDA_FN(member, symbol, arguments) \
	cuda_direct.member = (CUresult (*) arguments)find(lib, #symbol); \
	cuda_missing_function = cuda_direct.member ? cuda_missing_function : #symbol;
	CUDA_FUNCTIONS(CUDA_FN)
#undef CUDA_FN
#define NEXT(member, symbol) cuda_next.member = (typeof(cuda_next.member))find(lib, symbol)
	NEXT(cuGetProcAddress, "cuGetProcAddress");
	NEXT(cuGetProcAddress_v2, "cuGetProcAddress_v2");
	NEXT(cuCtxGetCurrent, "cuCtxGetCurrent");
	NEXT(cuCtxFromGreenCtx, "cuCtxFromGreenCtx");
	NEXT(cuStreamGetCtx, "cuStreamGetCtx_v2");
	NEXT(cuMemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2");
	NEXT(cuPointerGetAttribute, "cuPointerGetAttribute");
	NEXT(cuGreenCtxGetDevResource, "cuGreenCtxGetDevResource");
	NEXT(cuStreamGetGreenCtx, "cuStreamGetGreenCtx");
	NEXT(cuStreamIsCapturing, "cuStreamIsCapturing");
	NEXT(cuStreamIsCapturing_ptsz, "cuStreamIsCapturing_ptsz");
	NEXT(cuGraphCreate, "cuGraphCreate");
	NEXT(cuGraphDestroy, "cuGraphDestroy");
	NEXT(cuFuncGetAttribute, "cuFuncGetAttribute");
	NEXT(cuFuncGetModule, "cuFuncGetModule");
	NEXT(cuFuncGetName, "cuFuncGetName");
	NEXT(cuKernelGetName, "cuKernelGetName");
	NEXT(cuKernelGetLibrary, "cuKernelGetLibrary");
	NEXT(cuLibraryGetGlobal, "cuLibraryGetGlobal");
	NEXT(cuOccupancy, "cuOccupancyMaxActiveBlocksPerMultiprocessor");
	NEXT(cuStreamWriteValue64, "cuStreamWriteValue64_v2");
	NEXT(cuStreamWriteValue64_ptsz, "cuStreamWriteValue64_v2_ptsz");
#undef NEXT
	ready = cuda_direct.module_load && cuda_next.cuCtxGetCurrent && cuda_next.cuLaunchKernel;
}

static void load(void)
{
	gpubpf_run_on_agent_thread(load_driver, NULL);
}

bool cuda_next_init(void)
{
	pthread_once(&once, load);
	return ready;
}

void *cuda_hook_find(const char *symbol)
{
	static const struct {
		const char *name;
		void *ours;
	} hooks[] = {
#define CUDA_CALL(symbol, parameters, arguments) { #symbol, (void *)symbol },
#include "calls.def"
		{ "cuGetProcAddress", (void *)cuGetProcAddress },
		{ "cuGetProcAddress_v2", (void *)cuGetProcAddress_v2 },
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(hooks[i].name, symbol))
			return hooks[i].ours;
	return NULL;
}

/*
 * cuGetProcAddress takes a name without suffix and a version. It returns the function that the header of that version
 * means by the name. Its address identifies it: it is one of the driver's symbols.
 */
static void *replace_by_hook(void *real)
{
#define CUDA_CALL(symbol, parameters, arguments) \
	if (real == (void *)cuda_next.symbol) \
		return (void *)symbol;
#include "calls.def"
	if (real == (void *)cuda_next.cuGetProcAddress_v2)
		return (void *)cuGetProcAddress_v2;
	if (real == (void *)cuda_next.cuGetProcAddress)
		return (void *)cuGetProcAddress;
	return real;
}

CUresult cuGetProcAddress(const char *name, void **pfn, int version, uint64_t flags)
{
	CUresult error;

	if (!cuda_next_init() || !cuda_next.cuGetProcAddress)
		return CUDA_ERROR_NOT_FOUND;
	error = cuda_next.cuGetProcAddress(name, pfn, version, flags);
	if (!error && pfn && *pfn)
		*pfn = replace_by_hook(*pfn);
	return error;
}

CUresult cuGetProcAddress_v2(const char *name, void **pfn, int version, uint64_t flags, int *status)
{
	CUresult error;

	if (!cuda_next_init() || !cuda_next.cuGetProcAddress_v2)
		return CUDA_ERROR_NOT_FOUND;
	error = cuda_next.cuGetProcAddress_v2(name, pfn, version, flags, status);
	if (!error && pfn && *pfn)
		*pfn = replace_by_hook(*pfn);
	return error;
}

GPUBPF_DLSYM_USER(cuda, "cu", cuda_hook_find, cuda_next_init);
