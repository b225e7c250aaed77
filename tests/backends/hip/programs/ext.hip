/* SPDX-License-Identifier: Apache-2.0 */
/* Launches through other functions: extended ones, and by address. */
#include "app.h"

#include <hip/hip_ext.h>

#include <fstream>
#include <iterator>

extern "C" __global__ void add(uint32_t *data, uint32_t by)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

int main()
{
	app::array<uint32_t> data(128);
	std::ifstream file(app::beside("module_kernels.co"), std::ios::binary);
	std::vector<char> image{ std::istreambuf_iterator<char>(file), {} };
	hipEvent_t start, stop;
	hipFunction_t fold;
	hipModule_t module;
	uint32_t by = 3;
	short shift = 1;
	uint64_t more = 40;
	void *args[] = { &data.data, &by }, *fold_args[] = { &data.data, &shift, &more };
	auto kernel = reinterpret_cast<const void *>(add);

	GOOD(hipEventCreate(&start));
	GOOD(hipEventCreate(&stop));
	GOOD(hipExtLaunchKernel(kernel, dim3(2), dim3(64), args, 0, nullptr, start, stop, 0));
	GOOD(hipEventSynchronize(stop));
	printf("stop event %s\n", hipGetErrorName(hipEventQuery(stop)));
	data.digest();
	GOOD(hipLaunchKernel(kernel, dim3(2), dim3(64), args, 0, nullptr));
	data.digest();
	app::count("add", 128, 2);
	data.digest();

	GOOD(hipModuleLoadData(&module, image.data()));
	GOOD(hipModuleGetFunction(&fold, module, "fold"));
	GOOD(hipExtModuleLaunchKernel(fold, 128, 1, 1, 64, 1, 1, 0, nullptr, fold_args, nullptr, start, stop, 0));
	GOOD(hipEventSynchronize(stop));
	GOOD(hipHccModuleLaunchKernel(fold, 128, 1, 1, 64, 1, 1, 0, nullptr, fold_args, nullptr, start, stop));
	GOOD(hipEventSynchronize(stop));
	app::count("fold", 128, 2);
	data.digest();
	return app::done();
}
