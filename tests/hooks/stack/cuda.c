/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes calls of the fake CUDA driver, whose stack use stack.py measures. Prints the results.
 *
 * `cuda all FOLDER`: the hooked calls that the scenarios of tests/backends/cuda/fake do not make, with files in FOLDER.
 * `cuda small`: a thread with a stack of PTHREAD_STACK_MIN loads a module and launches, as its first calls.
 * `cuda load MODULE`: the constructor of MODULE (this file with LOADED) does the same under the dynamic linker's lock.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/backends/cuda/fake/fake.h"

#define GOOD(call) good(call, #call)

static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .global .align 4 .u32 total;\n"
			   ".visible .entry one(.param .u64 to)\n{\n//fake param\n//fake counter\n\tret;\n}\n";

static CUdeviceptr word;

static void good(CUresult error, const char *what)
{
	if (!error)
		return;
	printf("%s: error %d\n", what, error);
	exit(1);
}

static CUcontext begin(void)
{
	CUcontext context;

	GOOD(cuInit(0));
	GOOD(cuDevicePrimaryCtxRetain(&context, 0));
	GOOD(cuCtxSetCurrent(context));
	GOOD(cuMemAlloc_v2(&word, 4096));
	GOOD(cuMemcpyHtoD_v2(word, &(uint32_t){ 0 }, 4));
	return context;
}

static void run(CUfunction f)
{
	void *params[] = { &word };

	GOOD(cuLaunchKernel(f, 2, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
}

static void run_module(CUmodule module)
{
	CUfunction f;

	GOOD(cuModuleGetFunction(&f, module, "one"));
	run(f);
}

static char *file(const char *folder)
{
	static char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/module.ptx", folder);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		exit(2);
	return path;
}

static void modules(const char *path)
{
	CUlibrary library;
	CUmodule module;
	CUkernel kernel;
	CUlinkState link;

	GOOD(cuModuleLoadDataEx(&module, text, 0, NULL, NULL));
	run_module(module);
	if (!cuModuleLoadFatBinary(&module, text))
		run_module(module);
	if (!cuModuleLoad(&module, path))
		run_module(module);
	if (!cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0) && !cuLibraryGetKernel(&kernel, library, "one")) {
		cuKernelSetAttribute(8, 1024, kernel, 0);
		run((CUfunction)kernel);
	}
	GOOD(cuLinkCreate_v2(0, NULL, NULL, &link));
	cuLinkAddFile_v2(link, 1, path, 0, NULL, NULL);
	cuLinkDestroy(link);
}

static void launches(void)
{
	void *params[] = { &word };
	CUlaunchConfig config = { 1, 1, 1, 64, 1, 1 };
	CUgraph graph;
	CUgraphNode node;
	CUgraphExec ready;
	CUmodule module;
	CUfunction f;

	GOOD(cuModuleLoadData(&module, text));
	GOOD(cuModuleGetFunction(&f, module, "one"));
	cuFuncSetCacheConfig(f, 1);
	GOOD(cuLaunchKernel_ptsz(f, 1, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
	GOOD(cuLaunchKernelEx(&config, f, params, NULL));
	GOOD(cuLaunchKernelEx_ptsz(&config, f, params, NULL));
	GOOD(cuLaunchCooperativeKernel_ptsz(f, 1, 1, 1, 64, 1, 1, 0, NULL, params));
	GOOD(cuGraphCreate(&graph, 0));
	{
		struct cuda_kernel_node kernel = { f, 1, 1, 1, 64, 1, 1, 0, params, NULL };

		GOOD(cuGraphAddKernelNode(&node, graph, NULL, 0, &kernel));
		cuGraphKernelNodeGetParams(node, &kernel);
		cuGraphKernelNodeSetParams(node, &kernel);
		if (!cuGraphInstantiateWithFlags(&ready, graph, 0)) {
			cuGraphExecKernelNodeSetParams(ready, node, &kernel);
			GOOD(cuGraphLaunch(ready, NULL));
		}
	}
	cuGraphDestroy(graph);
}

static void memory(void)
{
	static char here[4096] __attribute__((aligned(4096)));
	CUmemAccessDesc access = { 0 };
	CUdeviceptr address;
	void *host;

	if (!cuMemAllocManaged(&address, 4096, 1))
		cuMemFree_v2(address);
	if (!cuMemHostAlloc(&host, 4096, 0))
		cuMemFreeHost(host);
	if (!cuMemHostRegister_v2(here, sizeof(here), 0))
		cuMemHostUnregister(here);
	cuMemSetAccess(0, 0, &access, 1);
	cuMemUnmap(0, 0);
}

static void contexts(void)
{
	CUcontext context;

	if (!cuCtxAttach(&context, 0))
		cuCtxDetach(context);
}

static void print_word(void)
{
	uint32_t value;

	GOOD(cuMemcpyDtoH_v2(&value, word, 4));
	printf("word %u\n", value);
}

static void *in_thread(void *unused)
{
	CUmodule module;

	begin();
	GOOD(cuModuleLoadData(&module, text));
	run_module(module);
	return NULL;
}

static void small(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	CUcontext context;

	pthread_attr_init(&attr);
	if (pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN) || pthread_create(&thread, &attr, in_thread, NULL))
		exit(3);
	pthread_join(thread, NULL);
	GOOD(cuDevicePrimaryCtxRetain(&context, 0));
	GOOD(cuCtxSetCurrent(context));
	print_word();
}

#ifdef LOADED
__attribute__((constructor)) static void launch_while_loaded(void)
{
	in_thread(NULL);
	print_word();
}
#endif

int main(int argc, char **argv)
{
	if (argc < 3) {
		small();
		return 0;
	}
	if (!strcmp(argv[1], "load"))
		return !dlopen(argv[2], RTLD_NOW);
	begin();
	modules(file(argv[2]));
	launches();
	memory();
	print_word();
	contexts();
	return 0;
}
