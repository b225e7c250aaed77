/* SPDX-License-Identifier: Apache-2.0 */
/* Which image each module and kernel came from. Kernels of registered binaries are known by the address of
 * their host function; programs register many more than they launch, so that little is done before. */
#include "hip.h"

#include <stdlib.h>
#include <string.h>

#include "backends/hip/image_format.h"

static struct gpubpf_handles modules = GPUBPF_HANDLES_INIT, functions = GPUBPF_HANDLES_INIT;

static bool complete;

static void join(void)
{
	complete = !gpubpf_hook_init(&hip_hook_ops) && hip_next_complete();
}

bool hip_active(void)
{
	static pthread_once_t joined = PTHREAD_ONCE_INIT;

	pthread_once(&joined, join);
	return complete && gpubpf_hook_active();
}

static struct hip_module *create(void *handle)
{
	struct hip_module *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->base.handle = handle;
	pthread_mutex_init(&m->lock, NULL);
	return m;
}

void hip_module_add(void *handle, bool registered, const void *image)
{
	struct hip_module *m = registered || hip_active() ? create(handle) : NULL;
	uint64_t size;

	if (!m)
		return;
	m->registered = registered;
	m->where = image;
	size = hip_image_size(image, &m->kind);
	gpubpf_kept_init(&m->image, size ? image : NULL, size);
	gpubpf_handles_add(&modules, &m->base);
	if (!registered && size)
		hip_loaded_note(m);
}

void hip_module_add_file(void *handle, const char *path)
{
	struct hip_module *m = hip_active() ? create(handle) : NULL;

	if (!m)
		return;
	gpubpf_kept_init_file(&m->image, path);
	m->kind = m->image.data && !memcmp(m->image.data, "\177ELF", 4) ? GPUBPF_IMAGE_AMDGPU :
									 GPUBPF_IMAGE_OFFLOAD_BUNDLE;
	gpubpf_handles_add(&modules, &m->base);
}

static struct hip_module *find_module(const void *handle)
{
	return (struct hip_module *)gpubpf_handles_find(&modules, handle);
}

void hip_module_remove(void *handle)
{
	struct hip_module *m = find_module(handle);

	if (m)
		atomic_store(&m->base.handle, NULL);
}

static bool has(struct hip_module *m, uint64_t code_object)
{
	bool found = false;

	pthread_mutex_lock(&m->lock);
	for (struct hip_loaded *l = m->loaded; l; l = l->next)
		found |= l->code_object == code_object;
	pthread_mutex_unlock(&m->lock);
	return found;
}

bool hip_module_has(const struct hip_module *except, uint64_t code_object)
{
	for (int i = 0; i < GPUBPF_HANDLE_BUCKETS; i++)
		for (struct gpubpf_handle *h = modules.bucket[i]; h; h = h->next)
			if (h != &except->base && atomic_load(&h->handle) && has((struct hip_module *)h, code_object))
				return true;
	return false;
}

struct hip_function *hip_function_find(const void *handle)
{
	struct hip_function *f = (struct hip_function *)gpubpf_handles_find(&functions, handle);

	return f && atomic_load_explicit(&f->module->base.handle, memory_order_relaxed) ? f : NULL;
}

void hip_function_add(const void *handle, void *module, const char *name)
{
	struct hip_module *m = find_module(module);
	struct hip_function *f;

	if (!m || hip_function_find(handle) || !(f = calloc(1, sizeof(*f) + strlen(name) + 1)))
		return;
	strcpy(f->name, name);
	f->base.handle = (void *)handle;
	f->module = m;
	gpubpf_handles_add(&functions, &f->base);
}

static void create_kernel(struct hip_function *f)
{
	struct gpubpf_hook_kernel *kernel;

	if (gpubpf_hook_program_create(f, &f->program) < 0)
		return;
	if (gpubpf_hook_kernel_create(f->program, f, f->name, &kernel) < 0)
		gpubpf_hook_program_destroy(f->program);
	else
		atomic_store_explicit(&f->kernel, kernel, memory_order_release);
}

struct gpubpf_hook_kernel *hip_function_kernel(struct hip_function *f)
{
	static pthread_mutex_t creating = PTHREAD_MUTEX_INITIALIZER;

	if (!atomic_load_explicit(&f->kernel, memory_order_acquire)) {
		pthread_mutex_lock(&creating);
		if (!f->kernel)
			create_kernel(f);
		pthread_mutex_unlock(&creating);
	}
	return atomic_load_explicit(&f->kernel, memory_order_acquire);
}
