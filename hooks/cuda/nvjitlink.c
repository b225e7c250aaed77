/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvJitLink, the linker that is a library of the toolkit's, for programs that look its functions up (Numba and all
 * that use cuda.core). Programs that link it are left alone: where several versions of it are loaded, which of them
 * a symbol of ours would have to call cannot be told; a look-up tells.
 */
#include "cuda.h"
#include "hooks/dlsym.h"

#include <string.h>

#define INPUT_PTX 2 /* NVJITLINK_INPUT_PTX */
#define PREFIX "nvJitLink"

typedef void *linker;

/* CALL(function, parameters): those that we answer; GetLinkedCubinSize is one that we need */
#define CALLS(CALL) \
	CALL(AddData, (linker l, int type, const void *data, size_t size, const char *name)) \
	CALL(AddFile, (linker l, int type, const char *path)) \
	CALL(GetLinkedCubin, (linker l, void *image)) \
	CALL(Destroy, (linker *l))

/* What was looked up first under each name. */
static struct {
#define CALL(function, parameters) int (*_Atomic function) parameters;
	CALLS(CALL)
	CALL(GetLinkedCubinSize, (linker l, size_t *size))
#undef CALL
} next;

static int AddData(linker l, int type, const void *data, size_t size, const char *name)
{
	int error = next.AddData(l, type, data, size, name);

	if (!error)
		cuda_link_input(l, type == INPUT_PTX, data, size);
	return error;
}

static int AddFile(linker l, int type, const char *path)
{
	int error = next.AddFile(l, type, path);

	if (!error)
		cuda_link_input(l, false, NULL, 0);
	return error;
}

static int GetLinkedCubin(linker l, void *image)
{
	int error = next.GetLinkedCubin(l, image);
	size_t size = 0;

	if (!error && next.GetLinkedCubinSize && !next.GetLinkedCubinSize(l, &size))
		cuda_link_output(l, image, size);
	return error;
}

static int Destroy(linker *l)
{
	if (l)
		cuda_link_end(*l);
	return next.Destroy(l);
}

static int GetLinkedCubinSize(linker l, size_t *size)
{
	return next.GetLinkedCubinSize(l, size);
}

static void *find(const char *symbol)
{
#define CALL(function, parameters) \
	if (!strcmp(symbol, PREFIX #function)) \
		return (void *)function;
	CALLS(CALL)
	CALL(GetLinkedCubinSize, )
#undef CALL
	return NULL;
}

/* Another library of the same names keeps its own functions, all of them. */
static bool take(const char *symbol, void *real)
{
#define CALL(function, parameters) \
	if (!strcmp(symbol, PREFIX #function)) { \
		int (*none) parameters = NULL; \
\
		return atomic_compare_exchange_strong(&next.function, &none, (int (*) parameters)real) || \
		       (void *)none == real; \
	}
	CALLS(CALL)
	CALL(GetLinkedCubinSize, (linker l, size_t *size))
#undef CALL
	return false;
}

const struct gpubpf_dlsym_user gpubpf_dlsym_nvjitlink = { PREFIX, find, cuda_next_init, take };
