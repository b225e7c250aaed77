/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of explicit kernel nodes, whose parameters are read, and set before and after instantiation. */
#include "../threads.cuh"

__global__ void add(unsigned *out, unsigned by)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

__global__ void triple(unsigned *out, unsigned)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] *= 3;
}

static void expect(bool right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "%s\n", what);
	exit(2);
}

int main()
{
	device_array<unsigned> out(1024);
	unsigned by = 5;
	void *args[] = { &out.data, &by };
	cudaKernelNodeParams params = {}, got;
	cudaGraphNode_t first, second;
	cudaGraphExecUpdateResultInfo info;
	cudaGraphExec_t ready;
	cudaGraph_t graph;

	params.func = (void *)add;
	params.gridDim = dim3(8);
	params.blockDim = dim3(128);
	params.kernelParams = args;
	check(cudaGraphCreate(&graph, 0));
	check(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &params));
	check(cudaGraphAddKernelNode(&second, graph, &first, 1, &params));
	check(cudaGraphKernelNodeGetParams(first, &got));
	expect(got.func == (void *)add, "the node's function is not the one that it was made with");
	params.func = (void *)triple;
	check(cudaGraphKernelNodeSetParams(second, &params));
	check(cudaGraphKernelNodeGetParams(second, &got));
	expect(got.func == (void *)triple, "the node's function is not the one that was set");
	check(cudaGraphInstantiate(&ready, graph, 0));
	check(cudaGraphLaunch(ready, 0));
	by = 11;
	params.func = (void *)add;
	check(cudaGraphExecKernelNodeSetParams(ready, first, &params));
	check(cudaGraphLaunch(ready, 0));
	check(cudaGraphKernelNodeSetParams(first, &params));
	check(cudaGraphExecUpdate(ready, graph, &info));
	check(cudaGraphLaunch(ready, 0));
	return report(out.digest(), 3 * 2 * 1024);
}
