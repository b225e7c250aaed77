/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records the image of each module and library of CUDA, since the driver does not return images. An image in a loaded
 * file is recorded by reference. An image in other memory is copied, because the application may free that memory.
 */
#include "private.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/cuda/wire/fatbin_format.h"

#pragma weak dladdr
#pragma weak dl_iterate_phdr
#pragma weak sched_yield

#define BUCKETS 64
#define COPY_MAX (64u << 20) /* limit of copied images in bytes */
#define ROOM_MAX 4096        /* limit of a path in bytes, with its NUL */

struct module {
	struct module *next;
	struct gpubpf_idle_module base;
	uintptr_t object; /* load address of the segment that contains the image; 0: the image is a copy, or unknown */
	/* the image's bytes in that segment; base.image may be a structure that leads to them */
	const void *bytes;
	size_t size;
	struct stat file; /* of base.path at the load */
	char text[];      /* the paths of `base` */
};

static struct module *buckets[BUCKETS];
static pid_t owner; /* process whose thread holds the lock of the buckets; 0: none */

int sched_yield(void);

/*
 * The lock is held for the time of a list operation. In the child of a fork, the thread that held the lock does not
 * exist. So a lock of another process is free.
 */
static void lock(void)
{
	pid_t own = getpid(), have = 0;

	while (!__atomic_compare_exchange_n(&owner, &have, own, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
		if (have != own)
			continue;
		have = 0;
		if (sched_yield)
			sched_yield();
	}
}

static void unlock(void)
{
	__atomic_store_n(&owner, 0, __ATOMIC_RELEASE);
}

static struct module **bucket_of(const void *handle)
{
	return &buckets[((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> 58];
}

static void release(struct module *m)
{
	if (!m->object)
		free((void *)m->base.image);
	free(m);
}

/* Remove the handle's record from its list. The caller holds the lock. Returns the record, or NULL. */
static struct module *take(const void *handle)
{
	struct module **at = bucket_of(handle), *m;

	while (*at && (*at)->base.handle != handle)
		at = &(*at)->next;
	m = *at;
	if (m)
		*at = m->next;
	return m;
}

static void replace(const void *handle, struct module *m)
{
	struct module *old;

	lock();
	old = take(handle);
	if (m) {
		m->next = *bucket_of(handle);
		*bucket_of(handle) = m;
	}
	unlock();
	if (old)
		release(old);
}

/* ---- images ---- */

struct place {
	const char *from, *to;
	uintptr_t object; /* load address of the segment that contains these bytes; 0: none */
	const char *file; /* path of the segment's file; "": the program */
};

/* dl_iterate_phdr() callback: find the file that has the bytes in a read-only segment. */
static int find_place(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct place *p = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		const char *at = (const char *)info->dlpi_addr + h->p_vaddr;

		if (h->p_type != PT_LOAD || h->p_flags & PF_W || p->from < at || p->to > at + h->p_memsz)
			continue;
		p->object = (uintptr_t)at;
		p->file = info->dlpi_name;
		return 1;
	}
	return 0;
}

static const char *file_of(const void *address)
{
	Dl_info info;

	return dladdr && dladdr(address, &info) && info.dli_fname ? info.dli_fname : "";
}

/* Record the image that the application's pointer leads to. */
static void record_image(struct module *m, const void *image)
{
	size_t size = 0;
	const void *bytes = cuda_image_bounds(image, &size);
	struct place p = { bytes, (const char *)bytes + size };
	const char *file = file_of(image);
	void *copy;

	if (!bytes)
		return;
	if (dl_iterate_phdr && dl_iterate_phdr(find_place, &p)) {
		m->object = p.object;
		m->bytes = bytes;
		m->size = size;
		/* the application may free a wrapper that is not in the image's file */
		m->base.image = file[0] && !strcmp(file, file_of(bytes)) ? image : bytes;
		return;
	}
	copy = size <= COPY_MAX ? malloc(size) : NULL;
	if (copy)
		m->base.image = memcpy(copy, bytes, size);
}

/* Store the text after the record. Returns the copy. */
static const char *append(struct module *m, size_t *used, const char *text)
{
	size_t n = strnlen(text, ROOM_MAX - 1);
	char *copy = m->text + *used;

	memcpy(copy, text, n);
	copy[n] = 0;
	*used += n + 1;
	return copy;
}

static void *current_context(void)
{
	static int (*get)(void **context);
	void *context = NULL;

	if (!get)
		get = (int (*)(void **))idle_find(IDLE_CUDA, "cuCtxGetCurrent", NULL);
	return get && !get(&context) ? context : NULL;
}

static int add(bool is_library, int error, void *const *handle, const void *image, const char *path, const void *caller)
{
	const char *from = path ? "" : file_of(image);
	struct module *m;
	size_t used = 0;

	if (error || !handle)
		return error;
	from = !path && !from[0] ? file_of(caller) : from;
	m = calloc(1, sizeof(*m) + (path ? strnlen(path, ROOM_MAX) : 0) + strnlen(from, ROOM_MAX) + 2);
	if (m) {
		m->base.handle = *handle;
		m->base.context = is_library ? NULL : current_context();
		m->base.from = append(m, &used, from);
		m->base.path = path ? append(m, &used, path) : NULL;
		if (path)
			syscall(SYS_stat, path, &m->file);
		else
			record_image(m, image);
	}
	replace(*handle, m);
	return error;
}

/* The application may have unloaded the image's file, and another file may be at its address. */
static bool is_loaded(const struct module *m)
{
	struct place p = { m->bytes, (const char *)m->bytes + m->size };

	return !m->object || (dl_iterate_phdr && dl_iterate_phdr(find_place, &p) && p.object == m->object &&
			      (!p.file[0] || !strcmp(p.file, m->base.from)));
}

/* The application may have changed its folder, or a process the file. Then the path leads to other code. */
static bool is_same_file(const struct module *m)
{
	struct stat now;

	return m->base.path && !syscall(SYS_stat, m->base.path, &now) && now.st_dev == m->file.st_dev &&
	       now.st_ino == m->file.st_ino && now.st_size == m->file.st_size &&
	       now.st_mtim.tv_sec == m->file.st_mtim.tv_sec && now.st_mtim.tv_nsec == m->file.st_mtim.tv_nsec;
}

bool idle_use_module(void *handle, void (*fn)(const struct gpubpf_idle_module *module, void *arg), void *arg)
{
	struct gpubpf_idle_module copy;
	struct module *m;

	lock();
	m = *bucket_of(handle);
	while (m && m->base.handle != handle)
		m = m->next;
	if (m) {
		copy = m->base;
		if (!is_loaded(m))
			copy.image = NULL;
		if (!is_same_file(m))
			copy.path = NULL;
		fn(&copy, arg);
	}
	unlock();
	return m;
}

/* ---- the recorders ---- */

#define CALLER __builtin_return_address(0)

int idle_cuModuleLoad(void **module, const char *path)
{
	return add(false, idle_next.cuModuleLoad(module, path), module, NULL, path, CALLER);
}

int idle_cuModuleLoadData(void **module, const void *image)
{
	return add(false, idle_next.cuModuleLoadData(module, image), module, image, NULL, CALLER);
}

int idle_cuModuleLoadDataEx(void **module, const void *image, unsigned n, int *options, void **values)
{
	return add(false, idle_next.cuModuleLoadDataEx(module, image, n, options, values), module, image, NULL, CALLER);
}

int idle_cuModuleLoadFatBinary(void **module, const void *image)
{
	return add(false, idle_next.cuModuleLoadFatBinary(module, image), module, image, NULL, CALLER);
}

int idle_cuLibraryLoadData(void **library, const void *image, int *jit, void **jit_values, unsigned njit, int *options,
			   void **values, unsigned n)
{
	int error = idle_next.cuLibraryLoadData(library, image, jit, jit_values, njit, options, values, n);

	return add(true, error, library, image, NULL, CALLER);
}

int idle_cuLibraryLoadFromFile(void **library, const char *path, int *jit, void **jit_values, unsigned njit,
			       int *options, void **values, unsigned n)
{
	int error = idle_next.cuLibraryLoadFromFile(library, path, jit, jit_values, njit, options, values, n);

	return add(true, error, library, NULL, path, CALLER);
}

int idle_cuModuleUnload(void *module)
{
	replace(module, NULL);
	return idle_next.cuModuleUnload(module);
}

int idle_cuLibraryUnload(void *library)
{
	replace(library, NULL);
	return idle_next.cuLibraryUnload(library);
}

/* The modules of a context end with it. */
static void forget_context(const void *context)
{
	struct module *ended = NULL, *m, **at;

	lock();
	for (int i = 0; context && i < BUCKETS; i++)
		for (at = &buckets[i]; (m = *at);) {
			if (m->base.context != context) {
				at = &m->next;
				continue;
			}
			*at = m->next;
			m->next = ended;
			ended = m;
		}
	unlock();
	for (; (m = ended); release(m))
		ended = m->next;
}

int idle_cuCtxDestroy(void *context)
{
	forget_context(context);
	return idle_next.cuCtxDestroy(context);
}

int idle_cuCtxDestroy_v2(void *context)
{
	forget_context(context);
	return idle_next.cuCtxDestroy_v2(context);
}
