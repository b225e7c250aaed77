/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Intercepts nvJitLink, the CUDA toolkit's linker library. Numba and cuda.core look up its functions with dlsym().
 * Applications that are linked with nvJitLink use versioned names, which the agent exports. For LTO-IR inputs, the
 * agent links a second time with the same library to get PTX.
 */
#include "cuda.h"
#include "hooks/process/dlsym.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "nvJitLink"
#define INTERNAL_ERROR 6 /* NVJITLINK_ERROR_INTERNAL */
#define OPTIONS_MAX 64

enum { INPUT_PTX = 2, INPUT_LTOIR = 3, INPUT_ANY = 10 }; /* nvJitLinkInputType */

typedef void *linker;
typedef const struct cuda_link_input input;

/* interposed functions, as CALL(function, parameters, arguments) */
#define CALLS(CALL) \
	CALL(Create, (linker *l, uint32_t n, const char **options), (l, n, options)) \
	CALL(AddData, (linker l, int type, const void *data, size_t size, const char *name), (l, type, data, size, name)) \
	CALL(AddFile, (linker l, int type, const char *path), (l, type, path)) \
	CALL(GetLinkedCubin, (linker l, void *image), (l, image)) \
	CALL(Destroy, (linker *l), (l))

/* Functions of one nvJitLink library, for the agent's own calls. */
struct library {
#define CALL(function, parameters, arguments) int (*function) parameters;
	CALLS(CALL)
#undef CALL
	int (*GetLinkedCubinSize)(linker l, size_t *size);
	int (*GetLinkedPtxSize)(linker l, size_t *size);
	int (*GetLinkedPtx)(linker l, char *text);
	int (*Complete)(linker l);
};

