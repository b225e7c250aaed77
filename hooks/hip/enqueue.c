/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts every kind of kernel launch to a struct hip_call. A twin is always a function of a module. If the
 * application launches a registered kernel by the address of its host function, the agent launches the twin by the
 * equivalent call for module functions.
 */
#include "hip.h"

#include <string.h>

#define PER_THREAD ((hipStream_t)2) /* hipStreamPerThread */

static struct hip_call call_of(const void *f, dim3 grid, dim3 block, size_t shared, hipStream_t stream, void **params,
			       void **extra)
{
	return (struct hip_call){
		.f = f,
		.grid = { grid.x, grid.y, grid.z },
		.block = { block.x, block.y, block.z },
		.shared = shared,
		.stream = stream,
		.params = params,
		.extra = extra,
	};
}

/*
 * Data of hip_call.more, which depends on the kind of launch. It contains the runtime's function that launches the
 * original, and the arguments that are not in struct hip_call.
 */
struct more {
	hipError_t (*launch)(const void *, dim3, dim3, void **, size_t, hipStream_t);
	hipError_t (*cooperative)(const void *, dim3, dim3, void **, unsigned, hipStream_t);
	typeof(hip_next.hipExtModuleLaunchKernel) ext;
	typeof(hip_next.hcc_module_launch) hcc;
	hipStream_t stream; /* stream for the launch of a module's function */
	dim3 grid, block;   /* arguments as the application passed them */
	size_t shared;
	hipEvent_t start, stop;
	uint32_t flags;
	const char *function; /* name of the called function */
};

static hipError_t run_module(const struct hip_call *c, const void *f, void **params, void **extra)
{
	const struct more *m = c->more;

	return hip_next.hipModuleLaunchKernel((hipFunction_t)f, c->grid[0], c->grid[1], c->grid[2], c->block[0],
					      c->block[1], c->block[2], c->shared, m ? m->stream : c->stream, params,
					      extra);
}

hipError_t hipModuleLaunchKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
				 unsigned bz, unsigned shared, hipStream_t stream, void **params, void **extra)
{
	struct hip_call c = call_of(f, (dim3){ gx, gy, gz }, (dim3){ bx, by, bz }, shared, stream, params, extra);

	c.function = __func__;
	c.run = run_module;
	return hip_next_init() ? hip_launch(&c) : hipErrorNotFound;
}

/* ---- registered kernels ---- */

/*
 * Launch the twin during a stream capture. In a capture, HIP 5 records launches of registered kernels, but executes
 * launches of module functions at once. Therefore the agent adds the twin to the graph, as a node after the last
 * recorded node. Returns -1 if no capture is active.
 */
static hipError_t run_captured(const struct hip_call *c, const void *f, void **params)
{
	struct hip_kernel_node kernel = {
		.block = { c->block[0], c->block[1], c->block[2] },
		.grid = { c->grid[0], c->grid[1], c->grid[2] },
		.f = (void *)f,
		.params = params,
		.shared = c->shared,
	};
	const hipGraphNode_t *deps = NULL;
	hipGraph_t graph = NULL;
	hipGraphNode_t node;
	unsigned long long id;
	hipError_t error;
	size_t ndeps = 0;
	int capturing = 0;

	if ((uintptr_t)c->stream <= 1 || !hip_next.stream_capture || !hip_next.stream_depend)
		return -1;
	if (hip_next.stream_capture(c->stream, &capturing, &id, &graph, &deps, &ndeps) || !capturing)
		return -1;
	hip_twin_note_in_graph((void *)f);
	error = hip_next.hipGraphAddKernelNode(&node, graph, deps, ndeps, &kernel);
	return error ? error : hip_next.stream_depend(c->stream, &node, 1, 1 /* replace dependencies */);
}

static hipError_t run_registered(const struct hip_call *c, const void *f, void **params, void **extra)
{
	const struct more *m = c->more;
	hipError_t error;

	if (f == c->f)
		return m->launch(f, m->grid, m->block, params, m->shared, c->stream);
	error = run_captured(c, f, params);
	return error < 0 ? run_module(c, f, params, extra) : error;
}

