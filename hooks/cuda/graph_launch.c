/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Launches of CUDA graphs in an attached session. The driver does not list the kernels of an instantiated graph. So a
 * launch of a graph that is older than the attach counts as missed in a separate row. The kernels of newer graphs are
 * counted when they are recorded.
 */
#include "cuda.h"

#include <stdlib.h>

#include "hooks/records.h"

static const char row_name[] = "(CUDA graphs)";
static const char older_reason[] = "launches of CUDA graphs that were instantiated before the attach; their kernels are "
				   "unknown and unprobed; start the program with gpubpf run";

static GPUBPF_RECORDS(newer); /* graphs that were instantiated in this session */

static bool is_attached(void)
{
	return cuda_active() && gpubpf_hook_attached();
}

static CUresult note_instantiated(CUresult error, const CUgraphExec *ready)
{
	struct gpubpf_record *record = error || !ready || !is_attached() ? NULL : calloc(1, sizeof(*record));

	if (!record)
		return error;
	free(gpubpf_records_take(&newer, *ready)); /* a graph whose end no hook saw */
	gpubpf_records_add(&newer, *ready, record);
	return error;
}

#define INSTANTIATE(symbol, parameters, arguments) \
	CUresult symbol parameters \
	{ \
		if (!cuda_next_init() || !cuda_next.symbol) \
			return CUDA_ERROR_NOT_FOUND; \
		return note_instantiated(CUDA_HOST_CALL(GRAPH, symbol, arguments), ready); \
	}

#define OLD_PARAMETERS (CUgraphExec *ready, CUgraph graph, CUgraphNode *node, char *log, size_t size)

INSTANTIATE(cuGraphInstantiate, OLD_PARAMETERS, (ready, graph, node, log, size))
INSTANTIATE(cuGraphInstantiate_v2, OLD_PARAMETERS, (ready, graph, node, log, size))
INSTANTIATE(cuGraphInstantiateWithFlags, (CUgraphExec * ready, CUgraph graph, unsigned long long flags),
	    (ready, graph, flags))
INSTANTIATE(cuGraphInstantiateWithParams, (CUgraphExec * ready, CUgraph graph, void *how), (ready, graph, how))
INSTANTIATE(cuGraphInstantiateWithParams_ptsz, (CUgraphExec * ready, CUgraph graph, void *how), (ready, graph, how))

CUresult cuGraphExecDestroy(CUgraphExec ready)
{
	if (!cuda_next_init() || !cuda_next.cuGraphExecDestroy)
		return CUDA_ERROR_NOT_FOUND;
	free(gpubpf_records_take(&newer, ready));
	return CUDA_HOST_CALL(GRAPH, cuGraphExecDestroy, (ready));
}

static struct gpubpf_hook_device *device_of(CUstream stream)
{
	CUcontext context = NULL;
	CUgreenCtx green = NULL;

	if (!cuda_next.cuStreamGetCtx || cuda_next.cuStreamGetCtx(stream, &context, &green) || green)
		cuda_next.cuCtxGetCurrent(&context);
	return cuda_device_of(context);
}

static CUresult note_launched(CUresult error, CUgraphExec ready, CUstream stream)
{
	struct gpubpf_hook_device *device = error || !is_attached() || gpubpf_records_find(&newer, ready) ?
						    NULL :
						    device_of(stream);

	if (device)
		gpubpf_hook_count_unknown(device, row_name, older_reason);
	return error;
}

CUresult cuGraphLaunch(CUgraphExec ready, CUstream stream)
{
	return cuda_next_init() && cuda_next.cuGraphLaunch ?
		       note_launched(CUDA_HOST_CALL(GRAPH, cuGraphLaunch, (ready, stream), .stream = (uintptr_t)stream),
				     ready, stream) :
		       CUDA_ERROR_NOT_FOUND;
}

CUresult cuGraphLaunch_ptsz(CUgraphExec ready, CUstream stream)
{
	return cuda_next_init() && cuda_next.cuGraphLaunch_ptsz ?
		       note_launched(CUDA_HOST_CALL(GRAPH, cuGraphLaunch_ptsz, (ready, stream), .stream = (uintptr_t)stream),
				     ready, stream) :
		       CUDA_ERROR_NOT_FOUND;
}

static bool is_any(struct gpubpf_record *record, const void *unused)
{
	return true;
}

void cuda_graphs_forget(void)
{
	void *record;

	while ((record = gpubpf_records_take_if(&newer, is_any, NULL)))
		free(record);
}
