/* SPDX-License-Identifier: Apache-2.0 */
/* Records the image from which each module, library and function was loaded. */
#include "cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backends/cuda/wire/fatbin_format.h"
#include "hooks/process/prepared.h"

#define MAX_UNLOAD_WAIT_NS 5000000000ull /* how long an unload call waits for agent threads that use the module's handle */

static struct gpubpf_handles modules = GPUBPF_HANDLES_INIT, functions = GPUBPF_HANDLES_INIT;

static bool is_inactive; /* $GPUBPF_BACKEND names another runtime, or the driver is too old */

static void join_session(void)
{
	int err = gpubpf_hook_init(&cuda_hook_ops);

	is_inactive = err == -EBUSY || cuda_missing_function;
	if (!err && cuda_missing_function)
		gpubpf_log_once("the NVIDIA driver is too old: it has no %s; kernels run unprobed until a newer one is installed",
				cuda_missing_function);
}

bool cuda_active(void)
{
	static pthread_once_t joined = PTHREAD_ONCE_INIT;

	pthread_once(&joined, join_session);
	return !is_inactive && gpubpf_hook_active();
}

static void store_image(struct cuda_module *m, const void *image)
{
	size_t size = 0, n;
	void *linked = cuda_image_linked(image, &n);

	image = cuda_image_bounds(image, &size);
	if (!linked)
		linked = cuda_jit_ptx(image, size, &n);
	gpubpf_kept_init(linked ? &m->code : &m->image, image, size);
	if (linked)
		m->image = (struct gpubpf_kept){ .data = linked, .size = n, .owned = true };
}

static void store_image_file(struct cuda_module *m, const char *path)
{
	size_t n;
	void *text;

	gpubpf_kept_init_file(&m->image, path);
	text = cuda_jit_ptx(m->image.data, m->image.size, &n);
	if (!text)
		return;
	m->code = m->image;
	m->image = (struct gpubpf_kept){ .data = text, .size = n, .owned = true };
}

struct cuda_module *cuda_module_find(void *handle)
{
	return (struct cuda_module *)gpubpf_handles_find(&modules, handle);
}

/* Release a function's twins and its state in the launch path. The adapter's record of the function stays. */
static void release_function(struct cuda_function *f)
{
	if (!gpubpf_hook_kernel_is_matched(f->kernel))
		return;
	gpubpf_hook_kernel_destroy(f->kernel);
	gpubpf_hook_program_destroy(f->program);
}

bool cuda_function_use(struct cuda_function *f)
{
	if (gpubpf_users_enter(&f->users))
		return true;
	cuda_function_leave(f);
	return false;
}

void cuda_function_leave(struct cuda_function *f)
{
	if (gpubpf_users_leave(&f->users))
		release_function(f);
}

/*
 * The function was unloaded: mark its record as dead and release its twins. The record stays allocated. If the driver
 * reuses the handle, look-ups find the newer record first. Agent threads may use the handle until the launch path has
 * released the kernel.
 */
static void kill_function(struct cuda_function *f)
{
	if (gpubpf_users_kill(&f->users))
		release_function(f);
	atomic_store(&f->base.handle, NULL);
}

static void kill_function_of_module(struct gpubpf_handle *record, void *module)
{
	struct cuda_function *f = (struct cuda_function *)record;

	if (f->module == module && atomic_load(&record->handle))
		kill_function(f);
}

/* Protects the images of all modules: one thread may unload a module while another thread reads its image. */
static pthread_mutex_t images = PTHREAD_MUTEX_INITIALIZER;

static void kill_module_of_library(struct gpubpf_handle *record, void *library);

bool cuda_module_pin_handle(struct cuda_module *m)
{
	pthread_mutex_lock(&m->handle_lock);
	if (atomic_load(&m->base.handle))
		return true;
	pthread_mutex_unlock(&m->handle_lock);
	return false;
}

