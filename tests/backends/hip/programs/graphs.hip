/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs: built of nodes whose parameters change, and captured from a stream. */
#include "app.h"

extern "C" __global__ void add(uint32_t *data, uint32_t by)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

extern "C" __global__ void twice(uint32_t *data)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] *= 2;
}

int main()
{
	app::array<uint32_t> data(128);
	hipKernelNodeParams params = {}, seen = {};
	hipGraphNode_t first, second;
	hipGraphExec_t run, recorded;
	hipStream_t stream;
	hipGraph_t graph, record;
	uint32_t by = 5;
	void *args[] = { &data.data, &by };

	GOOD(hipStreamCreate(&stream));
	GOOD(hipGraphCreate(&graph, 0));
	params.func = reinterpret_cast<void *>(add);
	params.gridDim = dim3(2);
	params.blockDim = dim3(64);
	params.kernelParams = args;
	GOOD(hipGraphAddKernelNode(&first, graph, nullptr, 0, &params));
	params.func = reinterpret_cast<void *>(twice);
	GOOD(hipGraphAddKernelNode(&second, graph, &first, 1, &params));
	GOOD(hipGraphInstantiate(&run, graph, nullptr, nullptr, 0));
	GOOD(hipGraphKernelNodeGetParams(first, &seen));
	printf("node %s\n", seen.func == reinterpret_cast<void *>(add) ? "shows its kernel" : "shows another kernel");
	for (int i = 0; i < 2; i++)
		GOOD(hipGraphLaunch(run, stream));
	GOOD(hipStreamSynchronize(stream));
	data.digest();

	GOOD(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	add<<<2, 64, 0, stream>>>(data.data, 9);
	twice<<<1, 128, 0, stream>>>(data.data);
	GOOD(hipStreamEndCapture(stream, &record));
	GOOD(hipGraphInstantiate(&recorded, record, nullptr, nullptr, 0));
	for (int i = 0; i < 3; i++)
		GOOD(hipGraphLaunch(recorded, stream));
	GOOD(hipStreamSynchronize(stream));
	data.digest();
	/* the agent counts each node as one launch; it runs as often as its graph */
	app::kernels["add"] = app::kernels["twice"] = { 2, 5 * 128 };
	return app::done();
}
