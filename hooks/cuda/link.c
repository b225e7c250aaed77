/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs linked at run time. What a linker makes is machine code; the PTX that went in is remembered under it,
 * the texts of several modules one behind the other, so that its kernels can have twins. The application's linker
 * gets and gives what it would without us.
 */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

#define LINK_MAX (64u << 20) /* bytes of PTX and images that are remembered, and of one linker's inputs */

struct linker {
	struct linker *next;
	const void *handle;
	char *text;              /* PTX of its inputs, ended by a NUL */
	size_t size;
	bool other;              /* some input is no PTX, or they are too large: nothing to remember */
};

/* an image that a linker made, and its inputs behind it */
struct linked {
	struct linked *next;
	size_t size, text_size;  /* of the text with its NUL */
	char bytes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of what follows */
static struct linker *linkers;
static struct linked *outputs;
static size_t remembered;

static struct linker **find(const void *handle)
{
	struct linker **at = &linkers;

	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

static void append(struct linker *l, const char *text, size_t size)
{
	char *grown;

	size = strnlen(text, size);
	grown = size < LINK_MAX - l->size ? realloc(l->text, l->size + size + 2) : NULL;
	if (!grown) {
		l->other = true;
		return;
	}
	memcpy(grown + l->size, text, size);
	l->size += size + 1;
	grown[l->size - 1] = '\n';
	grown[l->size] = 0;
	l->text = grown;
}

void cuda_link_input(const void *linker, bool ptx, const void *data, size_t size)
{
	struct linker **at, *l;

	if (!cuda_active())
		return;
	pthread_mutex_lock(&lock);
	at = find(linker);
	l = *at;
	if (!l && (l = calloc(1, sizeof(*l)))) {
		l->handle = linker;
		*at = l;
	}
	if (l && (!ptx || !data))
		l->other = true;
	else if (l)
		append(l, data, size);
	pthread_mutex_unlock(&lock);
}

void cuda_link_output(const void *linker, const void *image, size_t size)
{
	struct linked *o = NULL;
	struct linker *l;

	pthread_mutex_lock(&lock);
	l = *find(linker);
	if (l && l->text && !l->other && image && size < LINK_MAX && remembered + size + l->size < LINK_MAX)
		o = malloc(sizeof(*o) + size + l->size + 1);
	if (o) {
		o->size = size;
		o->text_size = l->size + 1;
		memcpy(o->bytes, image, size);
		memcpy(o->bytes + size, l->text, l->size + 1);
		o->next = outputs;
		outputs = o;
		remembered += size + l->size;
	}
	pthread_mutex_unlock(&lock);
}

void cuda_link_end(const void *linker)
{
	struct linker **at, *l;

	pthread_mutex_lock(&lock);
	at = find(linker);
	l = *at;
	if (l) {
		*at = l->next;
		free(l->text);
		free(l);
	}
	pthread_mutex_unlock(&lock);
}

char *cuda_link_ptx(const void *image, size_t size, size_t *text_size)
{
	char *copy = NULL;

	pthread_mutex_lock(&lock);
	for (struct linked *o = outputs; o && image && size && !copy; o = o->next)
		if (size <= o->size && !memcmp(o->bytes, image, size) && (copy = malloc(o->text_size))) {
			memcpy(copy, o->bytes + o->size, o->text_size);
			*text_size = o->text_size;
		}
	pthread_mutex_unlock(&lock);
	return copy;
}

/* ---- the driver's linker ---- */

#define INPUT_PTX 1 /* CU_JIT_INPUT_PTX */

CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t size, const char *name, unsigned n,
			  int *options, void **values)
{
	CUresult error = cuda_next_init() && cuda_next.cuLinkAddData_v2 ?
			 cuda_next.cuLinkAddData_v2(state, type, data, size, name, n, options, values) : CUDA_ERROR_NOT_FOUND;

	if (!error)
		cuda_link_input(state, type == INPUT_PTX, data, size);
	return error;
}

CUresult cuLinkAddFile_v2(CUlinkState state, int type, const char *path, unsigned n, int *options, void **values)
{
	CUresult error = cuda_next_init() && cuda_next.cuLinkAddFile_v2 ?
			 cuda_next.cuLinkAddFile_v2(state, type, path, n, options, values) : CUDA_ERROR_NOT_FOUND;

	if (!error)
		cuda_link_input(state, false, NULL, 0);
	return error;
}

CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
	CUresult error = cuda_next_init() && cuda_next.cuLinkComplete ? cuda_next.cuLinkComplete(state, image, size) :
									CUDA_ERROR_NOT_FOUND;

	if (!error && image && size)
		cuda_link_output(state, *image, *size);
	return error;
}

CUresult cuLinkDestroy(CUlinkState state)
{
	if (!cuda_next_init() || !cuda_next.cuLinkDestroy)
		return CUDA_ERROR_NOT_FOUND;
	cuda_link_end(state);
	return cuda_next.cuLinkDestroy(state);
}
