/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the image from which each module and kernel was loaded. The address of a kernel's host function identifies a
 * kernel of a registered binary. Applications register many more kernels than they launch, so registration does little
 * work.
 */
#include "hip.h"

#include <stdlib.h>
#include <string.h>

#include "backends/hip/wire/image_format.h"

static struct gpubpf_handles modules = GPUBPF_HANDLES_INIT, functions = GPUBPF_HANDLES_INIT;

static bool complete;

static void join_session(void)
{
	complete = !gpubpf_hook_init(&hip_hook_ops) && hip_next_complete();
}

bool hip_active(void)
{
	static pthread_once_t joined = PTHREAD_ONCE_INIT;

	pthread_once(&joined, join_session);
	return complete && gpubpf_hook_active();
}

bool hip_joined(void)
{
	return complete && gpubpf_hook_joined();
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
	m->size = size;
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

/* ---- functions ---- */

/* Release a function's twins and its state in the launch path. The adapter's record of the function stays. */
static void release_function(struct hip_function *f)
{
	if (!atomic_load(&f->kernel) || !gpubpf_hook_kernel_is_matched(f->kernel))
		return;
	gpubpf_hook_kernel_destroy(f->kernel);
	gpubpf_hook_program_destroy(f->program);
}

void hip_function_leave(struct hip_function *f)
{
	if (gpubpf_users_leave(&f->users))
		release_function(f);
}

static struct hip_function *find_function(const void *handle)
{
	struct hip_function *f = (struct hip_function *)gpubpf_handles_find(&functions, handle);

	return f && atomic_load_explicit(&f->module->base.handle, memory_order_relaxed) ? f : NULL;
}

struct hip_function *hip_function_enter(const void *handle)
{
	struct hip_function *f = find_function(handle);

	if (!f || gpubpf_users_enter(&f->users))
		return f;
	hip_function_leave(f);
	return NULL;
}

static void kill_function_of_module(struct gpubpf_handle *record, void *module)
{
	struct hip_function *f = (struct hip_function *)record;

	if (f->module != module || !atomic_exchange(&record->handle, NULL))
		return;
	if (gpubpf_users_kill(&f->users))
		release_function(f);
}

/* ---- unloading modules ---- */

/*
 * Release a module's state. A registered binary is unregistered when its library is unloaded or when the process ends.
 * The runtime may already be shut down then, so the agent does not release the binary's state on the device.
 */
void hip_module_remove(void *handle)
{
	struct hip_module *m = find_module(handle);

	if (!m)
		return;
	atomic_store(&m->base.handle, NULL);
	if (!m->registered)
		gpubpf_handles_each(&functions, kill_function_of_module, m);
	pthread_mutex_lock(&m->lock);
	gpubpf_kept_finish(&m->image);
	pthread_mutex_unlock(&m->lock);
}

struct copying {
	size_t offset, size;
	void *copy;
};

static void copy_image(const struct gpubpf_kept *kept, void *arg)
{
	struct copying *c = arg;

	c->copy = malloc(c->size);
	if (c->copy)
		memcpy(c->copy, (const char *)kept->data + c->offset, c->size);
}

void *hip_module_image(struct hip_module *m, size_t offset, size_t *size, const char **why)
{
	struct copying c = { .offset = offset };

	pthread_mutex_lock(&m->lock);
	if (!*size)
		*size = m->image.size;
	c.size = *size;
	*why = gpubpf_kept_read(&m->image, copy_image, &c);
	pthread_mutex_unlock(&m->lock);
	if (!*why && !c.copy)
		*why = "out of memory";
	return c.copy;
}

static bool has_code_object(struct hip_module *m, uint64_t code_object)
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
			if (h != &except->base && atomic_load(&h->handle) &&
			    has_code_object((struct hip_module *)h, code_object))
				return true;
	return false;
}

void hip_function_add(const void *handle, void *module, const char *name)
{
	struct hip_module *m = find_module(module);
	struct hip_function *f;

	if (!m || find_function(handle) || !(f = calloc(1, sizeof(*f) + strlen(name) + 1)))
		return;
	strcpy(f->name, name);
	f->base.handle = (void *)handle;
	f->module = m;
	gpubpf_handles_add(&functions, &f->base);
}

static void create_kernel(struct hip_function *f)
{
	struct gpubpf_hook_kernel *kernel;

	if (gpubpf_hook_program_create(&hip_hook_ops, f, &f->program) < 0)
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
