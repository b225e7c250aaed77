/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces and restores entries of the vendors' dispatch tables (vendor.h). */
#include "vendor.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "hooks/process/dlsym.h"
#include "hooks/process/time.h"

#define ENTRIES_BEFORE(name) (offsetof(cl_icd_dispatch, name) / sizeof(void *))
#define TABLE_ENTRIES (sizeof(cl_icd_dispatch) / sizeof(void *))
#define MAX_PLATFORMS 16 /* of one vendor's library */

_Static_assert(TABLE_ENTRIES <= OCL_ENTRIES, "vendor_x86_64.S has a thunk for each function");

struct ocl_table ocl_tables[OCL_MAX_TABLES + 1];
void *ocl_hooks[OCL_ENTRIES], *ocl_vendors[OCL_ENTRIES];
atomic_bool ocl_attached;
struct gpubpf_calls ocl_inside;

static uint32_t ntables;

/* For each table in ocl_tables: its number of entries, and whether its pages were writable when it was added. */
static struct {
	size_t entries;
	bool is_writable;
} facts[OCL_MAX_TABLES];

/* Store whether all pages of a table are writable. Returns false if the mappings cannot be read. */
static bool query_writable(void **table, size_t entries, bool *writable)
{
	uintptr_t at = (uintptr_t)table, end = (uintptr_t)(table + entries), from, to;
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512], flags[5];

	*writable = true;
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %4s", &from, &to, flags) == 3 && from <= at && at < to) {
			*writable &= flags[1] == 'w';
			at = to < end ? to : end;
		}
	if (maps)
		fclose(maps);
	return at == end;
}

/* Change the protection of all pages of table n. Returns false if mprotect() fails. */
static bool protect_table(uint32_t n, int protection)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), from = (uintptr_t)ocl_tables[n].table & ~(page - 1);
	uintptr_t to = ((uintptr_t)(ocl_tables[n].table + facts[n].entries) + page - 1) & ~(page - 1);

	return !mprotect((void *)from, to - from, protection);
}

/*
 * Returns the number of entries of a platform's table. The table of a vendor that implements an older version of OpenCL
 * may be shorter than cl_icd_dispatch.
 */
static size_t count_entries(cl_platform_id platform, void **table)
{
	const cl_icd_dispatch *vendor = (const cl_icd_dispatch *)table;
	unsigned int major = 0, minor = 0;
	char version[128] = "";

	vendor->clGetPlatformInfo(platform, CL_PLATFORM_VERSION, sizeof(version) - 1, version, NULL);
	sscanf(version, "OpenCL %u.%u", &major, &minor);
	switch (major * 10 + minor) {
	case 0:
	case 10:
		return ENTRIES_BEFORE(clSetEventCallback);
	case 11:
		return ENTRIES_BEFORE(clCreateSubDevices);
	case 12:
		return ENTRIES_BEFORE(clCreateCommandQueueWithProperties);
	case 20:
		return ENTRIES_BEFORE(clCloneKernel);
	case 21:
		return ENTRIES_BEFORE(clSetProgramReleaseCallback);
	case 22:
		return ENTRIES_BEFORE(clCreateBufferWithProperties);
	}
	return TABLE_ENTRIES;
}

/* Returns thunk i of ocl_hook_thunks or ocl_vendor_thunks. */
static void *thunk_of(const char *thunks, size_t i)
{
	return (void *)(thunks + i * OCL_THUNK_SIZE);
}

