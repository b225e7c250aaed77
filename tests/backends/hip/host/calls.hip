/* SPDX-License-Identifier: Apache-2.0 */
/* Makes calls of each section host/ to the HIP runtime. Prints what the kernel and the copies leave. */
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define N 64
#define GOOD(call) good(call, #call)

extern "C" __global__ void step_one(uint32_t *data)
{
	data[threadIdx.x] += 1;
}

static void good(hipError_t error, const char *what)
{
	if (error == hipSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, hipGetErrorString(error));
	exit(1);
}

static void use_graph(uint32_t *data, hipStream_t stream)
{
	hipKernelNodeParams params = {};
	hipGraphExec_t exec;
	hipGraphNode_t node;
	hipGraph_t graph;
	void *args[] = { &data };

	GOOD(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
	step_one<<<1, N, 0, stream>>>(data);
	GOOD(hipStreamEndCapture(stream, &graph));
	params.func = reinterpret_cast<void *>(step_one);
	params.gridDim = dim3(1);
	params.blockDim = dim3(N);
	params.kernelParams = args;
	GOOD(hipGraphAddKernelNode(&node, graph, nullptr, 0, &params));
	GOOD(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	GOOD(hipGraphLaunch(exec, stream));
	GOOD(hipStreamSynchronize(stream));
}

static void use_events(hipStream_t stream)
{
	hipEvent_t event;

	GOOD(hipEventCreateWithFlags(&event, hipEventDisableTiming));
	GOOD(hipEventRecord(event, stream));
	GOOD(hipStreamWaitEvent(stream, event, 0));
	GOOD(hipEventSynchronize(event));
	GOOD(hipEventDestroy(event));
}

int main(int, char **argv)
{
	uint32_t *data, *more, host[N] = {}, sum = 0;
	hipStream_t stream;
	hipModule_t module;

	GOOD(hipMalloc(reinterpret_cast<void **>(&data), sizeof(host)));
	GOOD(hipMalloc(reinterpret_cast<void **>(&more), 2 * sizeof(host)));
	GOOD(hipStreamCreate(&stream));
	GOOD(hipMemcpy(data, host, sizeof(host), hipMemcpyHostToDevice));
	for (int i = 0; i < 3; i++)
		step_one<<<1, N, 0, stream>>>(data);
	use_graph(data, stream);
	use_events(stream);
	GOOD(hipMemcpyAsync(more, data, sizeof(host), hipMemcpyDeviceToDevice, stream));
	GOOD(hipDeviceSynchronize());
	GOOD(hipMemcpyDtoH(host, reinterpret_cast<hipDeviceptr_t>(more), sizeof(host)));
	for (uint32_t v : host)
		sum += v;
	GOOD(hipModuleLoad(&module, argv[1]));
	GOOD(hipModuleUnload(module));
	GOOD(hipFree(more));
	GOOD(hipFree(data));
	printf("sum %u\n", sum);
	return 42;
}
