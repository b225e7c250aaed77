/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda LAUNCHES: makes calls of each section host/ to the CUDA driver. It launches a kernel LAUNCHES times in a stream
 * and once in a graph, which it launches twice. It prints the sums that the kernel and the copies leave.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/backends/cuda/fake/fake.h"

#define N 64
#define GOOD(call) good(call, #call)

static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
			   ".visible .entry step_one(.param .u64 to)\n{\n//fake param\n//fake counter\n\tret;\n}\n";

static void good(CUresult error, const char *what)
{
	if (!error)
		return;
	printf("%s: error %d\n", what, error);
	exit(1);
}

static CUfunction kernel;
static CUstream stream;

static void launch(CUdeviceptr to)
{
	void *params[] = { &to };

	GOOD(cuLaunchKernel(kernel, 2, 1, 1, N, 1, 1, 0, stream, params, NULL));
}

static void use_events(void)
{
	CUevent event;

	GOOD(cuEventCreate(&event, 0));
	GOOD(cuEventRecord(event, stream));
	GOOD(cuStreamWaitEvent(stream, event, 0));
	GOOD(cuEventSynchronize(event));
	GOOD(cuEventDestroy_v2(event));
}

static void use_graph(CUdeviceptr to)
{
	CUgraphExec exec;
	CUgraph graph;
	void *params[] = { &to };
	struct cuda_kernel_node node = { .f = kernel, .gx = 1, .gy = 1, .gz = 1, .bx = N, .by = 1, .bz = 1, .params = params };
	CUgraphNode added;

	GOOD(cuStreamBeginCapture_v2(stream, 0));
	launch(to);
	GOOD(cuStreamEndCapture(stream, &graph));
	GOOD(cuGraphAddKernelNode_v2(&added, graph, NULL, 0, &node));
	GOOD(cuGraphInstantiateWithFlags(&exec, graph, 0));
	GOOD(cuGraphLaunch(exec, stream));
	GOOD(cuGraphLaunch(exec, stream));
	GOOD(cuGraphExecDestroy(exec));
}

/* Returns the sum of the copied values. */
static unsigned use_copies(CUdeviceptr from, CUdeviceptr to)
{
	unsigned v[N], sum = 0;
	struct cuda_copy_2d square = { .from.end = { CUDA_MEMORY_HOST, v, 0, NULL },
				       .from.pitch = 32,
				       .to.end = { CUDA_MEMORY_DEVICE, NULL, to, NULL },
				       .to.pitch = 32,
				       .width = 16,
				       .height = 4 };

	for (int i = 0; i < N; i++)
		v[i] = i;
	GOOD(cuMemcpyHtoD_v2(from, v, sizeof(v)));
	GOOD(cuMemcpyDtoDAsync_v2(to, from, sizeof(v), stream));
	GOOD(cuMemsetD32_v2(from, 7, N / 2));
	GOOD(cuMemcpy2D_v2(&square));
	GOOD(cuMemcpyDtoHAsync_v2(v, to, sizeof(v), stream));
	GOOD(cuStreamSynchronize(stream));
	for (int i = 0; i < N; i++)
		sum += v[i];
	return sum;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	unsigned word = 0, copied;
	CUdeviceptr from, to;
	CUcontext context;
	CUmodule module;

	GOOD(cuInit(0));
	GOOD(cuDevicePrimaryCtxRetain(&context, 0));
	GOOD(cuCtxSetCurrent(context));
	GOOD(cuMemAlloc_v2(&to, 4096)); /* before the application loads a module */
	GOOD(cuStreamCreate(&stream, 1));
	GOOD(cuMemAllocAsync(&from, 4096, stream));
	GOOD(cuMemcpyHtoD_v2(to, &word, sizeof(word)));
	GOOD(cuModuleLoadData(&module, text));
	GOOD(cuModuleGetFunction(&kernel, module, "step_one"));
	for (int i = 0; i < n; i++)
		launch(to);
	use_graph(to);
	GOOD(cuCtxSynchronize());
	GOOD(cuMemcpyDtoH_v2(&word, to, sizeof(word)));
	use_events();
	copied = use_copies(from, to);
	GOOD(cuModuleUnload(module));
	GOOD(cuMemFreeAsync(from, stream));
	GOOD(cuMemFree_v2(to));
	GOOD(cuStreamDestroy_v2(stream));
	printf("word %u copied %u, and a copy of no memory is error %d\n", word, copied, cuMemcpy2D_v2(NULL));
	return 42;
}
