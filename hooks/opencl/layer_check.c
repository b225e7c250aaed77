/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects that OpenCL calls bypassed the layer. Some OpenCL loaders, such as the CUDA toolkit's, ignore OPENCL_LAYERS.
 * The layer's library is also preloaded, so that it can report this when the application ends. This code runs only
 * then.
 */
#include "opencl.h"
#include "hooks/process/dlsym.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#define LOADER "libOpenCL.so"
#define DRIVER_ENTRY "clGetExtensionFunctionAddress" /* function of cl_khr_icd by which a loader enters a driver */
#define OBJECTS_MAX 1024

struct loaded {
	char *objects[OBJECTS_MAX]; /* paths of loaded objects, except OpenCL loaders; some may be drivers */
	size_t nobjects;
	char *loader;
	bool knows_layers;
};

static bool is_loader(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strncmp(slash ? slash + 1 : path, LOADER, strlen(LOADER));
}

/*
 * Returns true if the loaded object contains the text. An OpenCL loader that supports layers contains the string
 * "OPENCL_LAYERS".
 */
static bool has_text(const struct dl_phdr_info *info, const char *text)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_R &&
		    memmem((const char *)info->dlpi_addr + p->p_vaddr, p->p_filesz, text, strlen(text)))
			return true;
	}
	return false;
}

/*
 * Callback of dl_iterate_phdr(), which holds the dynamic linker's lock. Therefore the callback only collects the paths
 * of loaded objects.
 */
static int note_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct loaded *l = arg;

	if (!info->dlpi_name || info->dlpi_name[0] != '/')
		return 0;
	if (is_loader(info->dlpi_name)) {
		if (l->loader && !l->knows_layers)
			return 0; /* report the first OpenCL loader that ignores layers */
		l->knows_layers = has_text(info, "OPENCL_LAYERS");
		free(l->loader);
		l->loader = strdup(info->dlpi_name);
	} else if (l->nobjects < OBJECTS_MAX) {
		l->objects[l->nobjects++] = strdup(info->dlpi_name);
	}
	return 0;
}

static bool is_driver(const char *path)
{
	void *lib = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL, *entry;
	Dl_info at;
	bool own;

	if (!lib)
		return false;
	/* dlsym() may also find the function in a dependency of the library */
	entry = gpubpf_dlsym_next()(lib, DRIVER_ENTRY);
	own = entry && dladdr(entry, &at) && at.dli_fname && !strcmp(at.dli_fname, path);
	dlclose(lib);
	return own;
}

/* Returns true if an OpenCL driver is loaded. An application that links OpenCL without using it loads no driver. */
static bool is_opencl_used(const struct loaded *l)
{
	for (size_t i = 0; i < l->nobjects; i++)
		if (is_driver(l->objects[i]))
			return true;
	return false;
}

/*
 * Report that OpenCL calls bypassed the layer. If another adapter has joined the session, the agent does not know
 * whether any OpenCL kernel ran.
 */
static void report_bypass(const struct loaded *l)
{
	const char *what = gpubpf_hook_active() ? "OpenCL kernels, if any ran, were not probed" :
						  "OpenCL kernels ran unprobed";

	ocl_device_init();
	if (gpubpf_hook_init(&ocl_hook_ops))
		return; /* no session, or the user selected another runtime */
	if (l->knows_layers)
		gpubpf_log_once("%s: %s did not load gpubpf's layer; did the program change OPENCL_LAYERS? It must "
				"keep the entry that gpubpf added",
				what, l->loader);
	else
		gpubpf_log_once("%s: the program's loader %s ignores OPENCL_LAYERS; let it use Khronos' loader or Debian's ocl-icd-libopencl1 instead, for example with LD_LIBRARY_PATH",
				what, l->loader);
}

__attribute__((destructor)) static void report_at_exit(void)
{
	static struct loaded l; /* static, because exit() may run on a small stack */

	if (ocl)
		return;
	dl_iterate_phdr(note_object, &l);
	if (l.loader && is_opencl_used(&l))
		report_bypass(&l);
	for (size_t i = 0; i < l.nobjects; i++)
		free(l.objects[i]);
	free(l.loader);
}