void cuda_module_unpin_handle(struct cuda_module *m)
{
	pthread_mutex_unlock(&m->handle_lock);
}

/*
 * Set the handle to NULL after no agent thread uses it any more. The driver may block the agent thread, so the
 * application's thread waits at most MAX_UNLOAD_WAIT_NS.
 */
static void clear_handle(struct cuda_module *m)
{
	bool locked = gpubpf_mutex_lock_until(&m->handle_lock, gpubpf_now_ns() + MAX_UNLOAD_WAIT_NS);

	atomic_store(&m->base.handle, NULL);
	if (locked)
		pthread_mutex_unlock(&m->handle_lock);
}

static void kill_module(struct cuda_module *m)
{
	clear_handle(m);
	if (m->library)
		gpubpf_handles_each(&modules, kill_module_of_library, m);
	gpubpf_handles_each(&functions, kill_function_of_module, m);
	pthread_mutex_lock(&images);
	gpubpf_kept_finish(&m->image);
	gpubpf_kept_finish(&m->code);
	pthread_mutex_unlock(&images);
}

static void kill_module_of_library(struct gpubpf_handle *record, void *library)
{
	struct cuda_module *m = (struct cuda_module *)record;

	if (m->of == library && atomic_load(&record->handle))
		kill_module(m);
}

void cuda_module_remove(void *handle)
{
	struct cuda_module *m = cuda_module_find(handle);

	if (m)
		kill_module(m);
}

static struct cuda_module *add_module(void *handle, bool library)
{
	static atomic_uint_least64_t modules;
	struct cuda_module *m = cuda_active() ? calloc(1, sizeof(*m)) : NULL;

	if (!m)
		return NULL;
	/* remove the record of an older module with this handle, whose unloading was not intercepted */
	cuda_module_remove(handle);
	m->base.handle = handle;
	m->number = atomic_fetch_add(&modules, 1) + 1;
	pthread_mutex_init(&m->handle_lock, NULL);
	m->library = library;
	if (!library)
		cuda_next.cuCtxGetCurrent(&m->context);
	return m;
}

static void note_file(struct cuda_module *m, const char *path)
{
	const char *slash = strrchr(path, '/');

	const char *name = slash ? slash + 1 : path;

	memcpy(m->from, name, strnlen(name, sizeof(m->from) - 1));
}

/*
 * Record the file that contains the image. If the image is not part of a loaded file, record the file whose code loads
 * it.
 */
static void note_origin(struct cuda_module *m, const void *image, const void *caller)
{
	Dl_info where;

	if ((dladdr(image, &where) && where.dli_fname) || (dladdr(caller, &where) && where.dli_fname))
		note_file(m, where.dli_fname);
}

void cuda_module_add(void *handle, bool library, const void *image, bool file, const void *caller)
{
	struct cuda_module *m = add_module(handle, library);

	if (!m)
		return;
	if (file)
		note_file(m, image);
	else
		note_origin(m, image, caller);
	if (file)
		store_image_file(m, image);
	else
		store_image(m, image);
	gpubpf_handles_add(&modules, &m->base);
}

void cuda_module_add_of(void *handle, const struct cuda_module *library)
{
	struct cuda_module *m = cuda_module_find(handle);

	if ((m && m->of == library) || !(m = add_module(handle, false)))
		return;
	m->of = library;
	m->number = library->number;
	memcpy(m->from, library->from, sizeof(m->from));
	pthread_mutex_lock(&images);
	gpubpf_kept_copy(&m->image, &library->image);
	gpubpf_kept_copy(&m->code, &library->code);
	pthread_mutex_unlock(&images);
	gpubpf_handles_add(&modules, &m->base);
}

struct copying {
	uint32_t sm;
	void *copy;
	size_t size;
	int err;
};

static void copy_image(const struct gpubpf_kept *kept, void *arg)
{
	struct copying *c = arg;

	c->err = cuda_image_copy(kept->data, kept->size, c->sm, &c->copy, &c->size);
}

