/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A library to preload. It records which blocks of memory, and which mappings, the process has allocated and not freed
 * since the first call of measure_held(). It attributes each to the library whose code called the allocator.
 */
#undef _FILE_OFFSET_BITS /* otherwise the header declares mmap as an alias of mmap64 */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUCKETS (1u << 16)
#define BLOCKS (1u << 19) /* limit of blocks at a time: LLVM has many while it builds a program */
#define EXPORT __attribute__((visibility("default")))
#define CALLER __builtin_return_address(0)

/* glibc's own names of its allocator */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *block, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *block);

long measure_held(const char *name); /* the application looks it up */

static struct block {
	struct block *next;
	uintptr_t address, caller;
	size_t size;
} blocks[BLOCKS], *unused, *buckets[BUCKETS];
static uint32_t nblocks; /* number of elements of `blocks` that were used so far */
static bool is_recording, is_full;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct block **bucket_of(const void *address)
{
	return &buckets[(uintptr_t)address * 0x9e3779b97f4a7c15ull >> 48];
}

static struct block *take_unused(void)
{
	struct block *b = unused;

	if (b)
		unused = b->next;
	else if (nblocks < BLOCKS)
		b = &blocks[nblocks++];
	is_full |= !b;
	return b;
}

static void *record(void *address, size_t size, void *caller)
{
	struct block **list = bucket_of(address), *b;

	if (!address || !__atomic_load_n(&is_recording, __ATOMIC_ACQUIRE))
		return address;
	pthread_mutex_lock(&lock);
	b = take_unused();
	if (b) {
		*b = (struct block){ *list, (uintptr_t)address, (uintptr_t)caller, size };
		*list = b;
	}
	pthread_mutex_unlock(&lock);
	return address;
}

static void forget(const void *address)
{
	struct block **at = bucket_of(address), *b;

	if (!address || !__atomic_load_n(&is_recording, __ATOMIC_ACQUIRE))
		return;
	pthread_mutex_lock(&lock);
	while (*at && (*at)->address != (uintptr_t)address)
		at = &(*at)->next;
	b = *at;
	if (b) {
		*at = b->next;
		b->next = unused;
		unused = b;
	}
	pthread_mutex_unlock(&lock);
}

EXPORT void *malloc(size_t size)
{
	return record(__libc_malloc(size), size, CALLER);
}

EXPORT void *calloc(size_t n, size_t size)
{
	return record(__libc_calloc(n, size), n * size, CALLER);
}

static void *resize(void *block, size_t size, void *caller)
{
	void *to;

	forget(block); /* first: another thread may get the old address when realloc() frees it */
	to = __libc_realloc(block, size);
	return record(to, size, caller);
}

EXPORT void *realloc(void *block, size_t size)
{
	return resize(block, size, CALLER);
}

EXPORT void *reallocarray(void *block, size_t n, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(n, size, &bytes))
		return resize(block, bytes, CALLER);
	errno = ENOMEM;
	return NULL;
}

EXPORT char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	void *copy = record(__libc_malloc(size), size, CALLER);

	return copy ? memcpy(copy, text, size) : NULL;
}

EXPORT int posix_memalign(void **block, size_t alignment, size_t size)
{
	*block = record(__libc_memalign(alignment, size), size, CALLER);
	return *block ? 0 : ENOMEM;
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
	return record(__libc_memalign(alignment, size), size, CALLER);
}

EXPORT void free(void *block)
{
	forget(block);
	__libc_free(block);
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
	void *address = (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);

	if (address != MAP_FAILED && flags & MAP_FIXED)
		forget(address);
	return address == MAP_FAILED ? address : record(address, size, CALLER);
}

EXPORT void *mmap64(void *at, size_t size, int protection, int flags, int fd, off_t offset) __attribute__((alias("mmap")));

EXPORT int munmap(void *at, size_t size)
{
	forget(at);
	return syscall(SYS_munmap, at, size);
}

/* Returns the bytes that callers in [from, to) hold. */
static size_t held_by(uintptr_t from, uintptr_t to)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < BUCKETS; i++)
		for (const struct block *b = buckets[i]; b; b = b->next)
			bytes += b->caller >= from && b->caller < to ? b->size : 0;
	return bytes;
}

/*
 * Returns the bytes that the library holds whose path contains `name`. Returns -1 if they are not known. The caller's
 * own threads must not allocate meanwhile.
 */
EXPORT long measure_held(const char *name)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uintptr_t from, to;
	char line[512], flags[5];
	long bytes = 0;

	__atomic_store_n(&is_recording, true, __ATOMIC_RELEASE);
	while (maps && fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %4s", &from, &to, flags) == 3 && flags[2] == 'x' && strstr(line, name)) {
			pthread_mutex_lock(&lock);
			bytes += held_by(from, to);
			pthread_mutex_unlock(&lock);
		}
	if (maps)
		fclose(maps);
	return maps && !is_full ? bytes : -1;
}
