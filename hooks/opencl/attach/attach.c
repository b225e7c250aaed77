/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks OpenCL for a tool that attaches to this process (hooks/attach/attach.h). In such a session, the entries of the
 * table `ocl` call the vendor of their first argument. A few OpenCL functions have no object as first argument. Their
 * entries are in this file.
 */
#include "attach.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "hooks/launch/attacher.h"
#include "hooks/process/dlsym.h"
#include "hooks/process/time.h"
#include "vendor.h"

#define ENTRY(name) (offsetof(cl_icd_dispatch, name) / sizeof(void *))
#define WAIT_LEFT_NS 60000000000ull /* time limit in ns for the application's OpenCL calls to return */
#define WAIT_TWINS_NS 60000000000ull /* time limit in ns for the running twins to end */

/* A call or twin did not end within its time limit. The records stay, and no later session hooks OpenCL. */

/* Returns the vendor's own functions for an object. Without an object, returns the first vendor's functions. */
static const cl_icd_dispatch *vendor_of(const void *object)
{
	void **table = object ? *(void **const *)object : NULL;

	for (uint32_t i = 0; ocl_tables[i].table; i++)
		if (!table || ocl_tables[i].table == table)
			return (const cl_icd_dispatch *)ocl_tables[i].saved;
	return (const cl_icd_dispatch *)table;
}

/* dl_iterate_phdr() callback: store a copy of the OpenCL loader's path in *arg. */
static int find_loader(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *name = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;

	if (!name || strncmp(name, "/libOpenCL", 10))
		return 0;
	*(char **)arg = strdup(info->dlpi_name);
	return 1;
}

/* Return the OpenCL loader's list of platforms, so that devices have the same numbers as with gpubpf run. */
static cl_int CL_API_CALL get_platforms(cl_uint n, cl_platform_id *ids, cl_uint *count)
{
	cl_int(CL_API_CALL * get)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
	char *path = NULL;
	void *handle;
	cl_int err;

	dl_iterate_phdr(find_loader, &path);
	handle = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
	if (handle)
		*(void **)&get = gpubpf_dlsym_next()(handle, "clGetPlatformIDs");
	free(path);
	err = get ? get(n, ids, count) : CL_INVALID_VALUE;
	if (handle)
		dlclose(handle);
	return err;
}

static cl_context CL_API_CALL create_context(const cl_context_properties *properties, cl_uint n,
					     const cl_device_id *devices,
					     void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
					     void *user, cl_int *error)
{
	return vendor_of(n && devices ? devices[0] : NULL)->clCreateContext(properties, n, devices, notify, user, error);
}

static cl_context CL_API_CALL create_context_from_type(const cl_context_properties *properties, cl_device_type type,
						       void(CL_CALLBACK *notify)(const char *, const void *, size_t,
										 void *),
						       void *user, cl_int *error)
{
	const void *platform = NULL;

	for (const cl_context_properties *p = properties; p && p[0] && !platform; p += 2)
		if (p[0] == CL_CONTEXT_PLATFORM)
			platform = (const void *)p[1];
	return vendor_of(platform)->clCreateContextFromType(properties, type, notify, user, error);
}

static cl_int CL_API_CALL wait_for_events(cl_uint n, const cl_event *events)
{
	return vendor_of(n && events ? events[0] : NULL)->clWaitForEvents(n, events);
}

static cl_int CL_API_CALL unload_compiler(void)
{
	return vendor_of(NULL)->clUnloadCompiler();
}

static void *CL_API_CALL get_extension(const char *name)
{
	return vendor_of(NULL)->clGetExtensionFunctionAddress(name);
}

static void fill_tables(void)
{
	if (ocl_vendors[0])
		return;
	ocl_memory_init();
	for (size_t i = 0; i < OCL_ENTRIES; i++)
		ocl_vendors[i] = ocl_vendor_thunks + i * OCL_THUNK_SIZE;
	ocl_vendors[ENTRY(clGetPlatformIDs)] = get_platforms;
	ocl_vendors[ENTRY(clCreateContext)] = create_context;
	ocl_vendors[ENTRY(clCreateContextFromType)] = create_context_from_type;
	ocl_vendors[ENTRY(clWaitForEvents)] = wait_for_events;
	ocl_vendors[ENTRY(clUnloadCompiler)] = unload_compiler;
	ocl_vendors[ENTRY(clGetExtensionFunctionAddress)] = get_extension;
#define OCL_CALL(name) ocl_hooks[ENTRY(name)] = ocl_##name;
#include "hooks/opencl/calls.def"
#undef OCL_CALL
	/* Not hooked: the application would keep pointers to the agent's functions and call them after the detach. */
	ocl_hooks[ENTRY(clGetExtensionFunctionAddress)] = NULL;
	ocl_hooks[ENTRY(clGetExtensionFunctionAddressForPlatform)] = NULL;
}

static void attach(void)
{
	bool is_first = !atomic_load(&ocl_attached);

	if (is_first) {
		fill_tables();
		ocl = (const cl_icd_dispatch *)ocl_vendors;
		ocl_device_init();
		atomic_store(&ocl_attached, true);
	}
	ocl_tables_patch(is_first);
}

static int detach(void)
{
	uint32_t left;

	if (!atomic_exchange(&ocl_attached, false))
		return 0;
	left = ocl_tables_restore();
	if (!gpubpf_calls_wait(&ocl_inside, WAIT_LEFT_NS) || !ocl_callbacks_wait(WAIT_TWINS_NS)) {
		gpubpf_log_once("an OpenCL call or a kernel did not end within 60 s of the detach; no tool can attach to the "
				"process again");
		return -1;
	}
	ocl_programs_forget(NULL);
	ocl_contexts_release();
	ocl_memory_forget();
	gpubpf_shared_arena_release();
	return left;
}

static void after_fork(void)
{
	atomic_store(&ocl_attached, false);
	gpubpf_calls_reset(&ocl_inside);
	ocl_callbacks_after_fork();
}

const struct gpubpf_attacher ocl_attacher = { attach, detach, after_fork };
