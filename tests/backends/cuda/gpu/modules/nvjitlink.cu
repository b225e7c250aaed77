/* SPDX-License-Identifier: Apache-2.0 */
/* Links modules at run time with nvJitLink, with which this program is linked: from PTX, from LTO-IR, and from both. */
#include <cuda.h>
#include <nvJitLink.h>
#include <nvrtc.h>
#include "../threads.cuh"

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

static const char kernel_source[] =
	"extern \"C\" __device__ unsigned mix(unsigned a);\n"
	"extern \"C\" __global__ void linked(unsigned *to)\n"
	"{\n"
	"	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	to[i] = mix(i);\n"
	"}\n";
static const char helper_source[] =
	"static __device__ unsigned calls;\n"
	"extern \"C\" __device__ unsigned mix(unsigned a)\n"
	"{\n"
	"	atomicAdd(&calls, 1);\n"
	"	return a * 99;\n"
	"}\n";

static void good(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: error %d\n", what, error);
	exit(1);
}

static char arch[32];

/* Compiles a source to LTO-IR. */
static std::vector<char> compile(const char *source)
{
	const char *options[] = { arch, "-dlto", "-rdc=true" };
	nvrtcProgram program;
	size_t size;

	good(nvrtcCreateProgram(&program, source, "part.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
	good(nvrtcCompileProgram(program, 3, options), "nvrtcCompileProgram");
	good(nvrtcGetLTOIRSize(program, &size), "nvrtcGetLTOIRSize");
	std::vector<char> ir(size);
	good(nvrtcGetLTOIR(program, ir.data()), "nvrtcGetLTOIR");
	good(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
	return ir;
}

struct part {
	nvJitLinkInputType type;
	const void *data;
	size_t size;
};

static uint64_t run(bool lto, const part (&parts)[2], uint64_t hash)
{
	const char *options[] = { arch, "-lto" };
	device_array<unsigned> out(16 * 64);
	void *args[] = { &out.data };
	std::vector<char> cubin;
	nvJitLinkHandle linker;
	CUfunction function;
	CUmodule module;
	size_t size;

	good(nvJitLinkCreate(&linker, lto ? 2 : 1, options), "nvJitLinkCreate");
	for (const part &p : parts)
		good(nvJitLinkAddData(linker, p.type, p.data, p.size, "part"), "nvJitLinkAddData");
	good(nvJitLinkComplete(linker), "nvJitLinkComplete");
	good(nvJitLinkGetLinkedCubinSize(linker, &size), "nvJitLinkGetLinkedCubinSize");
	cubin.resize(size);
	good(nvJitLinkGetLinkedCubin(linker, cubin.data()), "nvJitLinkGetLinkedCubin");
	good(nvJitLinkDestroy(&linker), "nvJitLinkDestroy");
	good(cuModuleLoadData(&module, cubin.data()), "cuModuleLoadData");
	good(cuModuleGetFunction(&function, module, "linked"), "cuModuleGetFunction");
	good(cuLaunchKernel(function, 16, 1, 1, 64, 1, 1, 0, nullptr, args, nullptr), "cuLaunchKernel");
	return out.digest(hash);
}

int main()
{
	cudaDeviceProp device;
	uint64_t hash;

	check(cudaGetDeviceProperties(&device, 0));
	check(cudaFree(nullptr));
	snprintf(arch, sizeof(arch), "-arch=sm_%d%d", device.major, device.minor);
	const std::vector<char> first = compile(kernel_source), second = compile(helper_source);
	const part ptx[] = { { NVJITLINK_INPUT_PTX, kernel, sizeof(kernel) }, { NVJITLINK_INPUT_PTX, helper, sizeof(helper) } };
	const part lto[] = { { NVJITLINK_INPUT_LTOIR, first.data(), first.size() },
			     { NVJITLINK_INPUT_ANY, second.data(), second.size() } };
	const part both[] = { { NVJITLINK_INPUT_LTOIR, first.data(), first.size() },
			      { NVJITLINK_INPUT_PTX, helper, sizeof(helper) } };

	hash = run(false, ptx, 1);
	hash = run(true, lto, hash);
	return report(run(true, both, hash), 3 * 16 * 64);
}
