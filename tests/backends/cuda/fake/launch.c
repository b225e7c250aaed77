/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, launches and graphs of the fake driver. Every operation runs at once, except in a stream that is being
 * captured.
 */
#include "backends/cuda/wire/twin_format.h"
#include "fake.h"

#include <stdlib.h>
#include <string.h>

#define DEVICE_LAUNCH 4 /* CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH */

static struct CUstream_st *captured[16]; /* at this moment */

/* ---- streams ---- */

static CUresult create(CUstream *stream, bool blocking)
{
	struct CUstream_st *s = calloc(1, sizeof(*s));

	s->blocking = blocking;
	s->context = fake_current();
	s->life = s->context ? s->context->life : 0;
	*stream = s;
	return s->context ? 0 : FAKE_INVALID_CONTEXT;
}

FAKE_EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
	CUresult error = fake_check("cuStreamCreate");

	return error ? error : create(stream, !(flags & 1));
}

FAKE_EXPORT CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned flags, int priority)
{
	CUresult error = create(stream, !(flags & 1));

	(*stream)->context = (CUcontext)green;
	(*stream)->life = (*stream)->context->life;
	return error;
}

FAKE_EXPORT CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *green)
{
	CUcontext context = stream ? stream->context : fake_current();

	*green = context && context->sms ? (CUgreenCtx)context : NULL;
	return context ? 0 : FAKE_INVALID_CONTEXT;
}

FAKE_EXPORT CUresult cuStreamGetCtx_v2(CUstream stream, CUcontext *context, CUgreenCtx *green)
{
	*context = stream ? stream->context : fake_current();
	return cuStreamGetGreenCtx(stream, green);
}

FAKE_EXPORT CUresult cuStreamIsCapturing(CUstream stream, int *status)
{
	*status = stream && stream->capturing;
	return 0;
}

FAKE_EXPORT CUresult cuStreamIsCapturing_ptsz(CUstream stream, int *status)
{
	return cuStreamIsCapturing(stream, status);
}

FAKE_EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
	free(stream);
	return 0;
}

FAKE_EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
	CUresult error = fake_check("cuStreamSynchronize");

	if (error || (stream && !stream->blocking && !stream->capturing))
		return error;
	return fake_capture_rule(FAKE_CAPTURE_UNSUPPORTED);
}

FAKE_EXPORT CUresult cuStreamQuery(CUstream stream)
{
	return fake_check("cuStreamQuery");
}

static _Thread_local int capture_mode;

/*
 * Mode 0 is global, 1 thread-local, 2 relaxed. A real driver lifts some capture rules for the thread; the fake driver
 * does not check these rules.
 */
FAKE_EXPORT CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
	int old = capture_mode;

	capture_mode = *mode;
	*mode = old;
	return 0;
}

CUresult fake_capture_rule(CUresult error)
{
	bool any = false;

	for (int i = 0; i < 16; i++)
		any |= captured[i] && captured[i]->blocking;
	if (!any)
		return 0;
	fake_captures_break(error);
	return error;
}

void fake_captures_break(CUresult error)
{
	for (int i = 0; i < 16; i++)
		if (captured[i])
			captured[i]->invalid = error;
}

static CUresult begin_capture(CUstream stream, CUgraph graph)
{
	for (int i = 0; i < 16; i++)
		if (!captured[i]) {
			captured[i] = stream;
			stream->capturing = true;
			stream->invalid = 0;
			stream->graph = graph;
			return 0;
		}
	return FAKE_OUT_OF_MEMORY;
}

FAKE_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, int mode)
{
	return begin_capture(stream, calloc(1, sizeof(*stream->graph)));
}

/* Empties the graph and captures its kernels again. */
FAKE_EXPORT CUresult cuStreamBeginRecaptureToGraph(CUstream stream, int mode, CUgraph graph, void *differs, void *data)
{
	graph->nodes = NULL;
	return begin_capture(stream, graph);
}

FAKE_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	for (int i = 0; i < 16; i++)
		if (captured[i] == stream)
			captured[i] = NULL;
	stream->capturing = false;
	*graph = stream->invalid ? NULL : stream->graph;
	return stream->invalid ? FAKE_CAPTURE_INVALIDATED : 0;
}

static CUgraphNode append(CUgraph graph, const struct fake_launch *launch)
{
	CUgraphNode *at = &graph->nodes, node = calloc(1, sizeof(*node));

	while (*at)
		at = &(*at)->next;
	node->launch = *launch;
	*at = node;
	return node;
}

static CUresult enqueue(const struct fake_launch *launch, CUstream stream)
{
	if (stream && stream->capturing) {
		append(stream->graph, launch);
		return stream->invalid ? FAKE_CAPTURE_INVALIDATED : 0;
	}
	if (!stream && fake_capture_rule(FAKE_CAPTURE_IMPLICIT))
		return FAKE_CAPTURE_IMPLICIT;
	fake_run(launch);
	return launch->f ? launch->f->module->context->broken : 0;
}

FAKE_EXPORT CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags)
{
	struct fake_launch l = { .write_at = address, .write_value = value };
	CUresult error = fake_check("cuStreamWriteValue64_v2");

	return error ? error : enqueue(&l, stream);
}

