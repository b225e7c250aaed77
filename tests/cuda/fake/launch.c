/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, launches and graphs. Every operation runs at once, except in a captured stream. */
#include "backends/cuda/wire/twin_format.h"
#include "fake.h"

#include <ctype.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "maps/host/host.h"
#include "tests/hooks/fake_tool.h"

#define DEVICE_LAUNCH 4 /* CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH */

static struct CUstream_st *captured[16]; /* at this moment */

/* ---- kernels ---- */

static uint64_t word(CUmodule m, const char *name)
{
	uint64_t at = fake_variable(m, name);

	return at ? *(uint64_t *)at : 0;
}

/* The variable's address; in a twin, the application's address that the agent wrote into the twin. */
static uint64_t variable(CUmodule m, const char *name)
{
	uint64_t own = fake_variable(m, name);
	const char *at = m->image.text;
	char line[128], bind[40];

	for (unsigned i = 0; !own && !strncmp(at, "//gpubpf-bind ", 14); i++, at += strcspn(at, "\n") + 1) {
		snprintf(line, sizeof(line), "%.*s", (int)strcspn(at + 14, "\n"), at + 14);
		snprintf(bind, sizeof(bind), "gpubpf_bind_%u", i);
		if (!strcmp(line, name))
			own = word(m, bind);
	}
	return own;
}

static void add32(uint64_t at, uint64_t n)
{
	if (at)
		__atomic_fetch_add((uint32_t *)at, n, __ATOMIC_RELAXED);
}

static void add_count(CUmodule m, int index, uint64_t threads, bool flat)
{
	uint64_t arena = word(m, "gpubpf_arena");
	struct fake_count *count = (void *)(arena + FAKE_COUNTS + index * sizeof(*count));

	if (!arena)
		abort();
	__atomic_fetch_add(&count->entries, threads, __ATOMIC_RELAXED);
	__atomic_fetch_add(&count->exits, flat ? 0 : threads, __ATOMIC_RELAXED);
	count->last_launch = word(m, "gpubpf_launch");
	if (!(word(m, "gpubpf_pid") >> 32))
		abort();
}

/* Emits the events of bench/probes.bpf.c: 16 bytes per thread, with the blocks on consecutive multiprocessors. */
static void emit_events(uint64_t arena, const struct gpubpf_map_layout *l, uint64_t threads)
{
	struct gpubpf_host_thread at = { .dims = 1 };
	struct gpubpf_env env = { .arena = arena };

	gpubpf_host_thread_set(&at);
	for (uint64_t i = 0; i < threads; i++) {
		uint64_t event[] = { i, i / 64 };

		at.sm = event[1] % FAKE_SMS;
		gpubpf_ring_output(&env, GPUBPF_LAYOUT_PASS(l), (const uint8_t *)event, sizeof(event));
	}
	gpubpf_host_thread_set(NULL);
}

/* Does the text hold this number as a separate word? */
static bool has_number(const char *text, const char *end, uint64_t number)
{
	char digits[24];
	size_t n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)number);

	for (const char *at = text; (at = memmem(at, end - at, digits, n)); at += n)
		if (!isdigit(at[-1]) && !isdigit(at[n]))
			return true;
	return false;
}

/* If a map is placed outside the arena, its layout holds the device address. */
static uint64_t value_at(uint64_t arena, const struct gpubpf_map_layout *l)
{
	return l->flags & GPUBPF_LAYOUT_PLACED ? l->data : arena + l->data;
}

/* Runs the programs of bench/probes.bpf.c. The counter adds to the first value of the arena's first
 * map, or of each array whose arena offset the code names. */
static void run_probe(CUmodule m, const char *text, const char *end, uint64_t threads)
{
	uint64_t arena = word(m, "gpubpf_arena");
	const struct gpubpf_map_layout *l = (void *)(arena + GPUBPF_ARENA_MAPS);

	if (arena && l->type == BPF_MAP_TYPE_RINGBUF) {
		emit_events(arena, l, threads);
		return;
	}
	for (uint32_t i = 0; arena && l[i].type; i++)
		if (!l[1].type || (l[i].type == BPF_MAP_TYPE_ARRAY && has_number(text, end, l[i].data)))
			__atomic_fetch_add((uint64_t *)value_at(arena, &l[i]), threads, __ATOMIC_RELAXED);
}

/* A twin defines only the functions that its kernel calls. */
static void count_calls(CUmodule m, uint64_t threads)
{
	for (const char *at = m->image.text; (at = strstr(at, "//fake calls ")); at++) {
		const char *from = at, *end = strstr(at, "\n}");

		while (strncmp(from, ".func ", 6))
			from--;
		if (end && memmem(from, end - from, "gpubpf_arena", 12))
			run_probe(m, from, end, threads * atoi(at + 13));
	}
}

