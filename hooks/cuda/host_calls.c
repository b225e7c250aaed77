/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs programs of sections host/ at the calls of host_calls.def. The driver does not report how long a single copy
 * runs on the device. Events around the copy would change the stream, so copies have the time of the call.
 */
#include "cuda.h"

static enum gpubpf_copy_direction direction(int to, int from)
{
	if (to == CUDA_MEMORY_UNIFIED || from == CUDA_MEMORY_UNIFIED)
		return GPUBPF_COPY_UNKNOWN;
	if (from == CUDA_MEMORY_HOST)
		return to == CUDA_MEMORY_HOST ? GPUBPF_COPY_UNKNOWN : GPUBPF_COPY_TO_DEVICE;
	return to == CUDA_MEMORY_HOST ? GPUBPF_COPY_TO_HOST : GPUBPF_COPY_ON_DEVICE;
}

/* Returns the address or handle of one end of a copy. */
static uint64_t address(const struct cuda_copy_end *end)
{
	return end->type == CUDA_MEMORY_HOST  ? (uintptr_t)end->host :
	       end->type == CUDA_MEMORY_ARRAY ? (uintptr_t)end->array :
						end->device;
}

/* The driver reports the error of a NULL pointer. */
#define ENDS(shape, size) \
	static enum gpubpf_copy_direction cuda_##shape##_direction(const struct cuda_##shape *copy) \
	{ \
		return copy ? direction(copy->to.end.type, copy->from.end.type) : GPUBPF_COPY_UNKNOWN; \
	} \
	static uint64_t cuda_##shape##_bytes(const struct cuda_##shape *copy) \
	{ \
		return copy ? (size) : 0; \
	} \
	static uint64_t cuda_##shape##_to(const struct cuda_##shape *copy) \
	{ \
		return copy ? address(&copy->to.end) : 0; \
	} \
	static uint64_t cuda_##shape##_from(const struct cuda_##shape *copy) \
	{ \
		return copy ? address(&copy->from.end) : 0; \
	}
ENDS(copy_2d, copy->width * copy->height)
ENDS(copy_3d, copy->width * copy->height * copy->depth)

#define CUDA_HOST(symbol, event, parameters, arguments, ...) \
	CUresult symbol parameters \
	{ \
		return CUDA_HOST_CALL(event, symbol, arguments, ##__VA_ARGS__); \
	}
#include "host_calls.def"
