/* SPDX-License-Identifier: Apache-2.0 */
/* Modules and libraries of the fake driver, and the handles of the functions and variables that they define. */
#include "fake.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct CUmod_st *modules; /* a new module reuses the handle of an unloaded module */
static _Atomic unsigned dead;

/* ---- modules ---- */

/* Marks the module as unloaded. The caller holds fake_lock. */
static void kill_module(struct CUmod_st *m)
{
	dead += m->alive;
	m->alive = false; /* the next module in this slot also reuses the handles of the functions */
	for (struct CUfunc_st *f = m->functions; f; f = f->next)
		f->entry = NULL;
}

static CUresult load(CUmodule *module, const void *data, struct CUlib_st *library)
{
	struct CUmod_st *m;
	CUresult error;

	if (!fake_current())
		return FAKE_INVALID_CONTEXT;
	pthread_mutex_lock(&fake_lock);
	for (m = dead ? modules : NULL; m && (m->alive || m->loading); m = m->next)
		;
	dead -= m != NULL;
	if (!m) {
		m = calloc(1, sizeof(*m));
		m->next = modules;
		modules = m;
	}
	m->alive = m->loading = true; /* another thread may destroy the context while this one reads the image */
	m->library = library;
	m->context = fake_current();
	memset(&m->image, 0, sizeof(m->image));
	pthread_mutex_unlock(&fake_lock);
	error = fake_open(&m->image, data);
	pthread_mutex_lock(&fake_lock);
	m->loading = false;
	if (error)
		kill_module(m);
	else
		*module = m;
	pthread_mutex_unlock(&fake_lock);
	return error;
}

static int of_twin(const struct fake_entry *e, const char *what)
{
	const char *at = strstr(e->from, what);

	return at && at < e->to && !strncmp(e->name, "gpubpf_twin_", 12) ? atoi(at + strlen(what)) : 0;
}

/* Limits the registers per thread of each entry. An entry that needs more registers spills the rest to the stack. */
static void limit(struct fake_image *image, int registers)
{
	for (struct fake_entry *e = image->entries; e < image->entries + image->nentries; e++) {
		int least = of_twin(e, "//fake twin-least "), spills = of_twin(e, "//fake twin-spills ");

		if (e->regs > registers) {
			e->spilled = registers < (least ? least : e->regs) ? spills ? spills : 16 : 0;
			e->regs = registers;
		}
	}
}

FAKE_EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, int *options, void **values)
{
	CUresult error = fake_check("cuModuleLoadDataEx");

	if (!error && strstr(image, ".entry gpubpf_twin_")) {
		error = fake_check("twin");
		if (getenv("FAKE_CUDA_SLOW"))
			usleep(1000 * atoi(getenv("FAKE_CUDA_SLOW")));
	}
	if (getenv("FAKE_CUDA_DLOPEN")) { /* NVIDIA's driver may load a library, for example its compiler */
		usleep(10000);
		dlclose(dlopen(NULL, RTLD_NOW));
	}
	if (!error)
		error = load(module, image, NULL);
	for (unsigned i = 0; !error && i < n; i++)
		if (options[i] == CU_JIT_MAX_REGISTERS)
			limit(&(*module)->image, (int)(uintptr_t)values[i]);
	return error;
}

FAKE_EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
	CUresult error = fake_check("cuModuleLoadData");

	return error ? error : load(module, image, NULL);
}

FAKE_EXPORT CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image)
{
	return load(module, image, NULL);
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "re");
	char *text = calloc(1, 1 << 16);

	if (f) {
		(void)!fread(text, 1, (1 << 16) - 1, f);
		fclose(f);
	}
	return text;
}

FAKE_EXPORT CUresult cuModuleLoad(CUmodule *module, const char *path)
{
	char *text = read_file(path);
	CUresult error = load(module, text, NULL);

	free(text);
	return error;
}

