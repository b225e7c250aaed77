/* SPDX-License-Identifier: Apache-2.0 */
/* The module functions: loads one image twice, each with its own variables; passes arguments as
 * pointers and as one buffer; loads a bundle and a file; unloads and loads again. */
#include "../app.h"

#include <fstream>
#include <iterator>

static std::vector<char> contents(const std::string &path)
{
	std::ifstream file(path, std::ios::binary);

	return { std::istreambuf_iterator<char>(file), {} };
}

static void run(hipModule_t module, uint32_t seed)
{
	app::array<uint32_t> in(app::numbers(300)), out(320);
	hipFunction_t mix, fold;
	hipDeviceptr_t at;
	uint64_t calls;
	uint32_t n = 300;
	size_t size;

	GOOD(hipModuleGetFunction(&mix, module, "mix"));
	GOOD(hipModuleGetFunction(&fold, module, "fold"));
	GOOD(hipModuleGetGlobal(&at, &size, module, "seed"));
	GOOD(hipMemcpyHtoD(at, &seed, sizeof(seed)));

	void *params[] = { &in.data, &out.data, &n };
	GOOD(hipModuleLaunchKernel(mix, 5, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr));
	app::count("mix", 320);

	struct {
		uint32_t *data;
		short shift;
		uint64_t add;
	} args = { out.data, 3, 1000 };
	size_t bytes = sizeof(args);
	void *extra[] = { HIP_LAUNCH_PARAM_BUFFER_POINTER, &args, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
			  HIP_LAUNCH_PARAM_END };
	GOOD(hipModuleLaunchKernel(fold, 5, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
	app::count("fold", 320);
	out.digest();
	GOOD(hipModuleGetGlobal(&at, &size, module, "calls"));
	GOOD(hipMemcpyDtoH(&calls, at, sizeof(calls)));
	app::digest(&calls, sizeof(calls));
}

int main()
{
	std::vector<char> plain = contents(app::beside("module_kernels.co"));
	std::vector<char> bundle = contents(app::beside("module_kernels.bundle"));
	hipModule_t module[4];

	GOOD(hipInit(0));
	GOOD(hipModuleLoadData(&module[0], plain.data()));
	GOOD(hipModuleLoadData(&module[1], plain.data()));
	GOOD(hipModuleLoadDataEx(&module[2], bundle.data(), 0, nullptr, nullptr));
	GOOD(hipModuleLoad(&module[3], app::beside("module_kernels.co").c_str()));
	for (uint32_t i = 0; i < 8; i++)
		run(module[i % 4], 11 * i);
	GOOD(hipModuleUnload(module[0]));
	GOOD(hipModuleLoadData(&module[0], plain.data()));
	run(module[0], 5);
	for (hipModule_t m : module)
		GOOD(hipModuleUnload(m));
	return app::done();
}