static bool find_library(void *handle, struct library *lib)
{
	bool all = true;

#define CALL(function, parameters, arguments) \
	all &= !!(lib->function = (typeof(lib->function))gpubpf_dlsym_next()(handle, PREFIX #function));
	CALLS(CALL)
	CALL(GetLinkedCubinSize, , )
	CALL(GetLinkedPtxSize, , )
	CALL(GetLinkedPtx, , )
	CALL(Complete, , )
#undef CALL
	return all;
}

/* ---- find the PTX of a linked image ---- */

/* input type that only the agent uses: an option of the linker; the options are stored before the other inputs */
enum { OPTION = -1 };

static bool is_ptx(input *i)
{
	static const char archive[] = "!<arch>";

	if (i->type == INPUT_ANY)
		return i->size &&
		       (i->data[0] == '\t' || i->data[0] == '\n' || i->data[0] == '\r' ||
			(i->data[0] >= ' ' && i->data[0] <= '~')) &&
		       strncmp(i->data, archive, strlen(archive));
	return i->type == INPUT_PTX;
}

static char *get_linked_ptx(const struct library *lib, linker l)
{
	char *text = NULL;
	size_t size = 0;

	if (lib->Complete(l) || lib->GetLinkedPtxSize(l, &size) || !size || !(text = calloc(1, size + 1)))
		return NULL;
	if (!lib->GetLinkedPtx(l, text))
		return text;
	free(text);
	return NULL;
}

static int options_for_ptx(input *inputs, const char *options[OPTIONS_MAX])
{
	bool lto = false;
	int n = 0;

	for (input *i = inputs; i; i = i->next) {
		if (i->type != OPTION)
			continue;
		if (n == OPTIONS_MAX - 1)
			return 0;
		lto |= !strcmp(i->data, "-lto");
		options[n++] = i->data;
	}
	options[n++] = "-ptx";
	return lto ? n : 0;
}

/*
 * Link the inputs again with PTX as output. PTX inputs are left out. With ltoir_alone, only inputs of type LTO-IR are
 * linked, since nvJitLink may refuse other types for PTX output.
 */
static char *relink_to_ptx(const struct library *lib, input *inputs, bool ltoir_alone)
{
	const char *options[OPTIONS_MAX];
	int n = options_for_ptx(inputs, options), err = 0, added = 0;
	char *text = NULL;
	linker l;

	if (!n || lib->Create(&l, n, options))
		return NULL;
	for (input *i = inputs; i && !err; i = i->next) {
		if (i->type == OPTION || is_ptx(i) || (ltoir_alone && i->type != INPUT_LTOIR))
			continue;
		err = lib->AddData(l, i->type, i->data, i->size, "input");
		added++;
	}
	if (!err && added)
		text = get_linked_ptx(lib, l);
	lib->Destroy(&l);
	return text;
}

static void store_ptx(const struct library *lib, linker l, const void *image)
{
	input *inputs = cuda_link_inputs(l);
	size_t size = 0;
	char *text;

	if (!inputs || lib->GetLinkedCubinSize(l, &size) || !cuda_jit_is_matched(image, size))
		return;
	text = relink_to_ptx(lib, inputs, false);
	if (!text)
		text = relink_to_ptx(lib, inputs, true);
	text = cuda_link_text(text, inputs, is_ptx);
	if (text)
		cuda_jit_add(image, size, text);
	free(text);
}

/* ---- the agent's functions; `next` is the library's function of the same name ---- */

static int Create(int (*next)(linker *l, uint32_t n, const char **options), linker *l, uint32_t n, const char **options)
{
	int error = next(l, n, options);

	if (!error)
		cuda_link_end(*l); /* remove an older linker with this handle, whose destruction was not intercepted */
	for (uint32_t i = 0; !error && i < n; i++)
		cuda_link_input(*l, OPTION, options[i], strlen(options[i]));
	return error;
}

static int AddData(int (*next)(linker l, int type, const void *data, size_t size, const char *name), linker l, int type,
		   const void *data, size_t size, const char *name)
{
	int error = next(l, type, data, size, name);

	if (!error)
		cuda_link_input(l, type, data, size);
	return error;
}

static int AddFile(int (*next)(linker l, int type, const char *path), linker l, int type, const char *path)
{
	int error = next(l, type, path);

	if (!error)
		cuda_link_file(l, type, path);
	return error;
}

static int GetLinkedCubin(int (*next)(linker l, void *image), linker l, void *image)
{
	int error = next(l, image);
	void *handle = error || !cuda_active() ? NULL : gpubpf_dlsym_library((void *)next);
	struct library lib;

	if (handle && find_library(handle, &lib))
		store_ptx(&lib, l, image);
	if (handle)
		dlclose(handle);
	return error;
}

static int Destroy(int (*next)(linker *l), linker *l)
{
	if (l)
		cuda_link_end(*l);
	return next(l);
}

#define REST(...) , __VA_ARGS__)

/* ---- functions that the application finds by dlsym() ---- */

/* For each function name, the address in the first nvJitLink library that was looked up. */
static struct {
#define CALL(function, parameters, arguments) int (*_Atomic function) parameters;
	CALLS(CALL)
#undef CALL
} first;

#define CALL(function, parameters, arguments) \
	static int found_##function parameters \
	{ \
		return function(first.function REST arguments; \
	}
CALLS(CALL)
#undef CALL

/* Returns true if the symbol is `function`, with or without a version as in "__nvJitLink..._13_0". */
static bool matches_name(const char *symbol, const char *function)
{
	size_t n = strlen(function);

	symbol += symbol[0] == '_' ? strlen("__" PREFIX) : strlen(PREFIX);
	return !strncmp(symbol, function, n) &&
	       (!symbol[n] || (symbol[n] == '_' && symbol[n + 1] >= '0' && symbol[n + 1] <= '9'));
}

static void *find(const char *symbol)
{
#define CALL(function, parameters, arguments) \
	if (matches_name(symbol, #function)) \
		return (void *)found_##function;
	CALLS(CALL)
#undef CALL
	return NULL;
}

/*
 * Returns true if dlsym() may return the agent's function instead of `real`. Returns false for a second library with
 * the same function names, which the agent does not intercept.
 */
static bool claim_name(const char *symbol, void *real)
{
#define CALL(function, parameters, arguments) \
	if (matches_name(symbol, #function)) { \
		int (*none) parameters = NULL; \
\
		return atomic_compare_exchange_strong(&first.function, &none, (int (*) parameters)real) || \
		       (void *)none == real; \
	}
	CALLS(CALL)
#undef CALL
	return false;
}

GPUBPF_DLSYM_USER(nvjitlink, PREFIX, find, cuda_next_init, claim_name);
GPUBPF_DLSYM_USER(nvjitlink_versions, "__" PREFIX, find, cuda_next_init, claim_name);

/* ---- functions that applications are linked with: the versioned names of each header ---- */

#define VERSIONED(function, parameters, arguments, version) \
	__attribute__((visibility("default"))) int __##nvJitLink##function##_##version parameters; \
	int __##nvJitLink##function##_##version parameters \
	{ \
		int (*next) parameters = (typeof(next))gpubpf_dlsym_bound("__" PREFIX #function "_" #version, \
									  __builtin_return_address(0)); \
\
		return next ? function(next REST arguments : INTERNAL_ERROR; \
	}
#define VERSIONS(function, parameters, arguments) \
	VERSIONED(function, parameters, arguments, 12_0) \
	VERSIONED(function, parameters, arguments, 12_1) \
	VERSIONED(function, parameters, arguments, 12_2) \
	VERSIONED(function, parameters, arguments, 12_3) \
	VERSIONED(function, parameters, arguments, 12_4) \
	VERSIONED(function, parameters, arguments, 12_5) \
	VERSIONED(function, parameters, arguments, 12_6) \
	VERSIONED(function, parameters, arguments, 12_8) \
	VERSIONED(function, parameters, arguments, 12_9) \
	VERSIONED(function, parameters, arguments, 13_0) \
	VERSIONED(function, parameters, arguments, 13_1) \
	VERSIONED(function, parameters, arguments, 13_2) \
	VERSIONED(function, parameters, arguments, 13_3) \
	VERSIONED(function, parameters, arguments, 13_4) \
	VERSIONED(function, parameters, arguments, 13_5)
CALLS(VERSIONS)
