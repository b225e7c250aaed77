/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios of graphs: captured streams, created and updated nodes, and launches of several shapes. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app.h"

void captured(void)
{
	CUgraphNode nodes[8];
	struct cuda_kernel_node params;
	CUdeviceptr word;
	CUmodule module;
	CUgraphExec ready;
	CUstream stream;
	CUgraph graph;
	CUfunction f;
	size_t n = 8;
	int twins = 0;

	begin(0);
	f = load(&module, "scale");
	word = new_word();
	GOOD(cuStreamCreate(&stream, 0));
	GOOD(cuStreamBeginCapture_v2(stream, 0));
	run(f, word, 3, stream); /* the first launch of the kernel: the session makes the twin during the capture */
	GOOD(cuStreamEndCapture(stream, &graph));
	GOOD(cuGraphGetNodes(graph, nodes, &n));
	for (size_t i = 0; i < n; i++) {
		GOOD(cu.cuGraphKernelNodeGetParams_v2(nodes[i], &params));
		twins += params.f && params.f != f;
	}
	printf("%zu nodes, with kernels that are not the program's: %d\n", n, twins);
	GOOD(cuGraphInstantiateWithFlags(&ready, graph, 4)); /* 4: the flag for launches by the device */
	for (int i = 0; i < 5; i++)
		GOOD(cuGraphLaunch(ready, stream));
	printf("word %u\n", *to_host(word));
	told("scale", 1, 5 * 3 * 64);
}

/*
 * Captures a stream for a long time, while the maps hold data that the agent has not copied yet. If again is true,
 * captures into an existing graph.
 */
static void capture_slowly(bool again)
{
	CUdeviceptr word;
	CUmodule module;
	CUgraphExec ready;
	CUstream stream;
	CUgraph graph;
	CUfunction f;

	begin(0);
	f = load(&module, "scale");
	word = new_word();
	GOOD(cuStreamCreate(&stream, 0));
	run(f, word, 3, stream);
	if (again) {
		GOOD(cuGraphCreate(&graph, 0));
		GOOD(cuStreamBeginRecaptureToGraph(stream, 0, graph, NULL, NULL));
	} else {
		GOOD(cuStreamBeginCapture_v2(stream, 0));
	}
	if (getenv("FAKE_CUDA_APP_CAPTURES")) {
		fclose(fopen(getenv("FAKE_CUDA_APP_CAPTURES"), "w"));
		wait_for(getenv("FAKE_CUDA_APP_WAITS"));
	} else {
		usleep(1500000);
	}
	run(f, word, 3, stream);
	GOOD(cuStreamEndCapture(stream, &graph));
	GOOD(cuGraphInstantiateWithFlags(&ready, graph, 0));
	GOOD(cuGraphLaunch(ready, stream));
	printf("word %u\n", *to_host(word));
	told("scale", 2, 2 * 3 * 64);
}

void slowly(void)
{
	capture_slowly(false);
}

void slowly_again(void)
{
	capture_slowly(true);
}

/* Adds and updates kernel nodes through the generic node functions, and calls these functions without a valid graph. */
static void any_nodes(CUfunction f, CUgraph graph, CUgraphExec ready, const struct cuda_kernel_node *params)
{
	struct cuda_any_node any = { .kernel = *params }, told;
	CUgraphNode node;

	any.kernel.f = f;
	any.kernel.gx = 1;
	GOOD(cuGraphAddNode(&node, graph, NULL, 0, &any));
	printf("of no graph: %d\n", cuGraphAddNode(&node, NULL, NULL, 0, &any));
	GOOD(cuGraphNodeGetParams(node, &told));
	printf("asked: %s\n", told.kernel.f == f ? "the function" : "another");
	any.kernel.gx = 7;
	printf("of none that is ready: %d\n", cuGraphExecNodeSetParams(NULL, node, &any));
	GOOD(cuGraphLaunch(ready, NULL));
	any.kernel.gx = 3;
	GOOD(cuGraphNodeSetParams(node, &any));
	GOOD(cuGraphLaunch(ready, NULL));
	any.kernel.gx = 5;
	GOOD(cuGraphExecNodeSetParams(ready, node, &any));
	GOOD(cuGraphLaunch(ready, NULL));
}

