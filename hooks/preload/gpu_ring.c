/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defines the function by which bpftime's loaders read a GPU_RINGBUF. They look it up with dlsym(3). The session writes
 * the records into a ring buffer in the layout of the Linux kernel, with a struct bpf_ringbuf_hdr before each record.
 */
#include "hooks/loader/loader.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <sys/mman.h>

#define PAGE 4096l
#define HEADER 8ull
#define EXPORT __attribute__((visibility("default")))

typedef void (*record_fn)(const void *record, uint64_t size, void *ctx);

EXPORT int bpftime_syscall_server__poll_gpu_ringbuf_map(int fd, void *ctx, record_fn fn);

struct view {
	uint64_t *tail;       /* position of the reader, in a separate page */
	const uint64_t *head; /* position of the writer, in a page before the data */
	const uint8_t *data;  /* mapped twice in sequence, so that every record is contiguous */
	uint64_t size;        /* a power of two */
};

static int open_view(int fd, struct view *v)
{
	long size = session_ring_size(fd);
	void *pages;

	if (size < 0)
		return (int)size;
	v->size = (uint64_t)size;
	pages = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED)
		return -errno;
	v->tail = pages;
	pages = mmap(NULL, (size_t)(PAGE + 2 * size), PROT_READ, MAP_SHARED, fd, PAGE);
	if (pages == MAP_FAILED) {
		munmap(v->tail, PAGE);
		return -errno;
	}
	v->head = pages;
	v->data = (const uint8_t *)pages + PAGE;
	return 0;
}

static void close_view(const struct view *v)
{
	munmap(v->tail, PAGE);
	munmap((void *)(uintptr_t)v->head, (size_t)PAGE + 2 * v->size);
}

/* Pass all unread records to fn. Stops at a size that another process with the memory has overwritten. */
static void read_records(const struct view *v, void *ctx, record_fn fn)
{
	uint64_t head = __atomic_load_n(v->head, __ATOMIC_ACQUIRE), at = *v->tail;

	while (at < head) {
		const uint8_t *header = v->data + (at & (v->size - 1));
		uint32_t size = *(const uint32_t *)header & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		uint64_t whole = HEADER + ((size + 7ull) & ~7ull);

		if (whole > head - at || whole > v->size)
			return;
		fn(header + HEADER, size, ctx);
		at += whole;
		__atomic_store_n(v->tail, at, __ATOMIC_RELEASE);
	}
}

/* Only one thread at a time may read a map. Returns 0 or a negative errno value. */
int bpftime_syscall_server__poll_gpu_ringbuf_map(int fd, void *ctx, record_fn fn)
{
	struct view v = { 0 };
	int before = errno, err = open_view(fd, &v);

	errno = before;
	if (err < 0)
		return err;
	read_records(&v, ctx, fn);
	close_view(&v);
	return 0;
}
