/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams that are being captured. To wait for their context is an error then, and one that the capture does not
 * survive (CUDA driver API, cuStreamBeginCapture), so our own waits stay out of its way.
 */
#include "cuda.h"

static CUresult began(CUresult error)
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
		return began(cuda_next.symbol arguments); \
	}

#define TO_GRAPH (CUstream stream, CUgraph graph, const CUgraphNode *deps, const void *edges, size_t ndeps, int mode)

BEGIN(cuStreamBeginCapture, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCapture_ptsz, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCapture_v2, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCapture_v2_ptsz, (CUstream stream, int mode), (stream, mode))
BEGIN(cuStreamBeginCaptureToGraph, TO_GRAPH, (stream, graph, deps, edges, ndeps, mode))
BEGIN(cuStreamBeginCaptureToGraph_ptsz, TO_GRAPH, (stream, graph, deps, edges, ndeps, mode))

/* It goes on where the call was none of its own: another stream, or a thread that may not end it. */
static CUresult ended(CUresult error)
{
	if (error != CUDA_ERROR_INVALID_VALUE && error != CUDA_ERROR_ILLEGAL_STATE &&
	    error != CUDA_ERROR_STREAM_CAPTURE_UNMATCHED && error != CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD)
		cuda_capture_end();
	return error;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	return cuda_next_init() && cuda_next.cuStreamEndCapture ? ended(cuda_next.cuStreamEndCapture(stream, graph)) :
								 CUDA_ERROR_NOT_FOUND;
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
	return cuda_next_init() && cuda_next.cuStreamEndCapture_ptsz ?
		       ended(cuda_next.cuStreamEndCapture_ptsz(stream, graph)) : CUDA_ERROR_NOT_FOUND;
}
