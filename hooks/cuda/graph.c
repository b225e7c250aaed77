/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel nodes of CUDA graphs. The agent puts the twin into the node, so each launch of the graph runs the twin. If the
 * application queries the kernel of a node, the agent reports the original, also for nodes of captured launches.
 */
#include "cuda.h"

/*
 * A call that adds or sets one kernel node. `next` is the driver's function, and the other members are its arguments.
 */
struct node {
	const struct cuda_kernel_node *kernel;
	bool v2; /* version 2 of the call: *kernel has all members of struct cuda_kernel_node */
	CUresult (*next)(const struct node *n, const struct cuda_kernel_node *kernel);
	CUgraphNode *made, node;
	CUgraph graph;
	CUgraphExec ready;
	const CUgraphNode *deps;
	const void *edges;
	size_t ndeps;
	struct cuda_any_node *any;
	CUresult (*next_any)(const struct node *n, struct cuda_any_node *any);
};

/* Evaluates to `call` if the driver has the function. Runs the programs of sections host/graph. */
#define NODE_CALL(symbol, call) \
	GPUBPF_HOST_CALL(CUresult, cuda_next_init() && cuda_next.symbol ? (call) : CUDA_ERROR_NOT_FOUND, result, \
			 .event = GPUBPF_HOST_GRAPH, .function = #symbol)

static CUresult run_node(const struct cuda_call *c, CUfunction f)
{
	const struct node *n = c->arguments;
	struct cuda_kernel_node twin = {
		f, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1], c->block[2], c->shared,
	};

	if (f == c->f)
		return n->next(n, n->kernel);
	twin.params = n->kernel->params;
	twin.extra = n->kernel->extra;
	return n->next(n, &twin);
}

static CUresult add_or_set_node(const struct node *n)
{
	const struct cuda_kernel_node *k = n->kernel;
	struct cuda_call c = { .arguments = n, .run = run_node, .node = true };

	if (!k) /* the driver reports the error for NULL parameters */
		return n->next(n, k);
	c.f = k->f || !n->v2 ? k->f : (CUfunction)k->kernel;
	c.context = k->f || !n->v2 ? NULL : k->context;
	c.grid[0] = k->gx;
	c.grid[1] = k->gy;
	c.grid[2] = k->gz;
	c.block[0] = k->bx;
	c.block[1] = k->by;
	c.block[2] = k->bz;
	c.shared = k->shared;
	return c.f ? cuda_launch(&c) : n->next(n, k);
}

/* ---- adding nodes ---- */

static CUresult add_v1(const struct node *n, const struct cuda_kernel_node *kernel)
{
	return cuda_next.cuGraphAddKernelNode(n->made, n->graph, n->deps, n->ndeps, kernel);
}

static CUresult add_v2(const struct node *n, const struct cuda_kernel_node *kernel)
{
	return cuda_next.cuGraphAddKernelNode_v2(n->made, n->graph, n->deps, n->ndeps, kernel);
}

CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t ndeps,
			      const struct cuda_kernel_node *kernel)
{
	struct node n = { kernel, false, add_v1, .made = node, .graph = graph, .deps = deps, .ndeps = ndeps };

	return NODE_CALL(cuGraphAddKernelNode, add_or_set_node(&n));
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t ndeps,
				 const struct cuda_kernel_node *kernel)
{
	struct node n = { kernel, true, add_v2, .made = node, .graph = graph, .deps = deps, .ndeps = ndeps };

	return NODE_CALL(cuGraphAddKernelNode_v2, add_or_set_node(&n));
}

/* ---- setting a node's kernel ---- */

static CUresult set_v1(const struct node *n, const struct cuda_kernel_node *kernel)
{
	return cuda_next.cuGraphKernelNodeSetParams(n->node, kernel);
}

static CUresult set_v2(const struct node *n, const struct cuda_kernel_node *kernel)
{
	return cuda_next.cuGraphKernelNodeSetParams_v2(n->node, kernel);
}

static CUresult exec_v1(const struct node *n, const struct cuda_kernel_node *kernel)
{
	return cuda_next.cuGraphExecKernelNodeSetParams(n->ready, n->node, kernel);
}

static CUresult exec_v2(const struct node *n, const struct cuda_kernel_node *kernel)
{
	return cuda_next.cuGraphExecKernelNodeSetParams_v2(n->ready, n->node, kernel);
}

CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const struct cuda_kernel_node *kernel)
{
	struct node n = { kernel, false, set_v1, .node = node };

	return NODE_CALL(cuGraphKernelNodeSetParams, add_or_set_node(&n));
}

CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const struct cuda_kernel_node *kernel)
{
	struct node n = { kernel, true, set_v2, .node = node };

	return NODE_CALL(cuGraphKernelNodeSetParams_v2, add_or_set_node(&n));
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec ready, CUgraphNode node, const struct cuda_kernel_node *kernel)
{
	struct node n = { kernel, false, exec_v1, .node = node, .ready = ready };

	return NODE_CALL(cuGraphExecKernelNodeSetParams, add_or_set_node(&n));
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec ready, CUgraphNode node, const struct cuda_kernel_node *kernel)
{
	struct node n = { kernel, true, exec_v2, .node = node, .ready = ready };

	return NODE_CALL(cuGraphExecKernelNodeSetParams_v2, add_or_set_node(&n));
}