static void store_learned(const void *image, void *module)
{
	struct cuda_module *m = module;
	Dl_info where;
	bool is_in_file = dladdr(image, &where) && where.dli_fname;

	pthread_mutex_lock(&images);
	if (!m->is_searched && is_in_file)
		note_file(m, where.dli_fname);
	if (!m->is_searched)
		store_image(m, image);
	m->is_searched = true;
	pthread_mutex_unlock(&images);
}

/*
 * Look for the image of a module that was loaded before the attach. The search and dladdr() take locks of the dynamic
 * linker. A thread in dlopen() or dlclose() holds them while a constructor or destructor waits for the lock of images.
 * So the caller does not hold that lock.
 */
static void learn_image(struct cuda_module *m, const char *kernel)
{
	const char *why = cuda_image_learn(kernel, store_learned, m);

	pthread_mutex_lock(&images);
	if (why && !m->is_searched)
		m->image.why = why;
	m->is_searched = true;
	pthread_mutex_unlock(&images);
}

/* attributes of a function that its code determines: registers, memory, PTX and machine code version */
enum { FIRST_ATTRIBUTE = 0, LAST_ATTRIBUTE = 6, MAX_PARAMETERS = 4096 };

static bool have_same_attributes(CUfunction f, CUfunction g)
{
	for (int i = FIRST_ATTRIBUTE; cuda_next.cuFuncGetAttribute && i <= LAST_ATTRIBUTE; i++) {
		int a = 0, b = 0;

		if (cuda_next.cuFuncGetAttribute(&a, i, f) != cuda_next.cuFuncGetAttribute(&b, i, g) || a != b)
			return false;
	}
	return true;
}

static bool have_same_parameters(CUfunction f, CUfunction g)
{
	CUresult error = cuda_next.cuFuncGetParamInfo ? 0 : CUDA_ERROR_NOT_FOUND;

	for (size_t i = 0; !error && i < MAX_PARAMETERS; i++) {
		size_t a[2] = { 0 }, b[2] = { 0 };

		error = cuda_next.cuFuncGetParamInfo(f, i, &a[0], &a[1]);
		if (error != cuda_next.cuFuncGetParamInfo(g, i, &b[0], &b[1]) || a[0] != b[0] || a[1] != b[1])
			return false;
	}
	return true;
}

/* Load a copy of the module's image, so that the driver runs without the lock of images: it may load libraries. */
static CUmodule load_copy(struct cuda_module *m, uint32_t sm)
{
	struct copying c = { sm };
	CUmodule module = NULL;
	char *text;

	pthread_mutex_lock(&images);
	gpubpf_kept_read(&m->image, copy_image, &c);
	pthread_mutex_unlock(&images);
	text = c.copy ? realloc(c.copy, c.size + 1) : NULL;
	if (text)
		text[c.size] = 0; /* text of a file has no zero in its size */
	if (text && cuda_direct.module_load(&module, text, 0, NULL, NULL))
		module = NULL;
	free(text ? text : c.copy);
	return module;
}

bool cuda_module_matches(struct cuda_module *m, CUfunction f, const char *kernel, uint32_t sm)
{
	CUmodule module = load_copy(m, sm);
	CUfunction g;
	bool same;

	same = module && f && !cuda_direct.module_function(&g, module, kernel) && have_same_attributes(f, g) &&
	       have_same_parameters(f, g);
	if (module)
		cuda_direct.module_unload(module);
	return same;
}

void *cuda_module_image(struct cuda_module *m, const char *kernel, bool code, uint32_t sm, size_t *size, const char **why)
{
	struct copying c = { sm };
	const char *gone;
	bool must_learn;

	pthread_mutex_lock(&images);
	must_learn = m->is_older && !m->is_searched;
	pthread_mutex_unlock(&images);
	if (must_learn)
		learn_image(m, kernel);
	pthread_mutex_lock(&images);
	gone = gpubpf_kept_read(code && m->code.data ? &m->code : &m->image, copy_image, &c);
	pthread_mutex_unlock(&images);
	if (gone || c.err < 0)
		*why = gone ? gone : c.err == -ENOMEM ? "out of memory" : "its image is invalid";
	*size = c.size;
	return c.copy;
}