FAKE_EXPORT CUresult cuModuleUnload(CUmodule module)
{
	if (!module->alive)
		return FAKE_INVALID_HANDLE;
	if (getenv("FAKE_CUDA_PART") && strstr(module->image.text, ".entry gpubpf_twin_"))
		usleep(1000 * atoi(getenv("FAKE_CUDA_PART")));
	pthread_mutex_lock(&fake_lock);
	kill_module(module);
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

void fake_modules_die(CUcontext context)
{
	pthread_mutex_lock(&fake_lock);
	for (struct CUmod_st *m = modules; m; m = m->next)
		if (m->alive && m->context == context)
			kill_module(m);
	pthread_mutex_unlock(&fake_lock);
}

static struct CUfunc_st *function_of(struct CUmod_st *m, const char *name)
{
	struct fake_entry *entry = NULL;
	struct CUfunc_st *f;

	for (unsigned i = 0; i < m->image.nentries; i++)
		if (!strcmp(m->image.entries[i].name, name))
			entry = &m->image.entries[i];
	if (!entry)
		return NULL;
	pthread_mutex_lock(&fake_lock);
	for (f = m->functions; f && f->entry && f->entry != entry; f = f->next)
		;
	if (!f) {
		f = calloc(1, sizeof(*f));
		f->next = m->functions;
		m->functions = f;
	}
	if (!f->entry)
		memset(f->attribute, 0, sizeof(f->attribute));
	f->kind = 'f';
	f->module = m;
	f->entry = entry;
	pthread_mutex_unlock(&fake_lock);
	return f;
}

static bool fails_at_lookup(CUmodule module, const char *where)
{
	const char *at = module->image.text ? strstr(module->image.text, "//fake late ") : NULL;

	return at && !strncmp(at + strlen("//fake late "), where, strlen(where));
}

/* With FAKE_CUDA_STRICT a failed look-up aborts the application, as under a tool that stops at each failed call. */
static CUresult answer(CUresult error)
{
	if (error && getenv("FAKE_CUDA_STRICT"))
		abort();
	return error;
}

/* FAKE_CUDA_FIND is the delay in milliseconds of looking up a function of a twin. */
FAKE_EXPORT CUresult cuModuleGetFunction(CUfunction *f, CUmodule module, const char *name)
{
	if (!module->alive)
		return answer(FAKE_INVALID_HANDLE);
	if (getenv("FAKE_CUDA_FIND") && strstr(module->image.text, ".entry gpubpf_twin_"))
		usleep(1000 * atoi(getenv("FAKE_CUDA_FIND")));
	if (fails_at_lookup(module, "function"))
		return answer(FAKE_INVALID_IMAGE);
	*f = function_of(module, name);
	return answer(*f ? 0 : CUDA_ERROR_NOT_FOUND);
}

uint64_t fake_variable(CUmodule m, const char *name)
{
	for (unsigned i = 0; i < m->image.nvariables; i++)
		if (!strcmp(m->image.variables[i].name, name))
			return m->image.variables[i].address;
	return 0;
}

static void linger(CUmodule module)
{
	const char *ms = getenv("FAKE_CUDA_LINGER");

	if (!ms || strstr(module->image.text, ".entry gpubpf_twin_"))
		return;
	usleep(1000 * atoi(ms));
	if (!module->alive)
		abort();
}

FAKE_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module, const char *name)
{
	if (!module || !module->alive)
		return answer(FAKE_INVALID_HANDLE);
	if (fails_at_lookup(module, "variable"))
		return answer(FAKE_INVALID_IMAGE);
	linger(module);
	*address = fake_variable(module, name);
	if (size)
		*size = 8;
	return answer(*address ? 0 : CUDA_ERROR_NOT_FOUND);
}

/* ---- libraries: no context owns a library; each context that uses a library has its own module of the library ---- */

FAKE_EXPORT CUresult cuLibraryLoadData(CUlibrary *library, const void *image, int *jit, void **jit_values,
				       unsigned njit, int *options, void **values, unsigned n)
{
	struct CUlib_st *l = calloc(1, sizeof(*l));

	l->alive = true;
	l->text = strdup(fake_code(image));
	*library = l;
	return 0;
}

FAKE_EXPORT CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, int *jit, void **jit_values,
					   unsigned njit, int *options, void **values, unsigned n)
{
	char *text = read_file(path);
	CUresult error = cuLibraryLoadData(library, text, NULL, NULL, 0, NULL, NULL, 0);

	free(text);
	return error;
}

FAKE_EXPORT CUresult cuLibraryUnload(CUlibrary library)
{
	pthread_mutex_lock(&fake_lock);
	library->alive = false;
	for (unsigned i = 0; i < library->nmodules; i++)
		if (library->modules[i]->alive && library->modules[i]->library == library)
			kill_module(library->modules[i]);
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

FAKE_EXPORT CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library)
{
	CUresult error;

	if (!library->alive)
		return FAKE_INVALID_HANDLE;
	for (unsigned i = 0; i < library->nmodules; i++)
		if (library->modules[i]->alive && library->modules[i]->library == library &&
		    library->modules[i]->context == fake_current()) {
			*module = library->modules[i];
			return 0;
		}
	error = load(module, library->text, library);
	if (!error)
		library->modules[library->nmodules++] = *module;
	return error;
}

FAKE_EXPORT CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
	char entry[160];
	struct CUkern_st *k;

	snprintf(entry, sizeof(entry), ".entry %.128s", name);
	if (!library->alive || !strstr(library->text, entry))
		return CUDA_ERROR_NOT_FOUND;
	for (k = library->kernels; k && strcmp(k->name, name); k = k->next)
		;
	if (!k) {
		k = calloc(1, sizeof(*k));
		k->kind = 'k';
		k->library = library;
		snprintf(k->name, sizeof(k->name), "%s", name);
		k->next = library->kernels;
		library->kernels = k;
	}
	*kernel = k;
	return 0;
}

FAKE_EXPORT CUresult cuKernelGetFunction(CUfunction *f, CUkernel kernel)
{
	CUmodule module;
	CUresult error = cuLibraryGetModule(&module, kernel->library);

	if (error)
		return answer(error);
	*f = function_of(module, kernel->name);
	return answer(*f ? 0 : CUDA_ERROR_NOT_FOUND);
}

struct CUfunc_st *fake_function(CUfunction f)
{
	CUfunction own = f;

