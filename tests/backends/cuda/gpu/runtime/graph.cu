/* SPDX-License-Identifier: Apache-2.0 */
/* Captures a graph from a stream and launches it repeatedly. */
#include "../threads.cuh"

__global__ void step(unsigned *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] += threadIdx.x;
}

int main()
{
	device_array<unsigned> out(1024);
	cudaGraphExec_t ready;
	cudaStream_t stream;
	cudaGraph_t graph;

	check(cudaStreamCreate(&stream));
	check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	for (int i = 0; i < 3; i++)
		step<<<8, 128, 0, stream>>>(out.data);
	check(cudaStreamEndCapture(stream, &graph));
	check(cudaGraphInstantiate(&ready, graph, 0));
	for (int i = 0; i < 5; i++)
		check(cudaGraphLaunch(ready, stream));
	return report(out.digest(), 3 * 5 * 1024);
}
