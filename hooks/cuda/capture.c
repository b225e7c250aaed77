/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts stream captures in progress. During a capture the agent must not wait for the context, because such a wait is
 * an error that invalidates the capture (CUDA driver API, cuStreamBeginCapture).
 */
#include "cuda.h"

static CUresult end_on_error(CUresult error)
{
	if (error)
		cuda_capture_end();
	return error;
}

#define BEGIN(symbol, parameters, arguments) \
	CUresult symbol parameters \
	{ \
		if (!cuda_next_init() || !cuda_next.symbol) \
			return CUDA_ERROR_NOT_FOUND; \
		cuda_capture_begin(); \
		return end_on_error(CUDA_HOST_CALL(GRAPH, symbol, arguments, .stream = (uintptr_t)stream)); \
	}

#define RECAPTURE_PARAMETERS (CUstream stream, int mode, CUgraph graph, void *differs, void *data)
#define TO_GRAPH_PARAMETERS (CUstream stream, CUgraph graph, const CUgraphNode *deps, const void *edges, size_t ndeps, int mode)

BEGIN(cuStreamBeginCapture, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCapture_ptsz, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCapture_v2, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCapture_v2_ptsz, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCaptureToGraph, TO_GRAPH_PARAMETERS, (stream, graph, deps, edges, ndeps, mode))
BEGIN(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH_PARAMETERS, (stream, graph, deps, edges, ndeps, mode))
BEGIN(cuStreamBeginRecaptureToGraph, RECAPTURE_PARAMETERS, (stream, mode, graph, differs, data))
BEGIN(cuStreamBeginRecaptureToGraph_ptsz, RECAPTURE_PARAMETERS, (stream, mode, graph, differs, data))
BEGIN(cuStreamBeginCaptureToCig, (CUstream stream, void *what), (stream, what))
BEGIN(cuStreamBeginCaptureToCig_ptsz, (CUstream stream, void *what), (stream, what))

/*
 * Count the end of a capture. If the stream captures nothing, or if the calling thread may not end the capture, the
 * call fails without ending a capture, so the count stays.
 */
static CUresult note_end(CUresult error)
{
	if (error != CUDA_ERROR_INVALID_VALUE && error != CUDA_ERROR_ILLEGAL_STATE &&
	    error != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED && error != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
		cuda_capture_end();
	return error;
}

#define END(symbol, parameters, arguments) \
	CUresult symbol parameters \
	{ \
		return cuda_next_init() && cuda_next.symbol ? \
			       note_end(CUDA_HOST_CALL(GRAPH, symbol, arguments, .stream = (uintptr_t)stream)) : \
			       CUDA_ERROR_NOT_FOUND; \
	}

END(cuStreamEndCapture, (CUstream stream, CUgraph *graph), (stream, graph))
END(cuStreamEndCapture_ptsz, (CUstream stream, CUgraph *graph), (stream, graph))
END(cuStreamEndCaptureToCig, (CUstream stream), (stream))
END(cuStreamEndCaptureToCig_ptsz, (CUstream stream), (stream))
