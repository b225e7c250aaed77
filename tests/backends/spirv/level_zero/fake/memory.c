/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of the fake driver. Device memory is accessible only during launches and copies. A launch reads zeros from an
 * allocation if no argument points into it and the kernel has no indirect access. A GPU may do the same. Host and
 * shared memory stay accessible, because the application may write them during a launch.
 */
#include "fake.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul

struct allocation {
	struct allocation *next;
	char *at;
	size_t size;
	ze_memory_type_t type;
	ze_device_handle_t device;
	/* for device memory: a mapping of a file; while `hidden` is true, anonymous pages replace it */
	char *pages;
	size_t npages;                     /* in bytes */
	off_t offset;
	bool hidden;
};

static struct allocation *allocations;
static pthread_mutex_t allocating = PTHREAD_MUTEX_INITIALIZER; /* protects the list */
static pthread_mutex_t running = PTHREAD_MUTEX_INITIALIZER;    /* protects device memory; locked before `allocating` */

static void show_pages(struct allocation *a, int file)
{
	void *at = mmap(a->pages, a->npages, PROT_READ | PROT_WRITE,
			MAP_FIXED | (file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED), file, file < 0 ? 0 : a->offset);

	if (at == MAP_FAILED)
		abort();
	a->hidden = file < 0;
}

/* Returns the file that contains all device memory. The caller holds `allocating`. */
static int device_file(void)
{
	static int file = -1;

	if (file < 0)
		file = memfd_create("fake device", MFD_CLOEXEC);
	return file;
}

static bool reserve_pages(struct allocation *a, size_t alignment)
{
	static off_t end;
	char *room;

	alignment = alignment < PAGE ? PAGE : alignment;
	a->npages = (a->size + PAGE - 1) / PAGE * PAGE;
	a->offset = end;
	end += a->npages;
	/* the bytes before and after the aligned part stay unused */
	room = mmap(NULL, a->npages + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED || ftruncate(device_file(), end))
		return false;
	a->at = a->pages = room + (alignment - (uintptr_t)room % alignment) % alignment;
	show_pages(a, device_file());
	return true;
}

static void drop(struct allocation *a)
{
	if (a->pages) {
		munmap(a->pages, a->npages);
		fallocate(device_file(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, a->offset, a->npages);
	} else {
		free(a->at);
	}
	free(a);
}

static ze_result_t allocate(size_t size, size_t alignment, ze_memory_type_t type, ze_device_handle_t device, void **at)
{
	struct allocation *a = calloc(1, sizeof(*a));
	bool good;

	*a = (struct allocation){ .size = size, .type = type, .device = device };
	pthread_mutex_lock(&allocating);
	good = type == ZE_MEMORY_TYPE_DEVICE ? reserve_pages(a, alignment) :
					       !posix_memalign((void **)&a->at, alignment < 64 ? 64 : alignment, size);
	if (good) {
		*at = a->at;
		a->next = allocations;
		allocations = a;
	}
	pthread_mutex_unlock(&allocating);
	if (!good)
		free(a);
	return good ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

/*
 * Returns the link to the allocation that contains the address, or to the end of the list. The caller holds
 * `allocating`.
 */
static struct allocation **find(const char *at)
{
	struct allocation **a = &allocations;

	while (*a && (at < (*a)->at || at >= (*a)->at + (*a)->size))
		a = &(*a)->next;
	return a;
}

static ze_result_t ZE_APICALL properties(ze_context_handle_t context, const void *at, ze_memory_allocation_properties_t *p,
					 ze_device_handle_t *device)
{
	struct allocation *a;

	pthread_mutex_lock(&allocating);
	a = *find(at);
	p->type = a ? a->type : ZE_MEMORY_TYPE_UNKNOWN;
	p->id = a ? (uintptr_t)a->at : 0;
	if (device)
		*device = a ? a->device : NULL;
	pthread_mutex_unlock(&allocating);
	return ZE_RESULT_SUCCESS;
}

static ze_result_t ZE_APICALL alloc_shared(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *device_desc,
					   const ze_host_mem_alloc_desc_t *host_desc, size_t size, size_t alignment,
					   ze_device_handle_t device, void **at)
{
	return allocate(size, alignment, ZE_MEMORY_TYPE_SHARED, device, at);
}

static ze_result_t ZE_APICALL alloc_device(ze_context_handle_t context, const ze_device_mem_alloc_desc_t *desc, size_t size,
					   size_t alignment, ze_device_handle_t device, void **at)
{
	return allocate(size, alignment, ZE_MEMORY_TYPE_DEVICE, device, at);
}

static ze_result_t ZE_APICALL alloc_host(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc, size_t size,
					 size_t alignment, void **at)
{
	return allocate(size, alignment, ZE_MEMORY_TYPE_HOST, NULL, at);
}

static ze_result_t ZE_APICALL release(ze_context_handle_t context, void *at)
{
	struct allocation **link, *a;

	pthread_mutex_lock(&running);
	pthread_mutex_lock(&allocating);
	link = find(at);
	a = *link;
	if (a) {
		*link = a->next;
		drop(a);
	}
	pthread_mutex_unlock(&allocating);
	pthread_mutex_unlock(&running);
	return a ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

static bool is_accessible(const struct _ze_kernel_handle_t *k, const struct allocation *a)
{
	const char *at;

	if (k->indirect & ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE)
		return true;
	for (uint32_t i = 0; i < k->nargs; i++) {
		memcpy(&at, k->args[i].bytes, sizeof(at));
		if (k->pointer[i] && !k->args[i].null && at >= a->at && at < a->at + a->size)
			return true;
	}
	return false;
}

void fake_memory_enter(const struct _ze_kernel_handle_t *k)
{
	pthread_mutex_lock(&running);
	pthread_mutex_lock(&allocating);
	for (struct allocation *a = allocations; a; a = a->next)
		if (a->pages && !is_accessible(k, a))
			show_pages(a, -1);
	pthread_mutex_unlock(&allocating);
}

void fake_memory_leave(void)
{
	pthread_mutex_lock(&allocating);
	for (struct allocation *a = allocations; a; a = a->next)
		if (a->hidden)
			show_pages(a, device_file());
	pthread_mutex_unlock(&allocating);
	pthread_mutex_unlock(&running);
}

void fake_memory_copy(void *to, const void *from, size_t size)
{
	pthread_mutex_lock(&running);
	memmove(to, from, size);
	pthread_mutex_unlock(&running);
}

void fake_memory_fill(void *to, size_t size, const unsigned char *pattern, size_t npattern)
{
	pthread_mutex_lock(&running);
	for (size_t i = 0; i < size; i++)
		((unsigned char *)to)[i] = pattern[i % npattern];
	pthread_mutex_unlock(&running);
}

void fake_memory_table(ze_mem_dditable_t *t)
{
	*t = (ze_mem_dditable_t){ .pfnAllocShared = alloc_shared, .pfnAllocDevice = alloc_device, .pfnAllocHost = alloc_host,
				  .pfnFree = release, .pfnGetAllocProperties = properties };
}
