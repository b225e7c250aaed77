/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the application call the thunks. The application links them, since the library is preloaded, or looks them up
 * by dlsym() or cuGetProcAddress(). Finds the runtime's functions that the thunks call.
 *
 * The library links no other library, so it loads into every process. Functions that an old C library has in libdl are
 * weak.
 */
#include "private.h"

#include <dlfcn.h>
#include <string.h>

#pragma weak dladdr
#pragma weak dlopen
#pragma weak dlclose
#pragma weak dlerror
#pragma weak dl_iterate_phdr

enum { CUDA_ERROR_NOT_FOUND = 500, CL_INVALID_OPERATION = -59 };

void *idle_slots[IDLE_FUNCTIONS];
struct idle_next idle_next;

/* the runtime's functions that the thunks call; NULL until they are found */
static void *real[IDLE_FUNCTIONS];

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_ACQUIRE)

/* Store `to` if the word is NULL. Returns the word's value after that. */
static void *store_first(void **word, void *to)
{
	void *have = NULL;

	return __atomic_compare_exchange_n(word, &have, to, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? to : have;
}

static void *thunk_of(uint32_t function)
{
	return idle_thunks + function * IDLE_THUNK_SIZE;
}

static bool is_thunk(const void *address)
{
	return (size_t)((const char *)address - idle_thunks) < IDLE_FUNCTIONS * IDLE_THUNK_SIZE;
}

/* ---- the C library's dlsym() ---- */

struct search {
	bool is_after_own; /* the walk has passed this library */
	void *first, *next;
};

/* dl_iterate_phdr() callback. The files are in the order in which the dynamic linker searches them. */
static int find_dlsym(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct search *s = arg;
	void *found = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			found = idle_symbol(info->dlpi_addr,
					    (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), "dlsym");
	if (found == (void *)dlsym) {
		s->is_after_own = true;
		return 0;
	}
	s->first = s->first ? s->first : found;
	s->next = s->is_after_own ? found : NULL;
	return s->next != NULL;
}

static void *find_nothing(void *handle, const char *name)
{
	return NULL;
}

idle_dlsym_fn idle_next_dlsym(void)
{
	static void *found;
	void *fn = LOAD(found);

	if (!fn && dl_iterate_phdr) {
		struct search s = { 0 };

		dl_iterate_phdr(find_dlsym, &s);
		fn = s.next ? s.next : s.first;
		__atomic_store_n(&found, fn, __ATOMIC_RELEASE);
	}
	return fn ? (idle_dlsym_fn)fn : find_nothing;
}

/* ---- the runtimes' functions ---- */

/* Look up the name in a file and in its dependencies, if the file is loaded. */
static void *find_in_file(const char *file, const char *name)
{
	void *handle = dlopen ? dlopen(file, RTLD_LAZY | RTLD_NOLOAD) : NULL;
	void *found = handle ? idle_next_dlsym()(handle, name) : NULL;

	if (handle)
		dlclose(handle);
	return is_thunk(found) ? NULL : found;
}

/*
 * The dynamic linker searches the global scope first, then the caller's own dependencies. If neither has the function,
 * the caller has the thunk's address from another file.
 */
void *idle_find(enum idle_runtime runtime, const char *symbol, const void *caller)
{
	void *found = idle_next_dlsym()(RTLD_NEXT, symbol);
	Dl_info info;

	if (is_thunk(found))
		found = NULL;
	if (!found && caller && dladdr && dladdr(caller, &info) && info.dli_fname && info.dli_fname[0])
		found = find_in_file(info.dli_fname, symbol);
	return found ? found : find_in_file(runtime == IDLE_CUDA ? "libcuda.so.1" : "libOpenCL.so.1", symbol);
}

static enum idle_runtime runtime_of(uint32_t function)
{
	return function < IDLE_clCreateKernel ? IDLE_CUDA : IDLE_OPENCL;
}

/* Returns the recorder of a function, with its entry of idle_next in *next. Returns NULL if it has no recorder. */
static void *recorder_of(uint32_t function, void ***next)
{
	switch (function) {
#define IDLE_RECORDER(result, name, parameters)   \
	case IDLE_##name:                          \
		*next = (void **)&idle_next.name;  \
		return (void *)idle_##name;
#include "recorders.def"
	}
	return NULL;
}

/*
 * Is it the function that calls of the thunk reach without this library? Other libraries have functions of the same
 * names: the OpenCL loader looks up the functions of the vendors' libraries.
 */
static bool is_of_runtime(uint32_t function, void *found)
{
	const char *prefix = runtime_of(function) == IDLE_CUDA ? "libcuda." : "libOpenCL", *name;
	Dl_info info;

	if (!dladdr || !dladdr(found, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	return !strncmp(name ? name + 1 : info.dli_fname, prefix, strlen(prefix)) ||
	       found == idle_next_dlsym()(RTLD_NEXT, idle_name_of(function));
}

/* The slots keep the function's address, so its file must stay loaded when the application closes it. */
static void keep_loaded(const void *function)
{
	Dl_info info;

	if (dlopen && dladdr && dladdr(function, &info) && info.dli_fname)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/*
 * Use `found` as the runtime's function of this thunk. Returns false if the thunk stands for another function, for
 * example of a second version of the runtime.
 */
static bool adopt(uint32_t function, void *found)
{
	void **next, *recorder = recorder_of(function, &next), *have = LOAD(real[function]);

	if (have != found && (have || !is_of_runtime(function, found) || store_first(&real[function], found) != found))
		return false;
	if (!have)
		keep_loaded(found);
	if (recorder)
		store_first(next, found);
	store_first(&idle_slots[function], recorder ? recorder : found);
	return true;
}

static int64_t report_missing_cuda(void)
{
	return CUDA_ERROR_NOT_FOUND;
}

static int64_t report_missing_opencl(void)
{
	return CL_INVALID_OPERATION;
}

static void *return_null(void)
{
	return NULL;
}

/* Returns the function that a call gets whose runtime is not loaded. */
static void *missing(uint32_t function)
{
	switch (function) {
	case IDLE_clCreateKernel:
	case IDLE_clCloneKernel:
	case IDLE_clGetExtensionFunctionAddress:
	case IDLE_clGetExtensionFunctionAddressForPlatform:
		return (void *)return_null;
	}
	return runtime_of(function) == IDLE_CUDA ? (void *)report_missing_cuda : (void *)report_missing_opencl;
}

void *idle_resolve(uint32_t function, const void *caller)
{
	void *found = idle_find(runtime_of(function), idle_name_of(function), caller);

	if (!found)
		return missing(function);
	return adopt(function, found) ? LOAD(idle_slots[function]) : found;
}

/* ---- look-ups ---- */

struct idle_answer idle_answer_dlsym(void *handle, const char *name, const void *caller)
{
	int function = !name || handle == RTLD_NEXT ? -1 : idle_function_of(name);
	void *found;

	if (function < 0)
		return (struct idle_answer){ 0 };
	found = idle_next_dlsym()(handle, name);
	if (is_thunk(found))
		found = idle_find(runtime_of(function), name, handle == RTLD_DEFAULT ? caller : NULL);
	if (!found) /* fails, and so sets the text of dlerror() */
		found = idle_next_dlsym()(RTLD_NEXT, name);
	else if (adopt(function, found))
		found = thunk_of(function);
	if (found && dlerror)
		dlerror(); /* the look-ups of adopt() may have failed, but this one has not */
	return (struct idle_answer){ found, true };
}

/* Find the driver's functions for all thunks. */
static void find_all_cuda(void)
{
	static bool done;

	if (LOAD(done))
		return;
	for (uint32_t i = 0; runtime_of(i) == IDLE_CUDA; i++) {
		void *found = LOAD(real[i]) ? NULL : idle_find(IDLE_CUDA, idle_name_of(i), NULL);

		if (found)
			adopt(i, found);
	}
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
}

/*
 * Replace a function of the driver by its thunk. The driver chooses the function by the CUDA version, so only the
 * address identifies it.
 */
static int replace(int error, void **function)
{
	if (error || !function || !*function)
		return error;
	find_all_cuda();
	for (uint32_t i = 0; runtime_of(i) == IDLE_CUDA; i++)
		if (*function == LOAD(real[i])) {
			*function = thunk_of(i);
			break;
		}
	return error;
}

int idle_cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
	return replace(idle_next.cuGetProcAddress(name, function, version, flags), function);
}

int idle_cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
	return replace(idle_next.cuGetProcAddress_v2(name, function, version, flags, status), function);
}

/* ---- the interface for the agent ---- */

static void **slot_of(const char *symbol)
{
	int function = idle_function_of(symbol);
	void **next = NULL;

	if (function < 0)
		return NULL;
	return recorder_of(function, &next) ? next : &idle_slots[function];
}

__attribute__((visibility("default"))) bool gpubpf_idle_open(uint32_t version, struct gpubpf_idle *idle)
{
	if (version != GPUBPF_IDLE_VERSION)
		return false;
	*idle = (struct gpubpf_idle){ slot_of, idle_use_module, idle_find_kernel };
	return true;
}