FAKE_EXPORT CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr address, uint64_t value, unsigned flags)
{
	return cuStreamWriteValue64_v2(stream, address, value, flags);
}

/* ---- events: they have always happened ---- */

FAKE_EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags)
{
	CUresult error = fake_check("cuEventCreate");

	*event = error ? NULL : calloc(1, 1);
	return error;
}

FAKE_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
	return fake_check("cuEventRecord");
}

FAKE_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	return fake_check("cuStreamWaitEvent");
}

FAKE_EXPORT CUresult cuEventSynchronize(CUevent event)
{
	return fake_check("cuEventSynchronize");
}

FAKE_EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
	CUresult error = fake_check("cuEventDestroy_v2");

	free(event);
	return error;
}

/* ---- launches ---- */

static bool needs_attribute(const struct fake_entry *e)
{
	const char *at = e->from ? strstr(e->from, "//fake wants-14") : NULL;

	return at && at < e->to;
}

/* Is the entry a twin's form for one-dimensional launches only? */
static bool is_flat(const struct fake_entry *e)
{
	return strstr(e->name, CUDA_FLAT_SUFFIX);
}

static bool has_shape(const struct fake_entry *e, const unsigned *shape)
{
	return !is_flat(e) || (shape[1] == 1 && shape[2] == 1 && shape[4] == 1 && shape[5] == 1);
}

static bool fill(struct fake_launch *l, CUfunction f, const unsigned *shape, unsigned shared, void **params)
{
	uint64_t threads = (uint64_t)shape[3] * shape[4] * shape[5];

	*l = (struct fake_launch){ .f = fake_function(f) };
	if (!l->f || l->f->module->context != fake_current())
		return false;
	if (threads > 1024 || threads * l->f->entry->regs > FAKE_REGISTERS || !has_shape(l->f->entry, shape) ||
	    (int)shared > fake_shared_more(l->f) || (needs_attribute(l->f->entry) && !l->f->attribute[14]))
		return false;
	l->threads = threads * shape[0] * shape[1] * shape[2];
	l->target = params && params[0] ? *(uint64_t *)params[0] : 0;
	return true;
}

static CUresult launch_here(CUfunction f, const unsigned *shape, unsigned shared, CUstream stream, void **params,
			    bool cooperative)
{
	struct fake_launch l;
	CUresult error = fake_check("cuLaunchKernel");
	int blocks = 0;

	if (error)
		return error;
	if (!fill(&l, f, shape, shared, params))
		return fake_function(f) ? FAKE_TOO_MANY_RESOURCES : FAKE_INVALID_HANDLE;
	if (!strncmp(l.f->entry->name, "gpubpf_twin_", 12) && !fake_pinned_enough())
		return FAKE_NOT_SUPPORTED;
	cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, f, shape[3] * shape[4] * shape[5], shared);
	if (cooperative && shape[0] * shape[1] * shape[2] > (unsigned)(blocks * FAKE_SMS))
		return 720; /* CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE */
	return enqueue(&l, stream);
}

/* Launches in the stream's context, whichever context is current. */
static CUresult launch(CUfunction f, const unsigned *shape, unsigned shared, CUstream stream, void **params,
		       bool cooperative)
{
	CUresult error = stream ? fake_push(stream->context) : 0;
	CUcontext pushed;

	if (error)
		return error;
	error = launch_here(f, shape, shared, stream, params, cooperative);
	if (stream)
		cuCtxPopCurrent_v2(&pushed);
	return error;
}

FAKE_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
				    unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
	return launch(f, (unsigned[]){ gx, gy, gz, bx, by, bz }, shared, stream, params, false);
}

/* Calls another exported function, as NVIDIA's driver may do. */
FAKE_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
					 unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
	return cuLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra);
}

FAKE_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
					       unsigned by, unsigned bz, unsigned shared, CUstream stream, void **params)
{
	return launch(f, (unsigned[]){ gx, gy, gz, bx, by, bz }, shared, stream, params, true);
}

FAKE_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
						    unsigned by, unsigned bz, unsigned shared, CUstream stream,
						    void **params)
{
	return launch(f, (unsigned[]){ gx, gy, gz, bx, by, bz }, shared, stream, params, true);
}

FAKE_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *k, CUfunction f, void **params, void **extra)
{
	return launch(f, (unsigned[]){ k->gx, k->gy, k->gz, k->bx, k->by, k->bz }, k->shared, k->stream, params, false);
}

FAKE_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *k, CUfunction f, void **params, void **extra)
{
	return cuLaunchKernelEx(k, f, params, extra);
}

/* Always uses 64 threads per block; the fake driver ignores cuFuncSetBlockShape(). */
FAKE_EXPORT CUresult cuLaunchGrid(CUfunction f, int width, int height)
{
	return launch(f, (unsigned[]){ width, height, 1, 64, 1, 1 }, 0, NULL, NULL, false);
}

FAKE_EXPORT CUresult cuLaunch(CUfunction f)
{
	return cuLaunchGrid(f, 1, 1);
}

