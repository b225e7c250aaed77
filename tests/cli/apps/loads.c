/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loads LOADER [DRIVER [CUDA]]: an application that opens its own OpenCL loader with dlopen(). If DRIVER is present,
 * the loader opens that driver. If CUDA is present, the application also loads a PTX module with the CUDA driver
 * library CUDA.
 */
#include <dlfcn.h>
#include <stdio.h>

static const char ptx[] = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n\tret;\n}\n";

static int call_cuda(const char *name)
{
	void *lib = dlopen(name, RTLD_NOW), *context = NULL, *module;
	int (*init)(unsigned) = lib ? (int (*)(unsigned))dlsym(lib, "cuInit") : NULL;
	int (*retain)(void **, int) = lib ? (int (*)(void **, int))dlsym(lib, "cuDevicePrimaryCtxRetain") : NULL;
	int (*enter)(void *) = lib ? (int (*)(void *))dlsym(lib, "cuCtxSetCurrent") : NULL;
	int (*load)(void **, const void *) = lib ? (int (*)(void **, const void *))dlsym(lib, "cuModuleLoadData") : NULL;

	return !init || !retain || !enter || !load || init(0) || retain(&context, 0) || enter(context) || load(&module, ptx);
}

int main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	int (*platforms)(const char *driver) = lib ? (int (*)(const char *))dlsym(lib, "clGetPlatformIDs") : NULL;

	if (!platforms || (argc > 2 && platforms(argv[2])) || (argc > 3 && call_cuda(argv[3])))
		return 1;
	puts("done");
	return 42;
}
