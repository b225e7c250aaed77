/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The arena that devices on host memory share. The agent maps the arena once, and unmaps it only when a tool detaches
 * and no twin runs. The reason: the application may destroy a context while a twin runs, and the runtime does not
 * report when that twin ends. Some pages of the arena may be memory of Linux BPF array maps (parts). The tool sends
 * these parts before it sends the arena, or later when the session gets another map.
 */
#include "device.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/wire/checks.h"
#include "core/wire/msg.h"

#define MAX_PARTS 256                  /* maps of a session */
#define BPF_MAP "anon_inode:bpf-map"   /* text of the link in /proc/self/fd for a Linux BPF map */

struct part {
	int fd;
	uint64_t offset, size;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stat arena_file;
static char *base; /* address of the arena; NULL: not mapped yet */
static size_t mapped;
static struct part parts[MAX_PARTS];
static uint32_t nparts;

static bool map_part(const struct part *p)
{
	gpubpf_assert_held(&lock);
	return p->offset < mapped && p->size <= mapped - p->offset &&
	       mmap(base + p->offset, p->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p->fd, 0) != MAP_FAILED;
}

/*
 * Map the arena with all parts. If a part cannot be mapped, the function fails: GPU kernels would write to the memfd's
 * own pages instead, and the tool does not see these.
 */
static void *map_all(int fd, size_t size, const struct stat *st)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	gpubpf_assert_held(&lock);
	if (at == MAP_FAILED)
		return at;
	base = at;
	mapped = size;
	arena_file = *st;
	for (uint32_t i = 0; i < nparts; i++)
		if (!map_part(&parts[i])) {
			base = NULL;
			munmap(at, size);
			return MAP_FAILED;
		}
	return at;
}

void *gpubpf_shared_arena(int fd, size_t size)
{
	struct stat st;
	void *at;

	if (fstat(fd, &st) < 0)
		return MAP_FAILED;
	pthread_mutex_lock(&lock);
	if (base && st.st_ino == arena_file.st_ino && st.st_dev == arena_file.st_dev && size == mapped)
		at = base;
	else
		at = map_all(fd, size, &st);
	pthread_mutex_unlock(&lock);
	return at;
}

static void drop_part(uint64_t offset)
{
	gpubpf_assert_held(&lock);
	for (uint32_t i = 0; i < nparts; i++)
		if (parts[i].offset == offset) {
			close(parts[i].fd);
			parts[i] = parts[--nparts];
			return;
		}
}

static bool is_bpf_map(int fd)
{
	char link[48], is[48];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, is, sizeof(is));
	return n == (ssize_t)strlen(BPF_MAP) && !memcmp(is, BPF_MAP, n);
}

/*
 * Returns true if the file has at least `size` bytes and cannot shrink while it is mapped. Another process owns the
 * file.
 */
static bool is_size_sealed(int fd, uint64_t size)
{
	int64_t sealed = gpubpf_memfd_size(fd, SIZE_MAX);

	return is_bpf_map(fd) || (sealed > 0 && (uint64_t)sealed >= size);
}

bool gpubpf_shared_arena_part(int fd, uint64_t offset, uint64_t size)
{
	struct part part = { fd, offset, size };
	bool fits;

	pthread_mutex_lock(&lock);
	drop_part(offset); /* a failure is not fatal, because the tool sends the part again for the next device */
	fits = fd >= 0 && nparts < MAX_PARTS && is_size_sealed(fd, size) && (!base || map_part(&part));
	if (fits)
		parts[nparts++] = part;
	else if (fd >= 0)
		close(fd);
	pthread_mutex_unlock(&lock);
	return fits;
}

void gpubpf_shared_arena_release(void)
{
	pthread_mutex_lock(&lock);
	if (base)
		munmap(base, mapped);
	base = NULL;
	mapped = 0;
	while (nparts)
		drop_part(parts[0].offset);
	pthread_mutex_unlock(&lock);
}

void gpubpf_shared_arena_after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}
