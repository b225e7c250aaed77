/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kernel without early exits and barriers, launched in one and in more dimensions, directly and by graphs
 * whose nodes get another shape later. Prints "shapes BEGUN ENDED STORED": the number of blocks that begin
 * and end, and the sum of the values that the last thread of each block stored. This thread finishes last.
 */
#include "../threads.cuh"

__global__ void last_is_slow(unsigned *out)
{
	unsigned threads = blockDim.x * blockDim.y * blockDim.z;
	unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
	unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
	unsigned x = block * threads + thread;

	for (unsigned k = 0; k < 8 * thread; k++)
		x = x * 1664525 + 1013904223;
	out[block * threads + thread] = x % 1000 + 1;
}

static device_array<unsigned> *out;
static uint64_t digest = 14695981039346656037u;
static unsigned long long begun, stored, threads;

/* Adds up the result of the last launch and clears the array. */
static void look(dim3 grid, dim3 block)
{
	unsigned blocks = grid.x * grid.y * grid.z, size = block.x * block.y * block.z;
	std::vector<unsigned> host(blocks * size);

	check(cudaDeviceSynchronize());
	check(cudaMemcpy(host.data(), out->data, host.size() * sizeof(unsigned), cudaMemcpyDeviceToHost));
	digest = out->digest(digest);
	for (unsigned b = 1; b <= blocks; b++)
		stored += host[b * size - 1];
	begun += blocks;
	threads += host.size();
	check(cudaMemset(out->data, 0, out->n * sizeof(unsigned)));
}

static void plainly(dim3 grid, dim3 block)
{
	last_is_slow<<<grid, block>>>(out->data);
	look(grid, block);
}

static void by_graph(dim3 grid, dim3 block, dim3 later_grid, dim3 later_block)
{
	cudaKernelNodeParams node = {};
	cudaGraphNode_t made;
	cudaGraphExec_t ready;
	cudaGraph_t graph;
	void *args[] = { &out->data };

	node.func = (void *)last_is_slow;
	node.gridDim = grid;
	node.blockDim = block;
	node.kernelParams = args;
	check(cudaGraphCreate(&graph, 0));
	check(cudaGraphAddKernelNode(&made, graph, NULL, 0, &node));
	check(cudaGraphInstantiate(&ready, graph, 0));
	check(cudaGraphLaunch(ready, 0));
	look(grid, block);
	node.gridDim = later_grid;
	node.blockDim = later_block;
	check(cudaGraphExecKernelNodeSetParams(ready, made, &node));
	check(cudaGraphLaunch(ready, 0));
	look(later_grid, later_block);
}

int main()
{
	device_array<unsigned> all(1 << 20);

	out = &all;
	for (unsigned size : { 256, 100, 1, 33, 32, 31, 64, 1024 })
		plainly(300, size);
	plainly(dim3(20, 15), 256);
	plainly(dim3(5, 3, 20), dim3(8, 4, 3));
	plainly(300, dim3(1, 96));
	plainly(dim3(1, 1, 300), dim3(16, 1, 5));
	plainly(300, 256);
	by_graph(300, 256, dim3(20, 15), dim3(8, 8, 4));
	by_graph(dim3(20, 15), dim3(8, 8, 4), 300, 256);
	printf("shapes %llu %llu %llu\n", begun, begun, stored);
	return report(digest, threads);
}
