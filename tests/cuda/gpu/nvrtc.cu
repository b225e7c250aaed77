/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel compiled at run time, to PTX and, with an argument, to machine code; names looked up by expression. */
#include <cuda.h>
#include <nvrtc.h>
#include "threads.cuh"

static const char source[] =
	"template <typename T> __global__ void scaled(T *out, T by)\n"
	"{\n"
	"	int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	out[i] = T(i) * by;\n"
	"}\n";

static void good(int error, const char *what)
{
	if (!error)
		return;
	fprintf(stderr, "%s: error %d\n", what, error);
	exit(1);
}

int main()
{
	const char *options[] = { "-arch=compute_75", "-lineinfo" }, *name;
	device_array<float> out(32 * 128);
	std::vector<char> ptx;
	nvrtcProgram program;
	CUfunction function;
	CUmodule module;
	size_t size;
	float by = 1.5f;
	void *args[] = { &out.data, &by };

	good(nvrtcCreateProgram(&program, source, "scaled.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
	good(nvrtcAddNameExpression(program, "scaled<float>"), "nvrtcAddNameExpression");
	good(nvrtcCompileProgram(program, 2, options), "nvrtcCompileProgram");
	good(nvrtcGetPTXSize(program, &size), "nvrtcGetPTXSize");
	ptx.resize(size);
	good(nvrtcGetPTX(program, ptx.data()), "nvrtcGetPTX");
	good(nvrtcGetLoweredName(program, "scaled<float>", &name), "nvrtcGetLoweredName");
	good(cuModuleLoadData(&module, ptx.data()), "cuModuleLoadData");
	good(cuModuleGetFunction(&function, module, name), "cuModuleGetFunction");
	for (int i = 0; i < 3; i++)
		good(cuLaunchKernel(function, 32, 1, 1, 128, 1, 1, 0, nullptr, args, nullptr), "cuLaunchKernel");
	uint64_t digest = out.digest();
	good(cuModuleUnload(module), "cuModuleUnload");
	return report(digest, 3 * 32 * 128);
}
