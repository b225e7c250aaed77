/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a library with the driver API. Launches its kernel in two contexts, and its module's function in one. */
#include <cuda.h>
#include "../threads.cuh"

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .global .align 4 .u32 by = 3;\n"
	".visible .entry index(.param .u64 to)\n"
	"{ .reg .b32 %r<7>; .reg .b64 %d<4>;\n"
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n"
	"ld.global.u32 %r5, [by]; mul.lo.u32 %r6, %r4, %r5;\n"
	"ld.param.u64 %d1, [to]; mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d1, %d2; st.global.u32 [%d3], %r6; ret; }\n";

static void good(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: error %d\n", what, error);
	exit(1);
}

static uint64_t run(CUfunction function, uint64_t hash)
{
	device_array<unsigned> out(16 * 64);
	void *args[] = { &out.data };

	good(cuLaunchKernel(function, 16, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr), "cuLaunchKernel");
	good(cuCtxSynchronize(), "cuCtxSynchronize");
	return out.digest(hash);
}

int main()
{
	CUcontext first, second;
	CUlibrary library;
	CUfunction function;
	CUkernel kernel;
	CUmodule module;
	CUdevice device;
	uint64_t hash;

	good(cuInit(0), "cuInit");
	good(cuDeviceGet(&device, 0), "cuDeviceGet");
	good(cuDevicePrimaryCtxRetain(&first, device), "cuDevicePrimaryCtxRetain");
	good(cuCtxSetCurrent(first), "cuCtxSetCurrent");
	good(cuLibraryLoadData(&library, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData");
	good(cuLibraryGetKernel(&kernel, library, "index"), "cuLibraryGetKernel");
	hash = run((CUfunction)kernel, 14695981039346656037u);
	good(cuLibraryGetModule(&module, library), "cuLibraryGetModule");
	good(cuModuleGetFunction(&function, module, "index"), "cuModuleGetFunction");
	hash = run(function, hash);
	good(cuKernelGetFunction(&function, kernel), "cuKernelGetFunction");
	hash = run(function, hash);
	good(cuCtxCreate(&second, nullptr, 0, device), "cuCtxCreate");
	hash = run((CUfunction)kernel, hash);
	good(cuCtxDestroy(second), "cuCtxDestroy");
	good(cuCtxSetCurrent(first), "cuCtxSetCurrent");
	hash = run((CUfunction)kernel, hash);
	good(cuLibraryUnload(library), "cuLibraryUnload");
	return report(hash, 5 * 16 * 64);
}
