/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel launches. The launch path selects the original or a twin. The adapter launches a twin only if the twin fits on
 * the device as the original would. If the runtime refuses the twin, the original runs. The application sees only
 * errors of the original.
 */
#include "hip.h"

#include <stdlib.h>
#include <string.h>

#include "backends/hip/wire/bind.h"

enum {
	MAX_PARAMS = 1024,
	STACK_PARAMS = 16, /* number of parameters up to which a launch needs no malloc() */
	MAX_BUFFER = 1 << 16,
	/* keys in the array `extra` of a launch (HIP_LAUNCH_PARAM_...) */
	EXTRA_POINTER = 1,
	EXTRA_SIZE = 2,
	EXTRA_END = 3,
};

/* ---- devices ---- */

static struct gpubpf_hook_device *device_of(hipStream_t stream)
{
	struct gpubpf_device_open how = { .runtime = &hip_direct };
	struct gpubpf_hook_device *device;
	const void *key;
	int number = 0;

	if (hip_direct.get_device(&number))
		return NULL;
	/* stream handles 1 and 2 are streams of the current device */
	if ((uintptr_t)stream > 2 && hip_next.stream_device)
		number = hip_next.stream_device(stream);
	if (number < 0)
		return NULL;
	key = hip_device_key(number);
	device = gpubpf_hook_device_find(&hip_hook_ops, key);
	how.index = number;
	how.context = (void *)key;
	return device ? device : gpubpf_hook_device_add(&hip_hook_ops, key, &how, number);
}

void hip_device_end(int number)
{
	if (!hip_joined() || number < 0)
		return;
	gpubpf_hook_device_end(&hip_hook_ops, hip_device_key(number));
	gpubpf_allocations_end(hip_device_key(number));
}

/* ---- does the twin fit? ---- */

struct fitting {
	const struct hip_call *call;
	const struct hip_twin *twin;
};

/*
 * Query how many blocks one multiprocessor holds. HIP 5 rounds the number of waves of a block down, so the agent rounds
 * `threads` up to whole waves. HIP 5 also divides by the original's register count. If that count is 0, the agent
 * computes the result.
 */
static int blocks(const void *arg, bool twin, int *n)
{
	const struct fitting *f = arg;
	const struct hip_call *c = f->call;
	int lanes = f->twin->lanes, threads = c->block[0] * c->block[1] * c->block[2];

	threads = (threads + lanes - 1) / lanes * lanes;
	if (!twin && !f->twin->original_regs) {
		*n = f->twin->unit_threads / threads;
		return 0;
	}
	if (!twin && f->twin->original->module->registered)
		return hip_next.occupancy ? hip_next.occupancy(n, c->f, threads, c->shared) : hipErrorNotFound;
	if (!hip_next.module_occupancy)
		return hipErrorNotFound;
	return hip_next.module_occupancy(n, twin ? f->twin->f : (hipFunction_t)c->f, threads, c->shared);
}

static bool fits(struct hip_twin *t, const struct hip_call *c)
{
	struct fitting fitting = { c, t };

	return gpubpf_hook_fits(&t->fit, (uint64_t)c->grid[0] * c->grid[1] * c->grid[2],
				c->block[0] * c->block[1] * c->block[2], c->shared, blocks, NULL, &fitting);
}

/* ---- 8-byte words that a launch appends to the arguments ---- */

struct words {
	uint64_t word[2];
	unsigned n;
};

static struct words words_of(const struct hip_twin *t, const struct gpubpf_hook_launch *l)
{
	struct words w = { .n = 0 };

	if (t->words & HIP_BIND_LAUNCH)
		w.word[w.n++] = l->number;
	if (t->words & HIP_BIND_PID)
		w.word[w.n++] = l->pid_tgid;
	return w;
}

