/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intercepts NVRTC, the CUDA toolkit's compiler library. CuPy and PyTorch compile to machine code (-arch=sm_...). When
 * the application gets the machine code, the agent stores the PTX too.
 */
#include "cuda.h"
#include "hooks/process/dlsym.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define NAME "nvrtcGetCUBIN"
#define INTERNAL_ERROR 11 /* NVRTC_ERROR_INTERNAL_ERROR */

typedef void *program;
typedef int get_size(program p, size_t *size);
typedef int get(program p, char *to);

static void store_ptx(void *lib, program p, const void *image)
{
	get_size *image_size = (get_size *)gpubpf_dlsym_next()(lib, NAME "Size");
	get_size *text_size = (get_size *)gpubpf_dlsym_next()(lib, "nvrtcGetPTXSize");
	get *get_text = (get *)gpubpf_dlsym_next()(lib, "nvrtcGetPTX");
	size_t size, n;
	char *text;

	if (!image_size || !text_size || !get_text || image_size(p, &size) || !cuda_jit_is_matched(image, size) ||
	    text_size(p, &n) || !(text = calloc(1, n + 1)))
		return;
	if (!get_text(p, text))
		cuda_jit_add(image, size, text);
	free(text);
}

static int get_cubin(get *next, program p, char *image)
{
	int error = next(p, image);
	void *lib = error || !cuda_active() ? NULL : gpubpf_dlsym_library((void *)next);

	if (lib) {
		store_ptx(lib, p, image);
		dlclose(lib);
	}
	return error;
}

static get *_Atomic first; /* nvrtcGetCUBIN() of the first NVRTC library that was looked up */

static int hooked_get_cubin(program p, char *image)
{
	return get_cubin(first, p, image);
}

static void *find(const char *symbol)
{
	return strcmp(symbol, NAME) ? NULL : (void *)hooked_get_cubin;
}

/*
 * Returns true if dlsym() may return the agent's function instead of `real`. Returns false for a second library with
 * the same function name, which the agent does not intercept.
 */
static bool claim_name(const char *symbol, void *real)
{
	get *none = NULL;

	return atomic_compare_exchange_strong(&first, &none, (get *)real) || (void *)none == real;
}

GPUBPF_DLSYM_USER(nvrtc, "nvrtc", find, cuda_next_init, claim_name);

__attribute__((visibility("default"))) int nvrtcGetCUBIN(program p, char *image);

int nvrtcGetCUBIN(program p, char *image)
{
	get *next = (get *)gpubpf_dlsym_bound(NAME, __builtin_return_address(0));

	return next ? get_cubin(next, p, image) : INTERNAL_ERROR;
}