	if (f && f->kind == 'k' && cuKernelGetFunction(&own, (CUkernel)f))
		return NULL;
	return own && own->entry && own->module->alive ? own : NULL;
}

FAKE_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)
{
	CUmodule module;
	CUresult error = cuLibraryGetModule(&module, library);

	return error ? error : cuModuleGetGlobal_v2(address, size, module, name);
}

/* ---- the linker: its output is not PTX, and only this driver can read it ---- */

struct CUlinkState_st {
	char *text;
	size_t size;
};

FAKE_EXPORT CUresult cuLinkCreate_v2(unsigned n, int *options, void **values, CUlinkState *state)
{
	*state = calloc(1, sizeof(**state));
	(*state)->text = strdup("//machine code\n)))\n");
	(*state)->size = strlen((*state)->text);
	return 0;
}

FAKE_EXPORT CUresult cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t size, const char *name,
				      unsigned n, int *options, void **values)
{
	size = strnlen(data, size);
	state->text = realloc(state->text, state->size + size + 1);
	memcpy(state->text + state->size, data, size);
	state->size += size;
	state->text[state->size] = 0;
	return 0;
}

FAKE_EXPORT CUresult cuLinkAddFile_v2(CUlinkState state, int type, const char *path, unsigned n, int *options, void **values)
{
	return FAKE_INVALID_VALUE;
}

FAKE_EXPORT CUresult cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
	*image = state->text;
	*size = state->size + 1;
	return 0;
}

FAKE_EXPORT CUresult cuLinkDestroy(CUlinkState state)
{
	free(state->text);
	free(state);
	return 0;
}

/* ---- attributes of functions ---- */

static int shared_of(const struct CUfunc_st *f)
{
	return f->entry->from ? of_twin(f->entry, "//fake twin-shared ") : 0;
}

int fake_shared_more(const struct CUfunc_st *f)
{
	return f->attribute[8] ? f->attribute[8] : 48 * 1024 - shared_of(f);
}

FAKE_EXPORT CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f)
{
	f = fake_function(f);
	if (!f || attribute < 0 || attribute >= 16)
		return answer(FAKE_INVALID_VALUE);
	if (fails_at_lookup(f->module, "attribute"))
		return FAKE_INVALID_IMAGE;
	*value = attribute == 4 ? f->entry->regs :
		 attribute == 3 ? of_twin(f->entry, "//fake twin-frame ") + f->entry->spilled :
		 attribute == 1 ? shared_of(f) :
		 attribute == 8 ? fake_shared_more(f) :
				  f->attribute[attribute];
	return 0;
}

FAKE_EXPORT CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value)
{
	f = fake_function(f);
	if (!f || attribute < 8 || attribute >= 16 ||
	    (attribute == 8 && (value < 0 || value > FAKE_SHARED - shared_of(f))))
		return FAKE_INVALID_VALUE;
	f->attribute[attribute] = value;
	return 0;
}

FAKE_EXPORT CUresult cuKernelSetAttribute(int attribute, int value, CUkernel kernel, CUdevice device)
{
	return cuFuncSetAttribute((CUfunction)kernel, attribute, value);
}

FAKE_EXPORT CUresult cuFuncSetCacheConfig(CUfunction f, int config)
{
	return fake_function(f) ? 0 : FAKE_INVALID_HANDLE;
}

FAKE_EXPORT CUresult cuFuncGetModule(CUmodule *module, CUfunction f)
{
	f = fake_function(f);
	if (!f)
		return FAKE_INVALID_HANDLE;
	*module = f->module;
	return 0;
}

FAKE_EXPORT CUresult cuFuncGetName(const char **name, CUfunction f)
{
	f = fake_function(f);
	if (!f)
		return FAKE_INVALID_HANDLE;
	*name = f->entry->name;
	return 0;
}

FAKE_EXPORT CUresult cuKernelGetName(const char **name, CUkernel kernel)
{
	if (kernel->kind != 'k')
		return FAKE_INVALID_HANDLE;
	*name = kernel->name;
	return 0;
}

FAKE_EXPORT CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel)
{
	if (kernel->kind != 'k')
		return FAKE_INVALID_HANDLE;
	*library = kernel->library;
	return 0;
}

FAKE_EXPORT CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
	*count = module->image.nentries;
	return 0;
}

FAKE_EXPORT CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module)
{
	for (unsigned i = 0; i < n; i++)
		functions[i] = function_of(module, module->image.entries[i].name);
	return 0;
}

FAKE_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t shared)
{
	size_t all = FAKE_SHARED + 1024;

	f = fake_function(f);
	if (!f)
		return FAKE_INVALID_HANDLE;
	if (f->attribute[9]) /* attribute 9: percentage of shared memory; 0 lets the driver choose */
		all = all * f->attribute[9] / 100;
	*blocks = FAKE_REGISTERS / (f->entry->regs * threads);
	if (*blocks * threads > FAKE_MAX_THREADS)
		*blocks = FAKE_MAX_THREADS / threads;
	if (*blocks * (shared + shared_of(f)) > all)
		*blocks = all / (shared + shared_of(f));
	return 0;
}