FAKE_EXPORT CUresult cuLaunchCooperativeKernelMultiDevice(struct cuda_launch *k, unsigned n, unsigned flags)
{
	CUresult error = 0;

	for (; n && !error; n--, k++)
		error = launch(k->f, (unsigned[]){ k->gx, k->gy, k->gz, k->bx, k->by, k->bz }, k->shared, k->stream,
			       k->params, true);
	return error;
}

/* ---- graphs ---- */

FAKE_EXPORT CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
	*graph = calloc(1, sizeof(**graph));
	return 0;
}

/* Does not free the nodes, because instantiated graphs share them. */
FAKE_EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
	free(graph);
	return 0;
}

static CUresult set_node(CUgraphNode node, const struct cuda_kernel_node *k, bool v2)
{
	CUfunction f = k->f || !v2 ? k->f : (CUfunction)k->kernel;
	unsigned shape[] = { k->gx, k->gy, k->gz, k->bx, k->by, k->bz };
	CUcontext context = fake_current();
	bool filled;

	if (f && f->kind == 'f')
		context = f->module->context;
	else if (v2 && k->context)
		context = k->context;
	if (fake_push(context))
		return FAKE_INVALID_CONTEXT;
	filled = fill(&node->launch, f, shape, k->shared, k->params);
	cuCtxPopCurrent_v2(&context);
	if (!filled)
		return FAKE_INVALID_VALUE;
	memcpy(&node->params, k, v2 ? sizeof(*k) : offsetof(struct cuda_kernel_node, kernel));
	node->arg = node->launch.target;
	node->args[0] = &node->arg;
	node->params.params = node->args;
	return 0;
}

static CUresult add_node(CUgraphNode *node, CUgraph graph, const struct cuda_kernel_node *k, bool v2)
{
	*node = append(graph, &(struct fake_launch){ 0 });
	return set_node(*node, k, v2);
}

FAKE_EXPORT CUresult cuGraphAddKernelNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t ndeps,
					  const struct cuda_kernel_node *kernel)
{
	return add_node(node, graph, kernel, false);
}

FAKE_EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t ndeps,
					     const struct cuda_kernel_node *kernel)
{
	return add_node(node, graph, kernel, true);
}

FAKE_EXPORT CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode node, struct cuda_kernel_node *params)
{
	*params = node->params;
	return 0;
}

FAKE_EXPORT CUresult cuGraphKernelNodeGetParams(CUgraphNode node, struct cuda_kernel_node *params)
{
	memcpy(params, &node->params, offsetof(struct cuda_kernel_node, kernel));
	return 0;
}

FAKE_EXPORT CUresult cuGraphNodeGetParams(CUgraphNode node, struct cuda_any_node *any)
{
	*any = (struct cuda_any_node){ .kernel = node->params };
	return 0;
}

FAKE_EXPORT CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode node, const struct cuda_kernel_node *params)
{
	return set_node(node, params, true);
}

FAKE_EXPORT CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const struct cuda_kernel_node *params)
{
	return set_node(node, params, false);
}

/* The executable graph is the graph itself. */
FAKE_EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *ready, CUgraph graph, unsigned long long flags)
{
	*ready = (CUgraphExec)graph;
	for (CUgraphNode node = graph->nodes; node && flags & DEVICE_LAUNCH; node = node->next)
		if (!node->launch.f)
			return FAKE_NOT_SUPPORTED;
	return 0;
}

FAKE_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec ready, CUgraphNode node,
						       const struct cuda_kernel_node *params)
{
	return set_node(node, params, true);
}

FAKE_EXPORT CUresult cuGraphExecKernelNodeSetParams(CUgraphExec ready, CUgraphNode node,
						    const struct cuda_kernel_node *params)
{
	return set_node(node, params, false);
}

/* Accepts only kernel nodes. */
FAKE_EXPORT CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t ndeps,
				    struct cuda_any_node *any)
{
	return graph && any && !any->type ? add_node(node, graph, &any->kernel, true) : FAKE_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuGraphNodeSetParams(CUgraphNode node, struct cuda_any_node *any)
{
	return node && any && !any->type ? set_node(node, &any->kernel, true) : FAKE_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuGraphExecNodeSetParams(CUgraphExec ready, CUgraphNode node, struct cuda_any_node *any)
{
	return ready ? cuGraphNodeSetParams(node, any) : FAKE_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	size_t i = 0;

	for (CUgraphNode node = graph->nodes; node; node = node->next, i++)
		if (nodes && i < *n)
			nodes[i] = node;
	*n = i;
	return 0;
}

FAKE_EXPORT CUresult cuGraphLaunch(CUgraphExec ready, CUstream stream)
{
	for (CUgraphNode node = ((CUgraph)ready)->nodes; node; node = node->next)
		fake_run(&node->launch);
	return 0;
}

FAKE_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec ready, CUstream stream)
{
	return cuGraphLaunch(ready, stream);
}

/* The executable graph is the graph, which cuGraphDestroy() frees. */
FAKE_EXPORT CUresult cuGraphExecDestroy(CUgraphExec ready)
{
	return ready ? 0 : FAKE_INVALID_VALUE;
}
