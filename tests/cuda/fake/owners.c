/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios about what belongs to whom: to libraries that go, and to contexts that are not current. */
#include <stdio.h>

#include "app.h"

static const char plain[] = HEADER ".visible .global .align 4 .u32 total;\n"
	ENTRY(scale, "\t.reg .b32 %r;\n//fake param\n//fake add total\n//fake counter\n\tld.global.u32 %r, [total];\n");
static const char thrice[] = HEADER ENTRY(scale, "//fake param\n//fake param\n//fake param\n//fake counter\n");

static void launch(CUfunction f, CUdeviceptr to, CUstream stream)
{
	void *params[] = { &to };

	GOOD(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, stream, params, NULL));
}

/* By way of the library's module in this context, and of its kernel. */
static void launch_of_library(const char *text)
{
	CUdeviceptr word = new_word();
	CUlibrary library;
	CUkernel kernel;
	CUmodule module;
	CUfunction f;

	GOOD(cuLibraryLoadData(&library, text, NULL, NULL, 0, NULL, NULL, 0));
	GOOD(cuLibraryGetModule(&module, library));
	GOOD(cuModuleGetFunction(&f, module, "scale"));
	launch(f, word, NULL);
	GOOD(cuLibraryGetKernel(&kernel, library, "scale"));
	GOOD(cuKernelGetFunction(&f, kernel));
	launch(f, word, NULL);
	printf("word %u\n", *to_host(word));
	GOOD(cuLibraryUnload(library));
}

/* Libraries go, and the handles of their modules and functions come again with others, or with a module. */
void libraries(void)
{
	CUdeviceptr word;
	CUmodule module;
	CUfunction f;

	begin(0);
	launch_of_library(plain);
	launch_of_library(thrice);
	launch_of_library(plain);
	word = new_word();
	GOOD(cuModuleLoadData(&module, thrice));
	GOOD(cuModuleGetFunction(&f, module, "scale"));
	launch(f, word, NULL);
	printf("word %u\n", *to_host(word));
	told("scale", 7, 7 * 64);
}

struct place {
	CUcontext context;
	CUstream stream;
	CUdeviceptr word;
};

static struct place place(CUdevice device)
{
	struct place p = { .context = begin(device), .word = new_word() };

	GOOD(cuStreamCreate(&p.stream, 0));
	return p;
}

static unsigned total_of(CUlibrary library, CUmodule module)
{
	CUdeviceptr total;
	size_t size;

	if (library)
		GOOD(cuLibraryGetModule(&module, library));
	GOOD(cuModuleGetGlobal_v2(&total, &size, module, "total"));
	return *to_host(total);
}

/* Launched in the second place while the first is current: a function by its stream, a kernel of a library likewise,
 * both as nodes. What a twin in the wrong place counts is added to the variable there. */
void foreign(void)
{
	struct place first = place(0), second;
	struct cuda_kernel_node node = { .gx = 1, .gy = 1, .gz = 1, .bx = 64, .by = 1, .bz = 1 }, got;
	CUgraphNode nodes[2];
	CUgraphExec ready;
	CUlibrary library;
	CUmodule module;
	CUkernel kernel;
	CUgraph graph;
	CUfunction f;
	void *params[1];

	GOOD(cuLibraryLoadData(&library, plain, NULL, NULL, 0, NULL, NULL, 0));
	GOOD(cuLibraryGetKernel(&kernel, library, "scale"));
	second = place(1);
	GOOD(cuModuleLoadData(&module, plain));
	GOOD(cuCtxSetCurrent(first.context));
	GOOD(cuModuleGetFunction(&f, module, "scale"));
	launch((CUfunction)kernel, second.word, second.stream);
	launch(f, second.word, second.stream);
	GOOD(cuGraphCreate(&graph, 0));
	params[0] = &second.word;
	node.params = params;
	node.f = f;
	GOOD(cuGraphAddKernelNode_v2(&nodes[0], graph, NULL, 0, &node));
	node.f = NULL;
	node.kernel = kernel;
	node.context = second.context;
	GOOD(cuGraphAddKernelNode_v2(&nodes[1], graph, NULL, 0, &node));
	GOOD(cuGraphKernelNodeGetParams_v2(nodes[0], &got));
	printf("asked: %s\n", got.f == f ? "the function" : "another");
	GOOD(cuGraphInstantiateWithFlags(&ready, graph, 0));
	GOOD(cuGraphLaunch(ready, second.stream));
	printf("there %u\n", total_of(library, NULL));
	GOOD(cuCtxSetCurrent(second.context));
	printf("here %u and %u, word %u\n", total_of(library, NULL), total_of(NULL, module), *to_host(second.word));
	told("scale", 4, 4 * 64);
}