static hipError_t launch_registered(typeof(hip_next.hipLaunchKernel) next, const void *f, dim3 grid, dim3 block,
				    void **args, size_t shared, hipStream_t stream, hipStream_t of_module,
				    const char *function)
{
	struct more more = { .launch = next, .stream = of_module, .grid = grid, .block = block, .shared = shared };
	struct hip_call c = call_of(f, grid, block, shared, stream, args, NULL);

	c.more = &more;
	c.function = function;
	c.run = run_registered;
	return next ? hip_launch(&c) : hipErrorNotFound;
}

hipError_t hipLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t stream)
{
	return launch_registered(hip_next_init() ? hip_next.hipLaunchKernel : NULL, f, grid, block, args, shared,
				 stream, stream, __func__);
}

hipError_t hipLaunchKernel_spt(const void *f, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t stream)
{
	return launch_registered(hip_next_init() ? hip_next.hipLaunchKernel_spt : NULL, f, grid, block, args, shared,
				 stream, stream ? stream : PER_THREAD, __func__);
}

/* ---- cooperative launches: if the runtime has no such call for module functions, the original runs ---- */

static hipError_t run_cooperative(const struct hip_call *c, const void *f, void **params, void **extra)
{
	const struct more *m = c->more;

	if (m->cooperative && f == c->f)
		return m->cooperative(f, m->grid, m->block, params, m->shared, c->stream);
	if (!hip_next.hipModuleLaunchCooperativeKernel)
		return hipErrorNotFound;
	return hip_next.hipModuleLaunchCooperativeKernel((hipFunction_t)f, c->grid[0], c->grid[1], c->grid[2], c->block[0],
							 c->block[1], c->block[2], c->shared, m->stream, params);
}

static hipError_t launch_cooperative(typeof(hip_next.hipLaunchCooperativeKernel) next, const void *f, dim3 grid,
				     dim3 block, void **args, unsigned shared, hipStream_t stream,
				     hipStream_t of_module, const char *function)
{
	struct more more = { .cooperative = next, .stream = of_module, .grid = grid, .block = block, .shared = shared };
	struct hip_call c = call_of(f, grid, block, shared, stream, args, NULL);

	c.more = &more;
	c.function = function;
	c.run = run_cooperative;
	return next ? hip_launch(&c) : hipErrorNotFound;
}

hipError_t hipLaunchCooperativeKernel(const void *f, dim3 grid, dim3 block, void **args, unsigned shared, hipStream_t stream)
{
	return launch_cooperative(hip_next_init() ? hip_next.hipLaunchCooperativeKernel : NULL, f, grid, block, args,
				  shared, stream, stream, __func__);
}

hipError_t hipLaunchCooperativeKernel_spt(const void *f, dim3 grid, dim3 block, void **args, unsigned shared,
					  hipStream_t stream)
{
	return launch_cooperative(hip_next_init() ? hip_next.hipLaunchCooperativeKernel_spt : NULL, f, grid, block,
				  args, shared, stream, stream ? stream : PER_THREAD, __func__);
}

hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
					    unsigned by, unsigned bz, unsigned shared, hipStream_t stream, void **params)
{
	struct more more = { .stream = stream };
	struct hip_call c = call_of(f, (dim3){ gx, gy, gz }, (dim3){ bx, by, bz }, shared, stream, params, NULL);

	c.function = __func__;
	c.more = &more;
	c.run = run_cooperative;
	return hip_next_init() ? hip_launch(&c) : hipErrorNotFound;
}

/*
 * ---- launches with events. For module functions, the grid counts threads. Before ROCm 6 the call is a C++ function.
 * ----
 */

static hipError_t run_ext(const struct hip_call *c, const void *f, void **params, void **extra)
{
	const struct more *m = c->more;
	uint32_t n[3];

	for (int i = 0; i < 3; i++)
		if (__builtin_mul_overflow(c->grid[i], c->block[i], &n[i]))
			return hipErrorNotFound;
	if (m->hcc)
		return m->hcc((hipFunction_t)f, n[0], n[1], n[2], c->block[0], c->block[1], c->block[2], c->shared,
			      c->stream, params, extra, m->start, m->stop);
	return m->ext ? m->ext((hipFunction_t)f, n[0], n[1], n[2], c->block[0], c->block[1], c->block[2], c->shared,
			       c->stream, params, extra, m->start, m->stop, m->flags) :
			hipErrorNotFound;
}

