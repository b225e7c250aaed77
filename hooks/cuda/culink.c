/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPU code that the application links at run time (cuLink...). The agent stores copies of a linker's inputs until the
 * linker is destroyed. The PTX inputs are the source of the linked machine code. The agent does not change the linker's
 * inputs.
 */
#include "cuda.h"

#include <stdlib.h>
#include <string.h>

#include "core/wire/checks.h"

#define MAX_INPUTS_SIZE (64u << 20) /* limit of the stored bytes of all inputs of a linker */

struct linker {
	struct linker *next;
	const void *handle;
	struct cuda_link_input *inputs, **end;
	size_t size;
};

/*
 * Protects the list of linkers. The linkers need no lock, since the application uses a linker in one thread at a time.
 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct linker *linkers;

/* The caller holds the lock. */
static struct linker **find_linker(const void *handle)
{
	struct linker **at = &linkers;

	gpubpf_assert_held(&lock);
	while (*at && (*at)->handle != handle)
		at = &(*at)->next;
	return at;
}

static struct linker *get_linker(const void *handle, bool make)
{
	struct linker **at, *l;

	pthread_mutex_lock(&lock);
	at = find_linker(handle);
	l = *at;
	if (!l && make && (l = calloc(1, sizeof(*l)))) {
		l->handle = handle;
		l->end = &l->inputs;
		*at = l;
	}
	pthread_mutex_unlock(&lock);
	return l;
}

void cuda_link_input(const void *linker, int type, const void *data, size_t size)
{
	struct linker *l = cuda_active() ? get_linker(linker, true) : NULL;
	struct cuda_link_input *input = NULL;

	if (l && data && size < MAX_INPUTS_SIZE - l->size)
		input = malloc(sizeof(*input) + size + 1);
	if (!input)
		/*
		 * the stored PTX lacks the functions of this input; the session detects that and refuses twins of these
		 * functions
		 */
		return;
	input->next = NULL;
	input->type = type;
	input->size = size;
	memcpy(input->data, data, size);
	input->data[size] = 0;
	l->size += size;
	*l->end = input;
	l->end = &input->next;
}

void cuda_link_file(const void *linker, int type, const char *path)
{
	struct gpubpf_kept kept;

	if (!cuda_active() || !path)
		return;
	gpubpf_kept_init_file(&kept, path);
	cuda_link_input(linker, type, kept.data, kept.size);
	gpubpf_kept_finish(&kept);
}

const struct cuda_link_input *cuda_link_inputs(const void *linker)
{
	struct linker *l = get_linker(linker, false);

	return l ? l->inputs : NULL;
}

void cuda_link_end(const void *linker)
{
	struct cuda_link_input *input, *next;
	struct linker **at, *l;

	pthread_mutex_lock(&lock);
	at = find_linker(linker);
	l = *at;
	if (l)
		*at = l->next;
	pthread_mutex_unlock(&lock);
	for (input = l ? l->inputs : NULL; input; input = next) {
		next = input->next;
		free(input);
	}
	free(l);
}

char *cuda_link_text(char *first, const struct cuda_link_input *inputs, bool (*is_ptx)(const struct cuda_link_input *))
{
	size_t size = first ? strlen(first) : 0;
	char *text = first ? first : calloc(1, 1);

	for (const struct cuda_link_input *input = inputs; text && input; input = input->next) {
		size_t n = is_ptx(input) ? strlen(input->data) : 0;
		char *grown = n ? realloc(text, size + n + 2) : text;

		if (!grown) {
			free(text);
			return NULL;
		}
		text = grown;
		if (!n)
			continue;
		memcpy(text + size, input->data, n);
		size += n + 1;
		text[size - 1] = '\n';
		text[size] = 0;
	}
	return text;
}

/* ---- the driver's linker ---- */

#define INPUT_PTX 1 /* CU_JIT_INPUT_PTX */

CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t size, const char *name, unsigned n,
			  int *options, void **values)
{
	CUresult error = cuda_next_init() && cuda_next.cuLinkAddData_v2 ?
				 cuda_next.cuLinkAddData_v2(state, type, data, size, name, n, options, values) :
				 CUDA_ERROR_NOT_FOUND;

	if (!error && type == INPUT_PTX)
		cuda_link_input(state, type, data, size);
	return error;
}

CUresult cuLinkAddFile_v2(CUlinkState state, int type, const char *path, unsigned n, int *options, void **values)
{
	CUresult error = cuda_next_init() && cuda_next.cuLinkAddFile_v2 ?
				 cuda_next.cuLinkAddFile_v2(state, type, path, n, options, values) :
				 CUDA_ERROR_NOT_FOUND;

	if (!error && type == INPUT_PTX)
		cuda_link_file(state, type, path);
	return error;
}

static bool is_ptx(const struct cuda_link_input *input)
{
	return input->type == INPUT_PTX;
}

static void store_ptx(CUlinkState state, const void *image, size_t size)
{
	char *text = cuda_jit_is_matched(image, size) ? cuda_link_text(NULL, cuda_link_inputs(state), is_ptx) : NULL;

	if (text)
		cuda_jit_add(image, size, text);
	free(text);
}

CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
	CUresult error = CUDA_HOST_CALL(MODULE, cuLinkComplete, (state, image, size));

	if (!error && image && size)
		store_ptx(state, *image, *size);
	return error;
}

CUresult cuLinkDestroy(CUlinkState state)
{
	if (!cuda_next_init() || !cuda_next.cuLinkDestroy)
		return CUDA_ERROR_NOT_FOUND;
	cuda_link_end(state);
	return cuda_next.cuLinkDestroy(state);
}