/* Replace entry i of a table if its value is `from`. Returns false if it has another value. */
static bool replace_entry(void **table, size_t i, void *from, void *to)
{
	return __atomic_compare_exchange_n(&table[i], &from, to, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static cl_int CL_API_CALL refuse_call(void)
{
	return CL_INVALID_OPERATION;
}

/* Does the agent hook entry i of table n? It hooks no entry that the vendor leaves empty. */
static bool is_hooked(uint32_t n, size_t i)
{
	return ocl_hooks[i] && i < facts[n].entries && ocl_tables[n].saved[i] != refuse_call;
}

/* Find the platform's table in ocl_tables, or add it with a copy of its entries. Returns its index, or -1. */
static int add_table(cl_platform_id platform)
{
	void **table = *(void ***)platform;
	struct ocl_table *t = &ocl_tables[ntables];
	bool writable;
	size_t n;

	for (uint32_t i = 0; i < ntables; i++)
		if (ocl_tables[i].table == table)
			return i;
	n = count_entries(platform, table);
	if (ntables == OCL_MAX_TABLES || !query_writable(table, n, &writable) ||
	    !(t->saved = calloc(OCL_ENTRIES, sizeof(void *))))
		return -1;
	memcpy(t->saved, table, n * sizeof(void *));
	for (size_t i = 0; i < OCL_ENTRIES; i++)
		if (!t->saved[i])
			t->saved[i] = refuse_call;
	facts[ntables].entries = n;
	facts[ntables].is_writable = writable;
	__atomic_store_n(&t->table, table, __ATOMIC_RELEASE);
	return ntables++;
}

/* Returns true if no hooked entry has the vendor's value. */
static bool is_patched(uint32_t n)
{
	for (size_t i = 0; i < facts[n].entries; i++)
		if (is_hooked(n, i) && ocl_tables[n].table[i] == ocl_tables[n].saved[i])
			return false;
	return true;
}

static void patch_table(cl_platform_id platform)
{
	int n = add_table(platform);

	if (n < 0 || is_patched(n))
		return;
	if (!facts[n].is_writable && !protect_table(n, PROT_READ | PROT_WRITE)) {
		gpubpf_log_once("the dispatch table of an OpenCL runtime cannot be changed (mprotect: %s); its kernels run "
				"unprobed",
				strerror(errno));
		return;
	}
	for (size_t i = 0; i < facts[n].entries; i++)
		if (is_hooked(n, i))
			replace_entry(ocl_tables[n].table, i, ocl_tables[n].saved[i], thunk_of(ocl_hook_thunks, i));
	if (!facts[n].is_writable)
		protect_table(n, PROT_READ);
}

/* Put the vendor's entries of table n back. Returns how many have another library's value, or cannot be changed. */
static uint32_t restore_table(uint32_t n)
{
	bool may = facts[n].is_writable || protect_table(n, PROT_READ | PROT_WRITE);
	const struct ocl_table *t = &ocl_tables[n];
	uint32_t left = 0;

	for (size_t i = 0; i < facts[n].entries; i++)
		left += is_hooked(n, i) && t->table[i] != t->saved[i] &&
			(!may || !replace_entry(t->table, i, thunk_of(ocl_hook_thunks, i), t->saved[i]));
	if (!facts[n].is_writable)
		protect_table(n, PROT_READ);
	return left;
}

uint32_t ocl_tables_restore(void)
{
	uint32_t left = 0;

	for (uint32_t n = 0; n < ntables; n++)
		left += restore_table(n);
	return left;
}

struct libraries {
	char **path;
	size_t n;
	unsigned long long adds; /* number of libraries that the process has loaded so far */
};

static int add_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct libraries *l = arg;
	char **path;

	l->adds = info->dlpi_adds;
	if (!info->dlpi_name || !strchr(info->dlpi_name, '/'))
		return 0;
	path = reallocarray(l->path, l->n + 1, sizeof(*path));
	if (!path)
		return 1;
	l->path = path;
	path[l->n] = strdup(info->dlpi_name);
	l->n += path[l->n] != NULL;
	return 0;
}

/*
 * Returns the library's own function of that name; dlsym() also finds functions of the libraries that it needs. Another
 * library may have replaced dlsym() in this process.
 */
static void *own_function(void *handle, const char *name)
{
	const struct link_map *map = handle; /* glibc */
	void *function = gpubpf_dlsym_next()(handle, name);
	Dl_info info;

	return function && dladdr(function, &info) && info.dli_fbase == (void *)map->l_addr ? function : NULL;
}

/*
 * A vendor's library has the extension function clIcdGetPlatformIDsKHR (cl_khr_icd). The OpenCL loader has called it
 * before, so this call has no effect. The loader, libOpenCL, has no such function.
 */
static void patch_library(void *handle)
{
	cl_int(CL_API_CALL * get)(cl_uint, cl_platform_id *, cl_uint *) = NULL;
	void *(CL_API_CALL * find)(const char *name);
	cl_platform_id ids[MAX_PLATFORMS];
	cl_uint n = 0;

	*(void **)&find = own_function(handle, "clGetExtensionFunctionAddress");
	if (find)
		*(void **)&get = find("clIcdGetPlatformIDsKHR");
	if (!get || get(MAX_PLATFORMS, ids, &n))
		return;
	for (cl_uint i = 0; i < n && i < MAX_PLATFORMS; i++)
		patch_table(ids[i]);
}

static bool is_loader(const char *path)
{
	return !strncmp(strrchr(path, '/'), "/libOpenCL", 10);
}

void ocl_tables_patch(bool again)
{
	static unsigned long long seen; /* `adds` at the last call */
	struct libraries l = { .n = 0 };

	dl_iterate_phdr(add_library, &l);
	for (size_t i = 0; i < l.n; i++) {
		void *handle = (again || l.adds != seen) && !is_loader(l.path[i]) ?
				       dlopen(l.path[i], RTLD_NOW | RTLD_NOLOAD) :
				       NULL;

		if (handle) {
			patch_library(handle);
			dlclose(handle);
		}
		free(l.path[i]);
	}
	free(l.path);
	seen = l.adds;
}