/* The agent's kernel that reads the device's clock. */
static void read_clock(uint64_t to)
{
	const char *drift = getenv("FAKE_CUDA_DRIFT");
	struct timespec ts;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	now = ts.tv_sec * 1000000000ull + ts.tv_nsec;
	*(uint64_t *)to = now + now / 1000000 * (drift ? atoi(drift) : 0);
}

void fake_run(const struct fake_launch *l)
{
	const char *at, *to;
	char name[64];

	if (!l->f) {
		*(uint64_t *)l->write_at = l->write_value;
		return;
	}
	if (!strcmp(l->f->entry->name, "gpubpf_clock"))
		read_clock(l->target);
	if (!strncmp(l->f->entry->name, "gpubpf_twin_", 12))
		count_calls(l->f->module, l->threads);
	at = l->f->entry->from;
	to = l->f->entry->to;
	while ((at = strstr(at, "//fake ")) && at < to) {
		at += 7;
		if (!strncmp(at, "param", 5))
			add32(l->target, l->threads);
		else if (!strncmp(at, "counter", 7) && !strstr(l->f->module->image.text, "//fake count "))
			run_probe(l->f->module, l->f->entry->from, l->f->entry->to, l->threads);
		else if (!strncmp(at, "forever", 7))
			for (;;)
				pause();
		else if (!strncmp(at, "fault", 5))
			l->f->module->context->broken = FAKE_ILLEGAL_ADDRESS;
		else if (!strncmp(at, "count ", 6))
			add_count(l->f->module, atoi(at + 6), l->threads, false);
		else if (!strncmp(at, "flat ", 5))
			add_count(l->f->module, atoi(at + 5), l->threads, true);
		else if (sscanf(at, "add %63s", name) == 1)
			add32(variable(l->f->module, name), l->threads);
	}
}

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
	return create(stream, !(flags & 1));
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

/* 0 global, 1 thread-local, 2 relaxed: lifts some rules for the thread, but this driver checks no such rule */
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

/* Captures the same kernels once more. */
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

/* ---- launches ---- */

static bool needs_attribute(const struct fake_entry *e)
{
	const char *at = e->from ? strstr(e->from, "//fake wants-14") : NULL;

	return at && at < e->to;
}

/* Is this a form for one-dimensional launches only? */
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
	if (threads > 1024 || threads * l->f->entry->regs > FAKE_REGISTERS ||
	    !has_shape(l->f->entry, shape) || (int)shared > fake_shared_more(l->f) || (needs_attribute(l->f->entry) && !l->f->attribute[14]))
		return false;
	l->threads = threads * shape[0] * shape[1] * shape[2];
	l->target = params && params[0] ? *(uint64_t *)params[0] : 0;
	return true;
}

static CUresult launch_here(CUfunction f, const unsigned *shape, unsigned shared, CUstream stream,
			    void **params, bool cooperative)
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

FAKE_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			unsigned shared, CUstream stream, void **params, void **extra)
{
	return launch(f, (unsigned[]){ gx, gy, gz, bx, by, bz }, shared, stream, params, false);
}

FAKE_EXPORT CUresult cuLaunchKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			     unsigned bz, unsigned shared, CUstream stream, void **params, void **extra)
{
	return launch(f, (unsigned[]){ gx, gy, gz, bx, by, bz }, shared, stream, params, false);
}

FAKE_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
				   unsigned bz, unsigned shared, CUstream stream, void **params)
{
	return launch(f, (unsigned[]){ gx, gy, gz, bx, by, bz }, shared, stream, params, true);
}

FAKE_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
					unsigned bz, unsigned shared, CUstream stream, void **params)
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

/* Uses 64 threads per block, whatever cuFuncSetBlockShape() set. */
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
		error = launch(k->f, (unsigned[]){ k->gx, k->gy, k->gz, k->bx, k->by, k->bz }, k->shared, k->stream, k->params, true);
	return error;
}

/* ---- graphs ---- */

FAKE_EXPORT CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
	*graph = calloc(1, sizeof(**graph));
	return 0;
}

/* Keeps the nodes, because instantiated graphs share them. */
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

FAKE_EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec ready, CUgraphNode node, const struct cuda_kernel_node *params)
{
	return set_node(node, params, true);
}

FAKE_EXPORT CUresult cuGraphExecKernelNodeSetParams(CUgraphExec ready, CUgraphNode node, const struct cuda_kernel_node *params)
{
	return set_node(node, params, false);
}

/* Accepts only kernel nodes. */
FAKE_EXPORT CUresult cuGraphAddNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *deps, size_t ndeps, struct cuda_any_node *any)
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