static void kill_function_of_context(struct gpubpf_handle *record, void *context)
{
	struct cuda_function *f = (struct cuda_function *)record;

	if (f->context == context && atomic_load(&record->handle))
		kill_function(f);
}

static void kill_module_of_context(struct gpubpf_handle *record, void *context)
{
	struct cuda_module *m = (struct cuda_module *)record;

	if (m->context == context && atomic_load(&record->handle))
		kill_module(m);
}

void cuda_modules_end(CUcontext context)
{
	gpubpf_handles_each(&functions, kill_function_of_context, context);
	gpubpf_handles_each(&modules, kill_module_of_context, context);
}

static struct cuda_function *lookup_function(void *handle)
{
	return (struct cuda_function *)gpubpf_handles_find(&functions, handle);
}

static void add_function(void *handle, struct cuda_module *module, const char *name, bool is_kernel)
{
	struct cuda_function *f = calloc(1, sizeof(*f));

	if (!f)
		return;
	f->base.handle = handle;
	f->module = module;
	f->is_kernel = is_kernel;
	if (!is_kernel)
		f->context = module->context;
	if (!is_kernel && !f->context)
		cuda_next.cuCtxGetCurrent(&f->context);
	f->cache_config = CUDA_UNSET;
	for (int i = 0; i < CUDA_ATTRIBUTES; i++)
		f->attribute[i] = CUDA_UNSET;
	if (gpubpf_hook_program_create(&cuda_hook_ops, f, &f->program) < 0 ||
	    gpubpf_hook_kernel_create(f->program, f, name, &f->kernel) < 0) {
		gpubpf_hook_program_destroy(f->program);
		free(f);
		return;
	}
	gpubpf_handles_add(&functions, &f->base);
}

/*
 * Returns the library that m represents in a context, or m if it is a module without a library. Both have the same
 * functions.
 */
static const struct cuda_module *defining_module(const struct cuda_module *m)
{
	return m->of ? m->of : m;
}

void cuda_function_add(void *handle, struct cuda_module *module, const char *name, bool is_kernel)
{
	static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
	struct cuda_function *f = module ? lookup_function(handle) : NULL;

	if (!module || (f && defining_module(f->module) == defining_module(module)))
		return;
	pthread_mutex_lock(&adding);
	f = lookup_function(handle);
	if (f && defining_module(f->module) != defining_module(module)) {
		kill_function(f); /* the handle was reused: the unloading of the older module was not intercepted */
		f = NULL;
	}
	if (!f)
		add_function(handle, module, name, is_kernel);
	pthread_mutex_unlock(&adding);
}

struct cuda_function *cuda_function_settings(struct cuda_function *f)
{
	struct cuda_function *kernel = atomic_load_explicit(&f->settings_owner, memory_order_acquire);

	return kernel ? kernel : f;
}

static void move_setting(atomic_int *from, atomic_int *to)
{
	int value = atomic_load(from), unset = CUDA_UNSET;

	if (value != CUDA_UNSET)
		atomic_compare_exchange_strong(to, &unset, value);
}

void cuda_function_share(void *handle, struct cuda_function *kernel)
{
	struct cuda_function *f = lookup_function(handle);

	if (!f || f->is_kernel || atomic_load(&f->settings_owner))
		return;
	for (int i = 0; i < CUDA_ATTRIBUTES; i++)
		move_setting(&f->attribute[i], &kernel->attribute[i]);
	move_setting(&f->cache_config, &kernel->cache_config);
	atomic_store_explicit(&f->settings_owner, kernel, memory_order_release);
}

