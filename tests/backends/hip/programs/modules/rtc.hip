/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a kernel at run time. */
#include "../app.h"

#include <hip/hiprtc.h>

static const char source[] =
	"extern \"C\" __global__ void made(unsigned *out, unsigned by)\n"
	"{\n"
	"	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;\n"
	"	out[i] = i * by ^ i >> 2;\n"
	"}\n";

int main()
{
	app::array<uint32_t> out(192);
	hipFunction_t made;
	hipModule_t module;
	hiprtcProgram program;
	uint32_t by = 31;
	size_t size = 0;

	if (hiprtcCreateProgram(&program, source, "made.hip", 0, nullptr, nullptr) ||
	    hiprtcCompileProgram(program, 0, nullptr) || hiprtcGetCodeSize(program, &size) || !size) {
		fprintf(stderr, "hiprtc does not compile here\n");
		return 77;
	}
	{
		std::vector<char> code(size);

		hiprtcGetCode(program, code.data());
		hiprtcDestroyProgram(&program);
		GOOD(hipModuleLoadData(&module, code.data()));
		GOOD(hipModuleGetFunction(&made, module, "made"));
		void *params[] = { &out.data, &by };
		GOOD(hipModuleLaunchKernel(made, 3, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr));
		app::count("made", 192);
		out.digest();
		GOOD(hipModuleUnload(module));
	}
	return app::done();
}