static hipError_t run_params(const struct hip_call *c, const struct hip_twin *t, struct words *w)
{
	void *few[STACK_PARAMS + 2], **many = t->params > STACK_PARAMS && t->params <= MAX_PARAMS ?
						      malloc((t->params + 2) * sizeof(*many)) :
						      NULL;
	void **params = many ? many : few;
	hipError_t error;

	if (t->params > STACK_PARAMS && !many)
		return hipErrorNotFound;
	if (t->params)
		memcpy(params, c->params, t->params * sizeof(*params));
	for (unsigned i = 0; i < w->n; i++)
		params[t->params + i] = &w->word[i];
	error = c->run(c, t->f, params, NULL);
	free(many);
	return error;
}

static bool read_extra(void **extra, const void **from, size_t *size)
{
	*from = NULL;
	*size = 0;
	for (int i = 0; i < 4 && extra[i] != (void *)EXTRA_END; i += 2) {
		if (extra[i] == (void *)EXTRA_POINTER)
			*from = extra[i + 1];
		else if (extra[i] == (void *)EXTRA_SIZE)
			*size = *(size_t *)extra[i + 1];
	}
	return *from && *size;
}

/*
 * Launch the twin with its arguments in one buffer. The agent copies the application's buffer and appends the words.
 * The application's buffer may end before the words' offset, or may also contain the hidden arguments.
 */
static hipError_t run_buffer(const struct hip_call *c, const struct hip_twin *t, const struct words *w)
{
	size_t size, end = t->words_at + sizeof(w->word[0]) * w->n;
	const void *from;
	hipError_t error;
	char *buffer;

	if (!read_extra(c->extra, &from, &size) || end > MAX_BUFFER || !(buffer = calloc(1, end)))
		return hipErrorNotFound;
	memcpy(buffer, from, size < t->words_at ? size : t->words_at);
	memcpy(buffer + t->words_at, w->word, end - t->words_at);
	error = c->run(c, t->f, NULL,
		       (void *[]){ (void *)EXTRA_POINTER, buffer, (void *)EXTRA_SIZE, &end, (void *)EXTRA_END });
	free(buffer);
	return error;
}

static int launch_twin(const void *call, struct gpubpf_hook_launch *l)
{
	const struct hip_call *c = call;
	struct hip_twin *t = l->twin;
	struct words words = words_of(t, l);
	int error;

	if (!fits(t, c))
		error = GPUBPF_TWIN_NO_ROOM;
	else if (!words.n)
		error = c->run(c, t->f, c->params, c->extra);
	else if (c->params || !c->extra)
		error = c->params || !t->params ? run_params(c, t, &words) : hipErrorNotFound;
	else
		error = run_buffer(c, t, &words);
	if (error)
		hip_direct.last_error(); /* clear the runtime's last error, which the application must not see */
	return error;
}

static int launch_original(const void *call)
{
	const struct hip_call *c = call;

	return c->run(c, c->f, c->params, c->extra);
}

void hip_function_prefetch(const void *handle)
{
	struct hip_function *f = hip_active() ? hip_function_enter(handle) : NULL;
	struct gpubpf_hook_kernel *kernel = f ? hip_function_kernel(f) : NULL;
	struct gpubpf_hook_device *device = kernel ? device_of(NULL) : NULL;

	if (device)
		gpubpf_hook_kernel_prefetch(kernel, device);
	if (f)
		hip_function_leave(f);
}

hipError_t hip_launch(const struct hip_call *c)
{
	struct hip_function *f = hip_active() ? hip_function_enter(c->f) : NULL;
	struct gpubpf_hook_launch l = { .kernel = f ? hip_function_kernel(f) : NULL, .dim = 3 };
	hipError_t error;

	l.function = c->function;
	l.stream = (uintptr_t)c->stream;
	l.is_node = c->node;
	for (int i = 0; i < 3; i++) {
		l.grid[i] = (size_t)c->grid[i] * c->block[i];
		l.block[i] = c->block[i];
	}
	l.device = l.kernel ? device_of(c->stream) : NULL;
	error = l.device ? gpubpf_hook_launch_run(&l, launch_twin, launch_original, c) : launch_original(c);
	if (f)
		hip_function_leave(f);
	return error;
}