CUfunction cuda_function_in_context(const struct cuda_function *f, CUcontext context)
{
	CUfunction plain = atomic_load(&f->base.handle);
	int mode;

	if (!plain || !f->is_kernel || !cuda_next.cuKernelGetFunction)
		return plain;
	if (cuda_enter(&cuda_direct, context, &mode))
		return NULL;
	if (cuda_next.cuKernelGetFunction(&plain, (CUkernel)plain))
		plain = NULL;
	cuda_leave(&cuda_direct, &mode);
	return plain;
}

/* Copy the record of the idle library. If it has no image, the image is looked for as in other processes. */
static void take_recorded(const struct gpubpf_idle_module *from, void *module)
{
	struct cuda_module *m = module;

	if (!m->library)
		m->context = from->context;
	note_file(m, from->path ? from->path : from->from);
	if (from->path)
		store_image_file(m, from->path);
	else if (from->image)
		store_image(m, from->image);
	m->is_searched = m->image.data;
}

/* Record a module that the application loaded before the attach. Its image is found when a twin needs it. */
static struct cuda_module *add_older_module(void *handle, bool library)
{
	static pthread_mutex_t adding = PTHREAD_MUTEX_INITIALIZER;
	const struct gpubpf_idle *idle = gpubpf_idle_library();
	struct cuda_module *m;

	pthread_mutex_lock(&adding);
	m = cuda_module_find(handle);
	if (!m && (m = add_module(handle, library))) {
		m->is_older = true;
		if (idle)
			idle->use_module(handle, take_recorded, m);
		gpubpf_handles_add(&modules, &m->base);
	}
	pthread_mutex_unlock(&adding);
	return m;
}

/* Returns the record of the function's module. In an attached session, records a module that is older. */
static struct cuda_module *find_module_of_function(void *handle, bool library)
{
	struct cuda_module *m = cuda_module_find(handle);

	return m || !gpubpf_hook_attached() ? m : add_older_module(handle, library);
}

/*
 * Query the driver for a function whose creation the agent did not intercept. This happens when the application
 * enumerates functions, and with functions that are older than the session of a tool that attached.
 */
static struct cuda_function *query_function(void *handle)
{
	struct cuda_module *module = NULL;
	const char *name = NULL;
	bool is_kernel = true;
	CUlibrary library;
	CUmodule owner;

	if (cuda_next.cuKernelGetLibrary && !cuda_next.cuKernelGetLibrary(&library, handle) &&
	    cuda_next.cuKernelGetName && !cuda_next.cuKernelGetName(&name, handle)) {
		module = find_module_of_function(library, true);
	} else if (cuda_next.cuFuncGetModule && !cuda_next.cuFuncGetModule(&owner, handle) && cuda_next.cuFuncGetName &&
		   !cuda_next.cuFuncGetName(&name, handle)) {
		is_kernel = false;
		module = find_module_of_function(owner, false);
	}
	if (!module || !name)
		return NULL;
	cuda_function_add(handle, module, name, is_kernel);
	return lookup_function(handle);
}

struct cuda_function *cuda_function_find(void *handle)
{
	struct cuda_function *f = lookup_function(handle);

	return f ? f : query_function(handle);
}

static void kill_any_function(struct gpubpf_handle *record, void *unused)
{
	if (atomic_load(&record->handle))
		kill_function((struct cuda_function *)record);
}

static void kill_any_module(struct gpubpf_handle *record, void *unused)
{
	if (atomic_load(&record->handle))
		kill_module((struct cuda_module *)record);
}

void cuda_modules_end_all(void)
{
	gpubpf_handles_each(&functions, kill_any_function, NULL);
	gpubpf_handles_each(&modules, kill_any_module, NULL);
}

void cuda_modules_forget(void)
{
	gpubpf_handles_clear(&functions);
	gpubpf_handles_clear(&modules);
}