/* ---- calls for nodes of any type: the driver gets a copy of the parameters in which the kernel is the twin ---- */

static CUresult add_any(const struct node *n, struct cuda_any_node *any)
{
	return cuda_next.cuGraphAddNode(n->made, n->graph, n->deps, n->ndeps, any);
}

static CUresult add_any_v2(const struct node *n, struct cuda_any_node *any)
{
	return cuda_next.cuGraphAddNode_v2(n->made, n->graph, n->deps, n->edges, n->ndeps, any);
}

static CUresult set_any(const struct node *n, struct cuda_any_node *any)
{
	return cuda_next.cuGraphNodeSetParams(n->node, any);
}

static CUresult exec_any(const struct node *n, struct cuda_any_node *any)
{
	return cuda_next.cuGraphExecNodeSetParams(n->ready, n->node, any);
}

static CUresult call_any(const struct node *n, const struct cuda_kernel_node *kernel)
{
	struct cuda_any_node copy;

	if (kernel == n->kernel)
		return n->next_any(n, n->any);
	copy = *n->any;
	copy.kernel = *kernel;
	return n->next_any(n, &copy);
}

static CUresult handle_any_node(struct node *n)
{
	if (!n->any || n->any->type)
		return n->next_any(n, n->any);
	n->kernel = &n->any->kernel;
	n->v2 = true;
	n->next = call_any;
	return add_or_set_node(n);
}

CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t ndeps, struct cuda_any_node *any)
{
	struct node n = { .any = any, .next_any = add_any, .made = node, .graph = graph, .deps = deps, .ndeps = ndeps };

	return NODE_CALL(cuGraphAddNode, handle_any_node(&n));
}

CUresult cuGraphAddNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, const void *edges, size_t ndeps,
			   struct cuda_any_node *any)
{
	struct node n = {
		.any = any, .next_any = add_any_v2, .made = node, .graph = graph, .deps = deps, .ndeps = ndeps, .edges = edges
	};

	return NODE_CALL(cuGraphAddNode_v2, handle_any_node(&n));
}

CUresult cuGraphNodeSetParams(CUgraphNode node, struct cuda_any_node *any)
{
	struct node n = { .any = any, .next_any = set_any, .node = node };

	return NODE_CALL(cuGraphNodeSetParams, handle_any_node(&n));
}

CUresult cuGraphExecNodeSetParams(CUgraphExec ready, CUgraphNode node, struct cuda_any_node *any)
{
	struct node n = { .any = any, .next_any = exec_any, .node = node, .ready = ready };

	return NODE_CALL(cuGraphExecNodeSetParams, handle_any_node(&n));
}

/* ---- querying nodes ---- */

/*
 * Replace the twin by the original in the queried parameters. The driver reports a library's kernel either in `f` or in
 * `kernel`. To find out which, the agent adds a node of the original to a temporary graph and queries that node.
 */
static void report_original(struct cuda_kernel_node *kernel, const struct cuda_twin_handle *t)
{
	const struct cuda_function *f = t->original;
	struct cuda_kernel_node own = *kernel, reported;
	CUgraphNode node;
	CUgraph graph;

	own.f = cuda_function_in_context(f, t->context);
	own.kernel = NULL;
	kernel->f = own.f;
	kernel->kernel = f->is_kernel ? f->base.handle : NULL;
	if (!cuda_next.cuGraphAddKernelNode_v2 || !cuda_next.cuGraphCreate || cuda_next.cuGraphCreate(&graph, 0))
		return;
	if (!cuda_next.cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &own) &&
	    !cuda_next.cuGraphKernelNodeGetParams_v2(node, &reported)) {
		kernel->f = reported.f;
		kernel->kernel = reported.kernel;
		kernel->context = reported.context;
	}
	cuda_next.cuGraphDestroy(graph);
}

static const struct cuda_twin_handle *twin_of(CUresult error, const struct cuda_kernel_node *kernel)
{
	return error || !cuda_active() ? NULL : cuda_twin_find(kernel->f);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, struct cuda_kernel_node *kernel)
{
	CUresult error = cuda_next_init() && cuda_next.cuGraphKernelNodeGetParams ?
				 cuda_next.cuGraphKernelNodeGetParams(node, kernel) :
				 CUDA_ERROR_NOT_FOUND;
	const struct cuda_twin_handle *t = twin_of(error, kernel);

	if (t)
		kernel->f = cuda_function_in_context(t->original, t->context);
	return error;
}

CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, struct cuda_kernel_node *kernel)
{
	CUresult error = cuda_next_init() && cuda_next.cuGraphKernelNodeGetParams_v2 ?
				 cuda_next.cuGraphKernelNodeGetParams_v2(node, kernel) :
				 CUDA_ERROR_NOT_FOUND;
	const struct cuda_twin_handle *t = twin_of(error, kernel);

	if (t)
		report_original(kernel, t);
	return error;
}

CUresult cuGraphNodeGetParams(CUgraphNode node, struct cuda_any_node *any)
{
	CUresult error = cuda_next_init() && cuda_next.cuGraphNodeGetParams ? cuda_next.cuGraphNodeGetParams(node, any) :
									      CUDA_ERROR_NOT_FOUND;
	const struct cuda_twin_handle *t = error || any->type ? NULL : twin_of(error, &any->kernel);

	if (t)
		report_original(&any->kernel, t);
	return error;
}