void nodes(void)
{
	CUdeviceptr word;
	void *args[] = { &word };
	struct cuda_kernel_node params = { .gx = 2, .gy = 1, .gz = 1, .bx = 64, .by = 1, .bz = 1, .params = args }, got;
	CUgraphNode first, second;
	CUfunction scale, other;
	CUgraphExec ready;
	CUmodule module;
	CUgraph graph;

	begin(0);
	scale = load(&module, "scale");
	GOOD(cu.cuModuleGetFunction(&other, module, "other"));
	word = new_word();
	GOOD(cuGraphCreate(&graph, 0));
	params.f = scale;
	GOOD(cu.cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &params));
	GOOD(cu.cuGraphAddKernelNode_v2(&second, graph, &first, 1, &params));
	GOOD(cu.cuGraphKernelNodeGetParams_v2(first, &got));
	printf("asked: %s\n", got.f == scale ? "scale" : "another");
	params.f = other;
	GOOD(cu.cuGraphKernelNodeSetParams_v2(second, &params));
	GOOD(cu.cuGraphKernelNodeGetParams_v2(second, &got));
	printf("asked: %s\n", got.f == other ? "other" : "another");
	GOOD(cuGraphInstantiateWithFlags(&ready, graph, 0));
	GOOD(cuGraphLaunch(ready, NULL));
	params.gx = 4;
	GOOD(cu.cuGraphExecKernelNodeSetParams_v2(ready, second, &params));
	GOOD(cuGraphLaunch(ready, NULL));
	any_nodes(scale, graph, ready, &params);
	printf("word %u\n", *to_host(word));
	told("scale", 5, 5 * 128 + (1 + 3 + 5) * 64);
	told("other", 2, 128 + 4 * 256);
}

/* Launches in one dimension and in more, directly and in graphs. */
static void launch_shapes(const char *name)
{
	static const unsigned shapes[][6] = {
		{ 2, 3, 1, 64, 1, 1 }, { 1, 1, 2, 64, 1, 1 }, { 1, 1, 1, 8, 8, 1 }, { 1, 1, 1, 8, 1, 8 }
	};
	CUdeviceptr word;
	void *args[] = { &word };
	struct cuda_kernel_node params = { .gx = 2, .gy = 1, .gz = 1, .bx = 64, .by = 1, .bz = 1, .params = args };
	CUgraphExec ready;
	CUgraphNode node;
	CUmodule module;
	CUstream stream;
	CUgraph graph;
	CUfunction f;

	begin(0);
	f = load(&module, name);
	word = new_word();
	for (int i = 0; i < 3; i++)
		run(f, word, 2, NULL);
	for (int i = 0; i < 4; i++)
		GOOD(cu.cuLaunchKernel(f, shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][3], shapes[i][4],
				       shapes[i][5], 0, NULL, args, NULL));
	GOOD(cuStreamCreate(&stream, 0));
	GOOD(cuStreamBeginCapture_v2(stream, 0));
	run(f, word, 2, stream);
	GOOD(cuStreamEndCapture(stream, &graph));
	params.f = f;
	GOOD(cu.cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	GOOD(cuGraphInstantiateWithFlags(&ready, graph, 0));
	GOOD(cuGraphLaunch(ready, stream));
	GOOD(cu.cuFuncSetAttribute(f, 8, 60000));
	GOOD(cu.cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 60000, NULL, args, NULL));
	run(f, word, 1, NULL);
	printf("word %u\n", *to_host(word));
	told(name, 11, (3 + 1) * 128 + 384 + 128 + 64 + 64 + 128 + 64 + 64);
}

void shapes(void)
{
	launch_shapes("shaped");
	launch_shapes("wider");
}
