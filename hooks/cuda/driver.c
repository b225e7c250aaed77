/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the driver's functions when the agent first uses the driver. */
#include "cuda.h"

#include <dlfcn.h>

#include "hooks/process/agent_thread.h"
#include "hooks/process/dlsym.h"

struct cuda_next cuda_next;
struct cuda_driver cuda_direct;
const char *cuda_missing_function;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool ready;

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
	NEXT(cuFuncGetParamInfo, "cuFuncGetParamInfo");
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
