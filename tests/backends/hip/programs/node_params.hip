/* SPDX-License-Identifier: Apache-2.0 */
/* Changes the kernel of a graph node: in the graph, and in the executable graph. */
#include "app.h"

extern "C" __global__ void add(uint32_t *data, uint32_t by)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] += by;
}

extern "C" __global__ void twice(uint32_t *data)
{
	data[blockIdx.x * blockDim.x + threadIdx.x] *= 2;
}

static void run(hipGraphExec_t exec, const char *kernel)
{
	GOOD(hipGraphLaunch(exec, nullptr));
	GOOD(hipDeviceSynchronize());
	app::kernels[kernel].items += 128;
}

int main()
{
	app::array<uint32_t> data(128, 1);
	hipKernelNodeParams params = {}, seen = {};
	hipGraphExec_t exec;
	hipGraphNode_t node;
	hipGraph_t graph;
	uint32_t by = 5;
	void *args[] = { &data.data, &by };

	params.func = reinterpret_cast<void *>(add);
	params.gridDim = dim3(2);
	params.blockDim = dim3(64);
	params.kernelParams = args;
	GOOD(hipGraphCreate(&graph, 0));
	GOOD(hipGraphAddKernelNode(&node, graph, nullptr, 0, &params));
	by = 9;
	GOOD(hipGraphKernelNodeSetParams(node, &params));
	GOOD(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	run(exec, "add");
	data.digest();
	by = 11;
	GOOD(hipGraphExecKernelNodeSetParams(exec, node, &params));
	run(exec, "add");
	data.digest();
	params.func = reinterpret_cast<void *>(twice);
	GOOD(hipGraphKernelNodeSetParams(node, &params));
	GOOD(hipGraphKernelNodeGetParams(node, &seen));
	printf("node %s\n", seen.func == reinterpret_cast<void *>(twice) ? "shows its kernel" : "shows another kernel");
	GOOD(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
	run(exec, "twice");
	data.digest();
	/* the agent counts each call that sets a node's kernel as a launch */
	app::kernels["add"].times = 3;
	app::kernels["twice"].times = 1;
	return app::done();
}
