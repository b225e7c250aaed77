/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the application call the agent's functions instead of the driver's. The application links them, since the agent
 * is preloaded, or looks them up by dlsym() or cuGetProcAddress(). Symbols that the agent does not interpose resolve to
 * the driver's functions.
 */
#include "cuda.h"
#include "hooks/process/dlsym.h"

#include <string.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT CUresult cuGetProcAddress(const char *name, void **pfn, int version, uint64_t flags);
EXPORT CUresult cuGetProcAddress_v2(const char *name, void **pfn, int version, uint64_t flags, int *status);

void *cuda_hook_find(const char *symbol)
{
	static const struct {
		const char *name;
		void *ours;
	} hooks[] = {
#define CUDA_CALL(symbol, parameters, arguments) { #symbol, (void *)symbol },
#include "calls.def"
		{ "cuGetProcAddress", (void *)cuGetProcAddress },
		{ "cuGetProcAddress_v2", (void *)cuGetProcAddress_v2 },
	};

	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
		if (!strcmp(hooks[i].name, symbol))
			return hooks[i].ours;
	return NULL;
}

/*
 * Returns the agent's function for a driver function, or `real` if the agent does not interpose it. The name that the
 * application passes to cuGetProcAddress() has no suffix. The driver chooses the symbol by the CUDA version, so only
 * the result's address identifies the symbol.
 */
static void *replace_by_hook(void *real)
{
#define CUDA_CALL(symbol, parameters, arguments) \
	if (real == (void *)cuda_next.symbol) \
		return (void *)symbol;
#include "calls.def"
	if (real == (void *)cuda_next.cuGetProcAddress_v2)
		return (void *)cuGetProcAddress_v2;
	if (real == (void *)cuda_next.cuGetProcAddress)
		return (void *)cuGetProcAddress;
	return real;
}

CUresult cuGetProcAddress(const char *name, void **pfn, int version, uint64_t flags)
{
	CUresult error;

	if (!cuda_next_init() || !cuda_next.cuGetProcAddress)
		return CUDA_ERROR_NOT_FOUND;
	error = cuda_next.cuGetProcAddress(name, pfn, version, flags);
	if (!error && pfn && *pfn)
		*pfn = replace_by_hook(*pfn);
	return error;
}

CUresult cuGetProcAddress_v2(const char *name, void **pfn, int version, uint64_t flags, int *status)
{
	CUresult error;

	if (!cuda_next_init() || !cuda_next.cuGetProcAddress_v2)
		return CUDA_ERROR_NOT_FOUND;
	error = cuda_next.cuGetProcAddress_v2(name, pfn, version, flags, status);
	if (!error && pfn && *pfn)
		*pfn = replace_by_hook(*pfn);
	return error;
}

GPUBPF_DLSYM_USER(cuda, "cu", cuda_hook_find, cuda_next_init);