static hipError_t launch_ext(struct more *more, hipFunction_t f, dim3 threads, dim3 block, size_t shared,
			     hipStream_t stream, void **params, void **extra)
{
	dim3 grid = { block.x ? threads.x / block.x : 0, block.y ? threads.y / block.y : 0,
		      block.z ? threads.z / block.z : 0 };
	struct hip_call c = call_of(f, grid, block, shared, stream, params, extra);

	c.function = more->function;
	c.more = more;
	c.run = run_ext;
	if (grid.x * block.x == threads.x && grid.y * block.y == threads.y && grid.z * block.z == threads.z)
		return hip_launch(&c);
	/* The grid is no multiple of the block, and only the runtime knows how to handle that: launch the original. */
	return more->hcc ? more->hcc(f, threads.x, threads.y, threads.z, block.x, block.y, block.z, shared, stream,
				     params, extra, more->start, more->stop) :
			   more->ext(f, threads.x, threads.y, threads.z, block.x, block.y, block.z, shared, stream,
				     params, extra, more->start, more->stop, more->flags);
}

hipError_t hipExtModuleLaunchKernel(hipFunction_t f, uint32_t nx, uint32_t ny, uint32_t nz, uint32_t bx, uint32_t by,
				    uint32_t bz, size_t shared, hipStream_t stream, void **params, void **extra,
				    hipEvent_t start, hipEvent_t stop, uint32_t flags)
{
	struct more more = { .ext = hip_next_init() ? hip_next.hipExtModuleLaunchKernel : NULL,
			     .start = start,
			     .stop = stop,
			     .flags = flags,
			     .function = "hipExtModuleLaunchKernel" };

	return more.ext ?
		       launch_ext(&more, f, (dim3){ nx, ny, nz }, (dim3){ bx, by, bz }, shared, stream, params, extra) :
		       hipErrorNotFound;
}

hipError_t ext_module_launch(hipFunction_t f, uint32_t nx, uint32_t ny, uint32_t nz, uint32_t bx, uint32_t by,
			     uint32_t bz, size_t shared, hipStream_t stream, void **params, void **extra,
			     hipEvent_t start, hipEvent_t stop, uint32_t flags)
{
	struct more more = { .ext = hip_next_init() ? hip_next.ext_module_launch : NULL,
			     .start = start,
			     .stop = stop,
			     .flags = flags,
			     .function = "hipExtModuleLaunchKernel" };

	return more.ext ?
		       launch_ext(&more, f, (dim3){ nx, ny, nz }, (dim3){ bx, by, bz }, shared, stream, params, extra) :
		       hipErrorNotFound;
}

hipError_t hcc_module_launch(hipFunction_t f, uint32_t nx, uint32_t ny, uint32_t nz, uint32_t bx, uint32_t by,
			     uint32_t bz, size_t shared, hipStream_t stream, void **params, void **extra,
			     hipEvent_t start, hipEvent_t stop)
{
	struct more more = { .hcc = hip_next_init() ? hip_next.hcc_module_launch : NULL,
			     .start = start,
			     .stop = stop,
			     .function = "hipHccModuleLaunchKernel" };

	return more.hcc ?
		       launch_ext(&more, f, (dim3){ nx, ny, nz }, (dim3){ bx, by, bz }, shared, stream, params, extra) :
		       hipErrorNotFound;
}

static hipError_t run_ext_registered(const struct hip_call *c, const void *f, void **params, void **extra)
{
	const struct more *m = c->more;

	return f != c->f ? run_ext(c, f, params, extra) :
			   hip_next.hipExtLaunchKernel(f, m->grid, m->block, params, m->shared, c->stream, m->start,
						       m->stop, m->flags);
}

