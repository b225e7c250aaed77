/* SPDX-License-Identifier: Apache-2.0 */
/* Two PTX modules linked at run time to machine code that keeps no PTX: it runs, and the reason is told. */
#include <cuda.h>
#include <nvJitLink.h>
#include "threads.cuh"

static const char kernel[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".extern .func (.param .b32 r) mix(.param .b32 a);\n"
	".visible .entry linked(.param .u64 to)\n"
	"{ .reg .b32 %r<6>; .reg .b64 %d<4>;\n"
	"mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mad.lo.u32 %r4, %r1, %r2, %r3;\n"
	"{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r4; call.uni (r), mix, (a); ld.param.b32 %r5, [r]; }\n"
	"ld.param.u64 %d1, [to]; mul.wide.u32 %d2, %r4, 4; add.u64 %d3, %d1, %d2; st.global.u32 [%d3], %r5; ret; }\n";
static const char helper[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".visible .func (.param .b32 r) mix(.param .b32 a)\n"
	"{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; mul.lo.u32 %r2, %r1, 77; st.param.b32 [r], %r2; ret; }\n";

static void good(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: error %d\n", what, error);
	exit(1);
}

int main()
{
	device_array<unsigned> out(16 * 64);
	void *args[] = { &out.data };
	std::vector<char> cubin;
	nvJitLinkHandle linker;
	cudaDeviceProp device;
	CUfunction function;
	CUmodule module;
	char arch[32];
	size_t size;

	check(cudaGetDeviceProperties(&device, 0));
	snprintf(arch, sizeof(arch), "-arch=sm_%d%d", device.major, device.minor);
	const char *options[] = { arch };
	good(nvJitLinkCreate(&linker, 1, options), "nvJitLinkCreate");
	good(nvJitLinkAddData(linker, NVJITLINK_INPUT_PTX, kernel, sizeof(kernel), "kernel"), "kernel");
	good(nvJitLinkAddData(linker, NVJITLINK_INPUT_PTX, helper, sizeof(helper), "helper"), "helper");
	good(nvJitLinkComplete(linker), "nvJitLinkComplete");
	good(nvJitLinkGetLinkedCubinSize(linker, &size), "nvJitLinkGetLinkedCubinSize");
	cubin.resize(size);
	good(nvJitLinkGetLinkedCubin(linker, cubin.data()), "nvJitLinkGetLinkedCubin");
	good(cuModuleLoadData(&module, cubin.data()), "cuModuleLoadData");
	good(cuModuleGetFunction(&function, module, "linked"), "cuModuleGetFunction");
	good(cuLaunchKernel(function, 16, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr), "cuLaunchKernel");
	return report(out.digest(), 0);
}
