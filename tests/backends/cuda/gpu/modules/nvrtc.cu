/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that NVRTC compiles at run time, to PTX and to machine code. Its names are looked up by name expression. */
#include <cuda.h>
#include <nvrtc.h>
#include "../threads.cuh"

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

static uint64_t run(const char *arch, bool machine, uint64_t hash)
{
	const char *options[] = { arch }, *name;
	device_array<float> out(32 * 128);
	std::vector<char> code;
	nvrtcProgram program;
	CUfunction function;
	CUmodule module;
	size_t size;
	float by = 1.5f;
	void *args[] = { &out.data, &by };

	good(nvrtcCreateProgram(&program, source, "scaled.cu", 0, nullptr, nullptr), "nvrtcCreateProgram");
	good(nvrtcAddNameExpression(program, "scaled<float>"), "nvrtcAddNameExpression");
	good(nvrtcCompileProgram(program, 1, options), "nvrtcCompileProgram");
	good(machine ? nvrtcGetCUBINSize(program, &size) : nvrtcGetPTXSize(program, &size), "size");
	code.resize(size);
	good(machine ? nvrtcGetCUBIN(program, code.data()) : nvrtcGetPTX(program, code.data()), "code");
	good(nvrtcGetLoweredName(program, "scaled<float>", &name), "nvrtcGetLoweredName");
	good(cuModuleLoadData(&module, code.data()), "cuModuleLoadData");
	good(cuModuleGetFunction(&function, module, name), "cuModuleGetFunction");
	for (int i = 0; i < 3; i++)
		good(cuLaunchKernel(function, 32, 1, 1, 128, 1, 1, 0, nullptr, args, nullptr), "cuLaunchKernel");
	hash = out.digest(hash);
	good(cuModuleUnload(module), "cuModuleUnload");
	return hash;
}

int main()
{
	cudaDeviceProp device;
	char arch[32];
	uint64_t hash;

	check(cudaGetDeviceProperties(&device, 0));
	check(cudaFree(nullptr));
	snprintf(arch, sizeof(arch), "-arch=sm_%d%d", device.major, device.minor);
	hash = run("-arch=compute_75", false, 1);
	return report(run(arch, true, hash), 2 * 3 * 32 * 128);
}
