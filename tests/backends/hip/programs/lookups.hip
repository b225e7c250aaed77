/* SPDX-License-Identifier: Apache-2.0 */
/* A program that links no runtime: it looks up every function by name. */
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

static void *library;

template <typename F> static F *find(const char *name)
{
	return reinterpret_cast<F *>(dlsym(library, name));
}
#define CALL(name) find<decltype(name)>(#name)

int main(int, char **argv)
{
	std::string self(argv[0]);
	std::ifstream file(self.substr(0, self.rfind('/') + 1) + "module_kernels.co", std::ios::binary);
	std::vector<char> image{ std::istreambuf_iterator<char>(file), {} };
	std::vector<uint32_t> all(128, 4000);
	hipFunction_t fold;
	hipModule_t module;
	uint32_t *data;
	uint64_t add = 5;
	short shift = 2;

	library = dlopen("libamdhip64.so.5", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		library = dlopen("libamdhip64.so", RTLD_NOW | RTLD_LOCAL);
	if (!library || CALL(hipInit)(0))
		return 1;
	void *params[] = { &data, &shift, &add };
	if (CALL(hipModuleLoadData)(&module, image.data()) || CALL(hipModuleGetFunction)(&fold, module, "fold") ||
	    find<hipError_t(void **, size_t)>("hipMalloc")(reinterpret_cast<void **>(&data), 512) ||
	    CALL(hipMemcpyHtoD)(data, all.data(), 512) ||
	    CALL(hipModuleLaunchKernel)(fold, 2, 1, 1, 64, 1, 1, 0, nullptr, params, nullptr) ||
	    CALL(hipMemcpyDtoH)(all.data(), data, 512))
		return 1;
	printf("first %u last %u\n", all[0], all[127]);
	printf("kernel fold launches 1 items 128\n");
	return 0;
}