hipError_t hipExtLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, hipStream_t stream,
			      hipEvent_t start, hipEvent_t stop, int flags)
{
	struct more more = { .grid = grid, .block = block, .shared = shared, .start = start, .stop = stop, .flags = flags };
	struct hip_call c = call_of(f, grid, block, shared, stream, args, NULL);

	if (!hip_next_init())
		return hipErrorNotFound;
	more.ext = hip_next.hipExtModuleLaunchKernel ? hip_next.hipExtModuleLaunchKernel : hip_next.ext_module_launch;
	c.function = __func__;
	c.more = &more;
	c.run = run_ext_registered;
	return hip_launch(&c);
}

/* ---- kernel nodes of graphs: the node contains the twin, so each launch of the graph runs the twin ---- */

struct node {
	hipGraphNode_t *node, of;
	hipGraph_t graph;
	hipGraphExec_t exec;
	const hipGraphNode_t *deps;
	size_t ndeps;
	const struct hip_kernel_node *kernel;
};

/* Evaluates to the result of set_node() if the runtime has the function. Runs the programs of sections host/graph. */
#define NODE_CALL(name, n) \
	GPUBPF_HOST_CALL(hipError_t, hip_next_init() && hip_next.name ? set_node(n) : hipErrorNotFound, result, \
			 .event = GPUBPF_HOST_GRAPH, .function = #name)

static hipError_t run_node(const struct hip_call *c, const void *f, void **params, void **extra)
{
	const struct node *n = c->more;
	struct hip_kernel_node twin;
	const struct hip_kernel_node *kernel = n->kernel;

	if (f && f != c->f) {
		twin = *kernel;
		hip_twin_note_in_graph((void *)f);
		twin.f = (void *)f;
		twin.params = params;
		twin.extra = extra;
		kernel = &twin;
	}
	if (n->node)
		return hip_next.hipGraphAddKernelNode(n->node, n->graph, n->deps, n->ndeps, kernel);
	return n->exec ? hip_next.hipGraphExecKernelNodeSetParams(n->exec, n->of, kernel) :
			 hip_next.hipGraphKernelNodeSetParams(n->of, kernel);
}

static hipError_t set_node(const struct node *n)
{
	const struct hip_kernel_node *k = n->kernel;
	struct hip_call c = { .more = n, .run = run_node };

	if (!k)
		return run_node(&c, NULL, NULL, NULL); /* the runtime reports the error for a NULL pointer */
	c = call_of(hip_twin_original(k->f), k->grid, k->block, k->shared, NULL, k->params, k->extra);
	c.more = n;
	c.node = true;
	c.run = run_node;
	return hip_launch(&c);
}

hipError_t hipGraphAddKernelNode(hipGraphNode_t *node, hipGraph_t graph, const hipGraphNode_t *deps, size_t ndeps,
				 const struct hip_kernel_node *kernel)
{
	struct node n = { .node = node, .graph = graph, .deps = deps, .ndeps = ndeps, .kernel = kernel };

	return NODE_CALL(hipGraphAddKernelNode, &n);
}

hipError_t hipGraphKernelNodeSetParams(hipGraphNode_t node, const struct hip_kernel_node *kernel)
{
	struct node n = { .of = node, .kernel = kernel };

	return NODE_CALL(hipGraphKernelNodeSetParams, &n);
}

hipError_t hipGraphExecKernelNodeSetParams(hipGraphExec_t exec, hipGraphNode_t node, const struct hip_kernel_node *kernel)
{
	struct node n = { .of = node, .exec = exec, .kernel = kernel };

	return NODE_CALL(hipGraphExecKernelNodeSetParams, &n);
}

/* Report the original's handle to the application, not the twin's. */
hipError_t hipGraphKernelNodeGetParams(hipGraphNode_t node, struct hip_kernel_node *kernel)
{
	hipError_t error = hip_next_init() && hip_next.hipGraphKernelNodeGetParams ?
				   hip_next.hipGraphKernelNodeGetParams(node, kernel) :
				   hipErrorNotFound;

	if (!error)
		kernel->f = hip_twin_original(kernel->f);
	return error;
}
