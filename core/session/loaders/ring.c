/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivers records to loaders. The session reads records from its rings, and writes them into memory that a loader
 * maps, in the Linux kernel's layout. The memory is a ring buffer, or a buffer of perf_event_open(2) that the loader
 * put into a PERF_EVENT_ARRAY.
 *
 * If the loader's memory is full, the records stay in the device's ring. When the device's ring is full too, the device
 * drops records and counts them.
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/session/maps/loader_ops.h"
#include "core/session/kernel_bpf/kernel_maps.h"

#define PAGE 4096ull
#define BUFFERS_MAX 65536u         /* maximum buffers of one PERF_EVENT_ARRAY */
#define BUFFER_MAX (64ull << 20)   /* maximum bytes of one perf buffer */
#define RING_MAX (16ull << 20)     /* maximum bytes of a GPU_RINGBUF's data */
#define PIPE_SIZE 65536            /* bytes of a pipe's buffer, unless a loader has changed it */
#define SAMPLE_MAX 65528ull        /* maximum bytes of a perf record with its header: largest multiple of 8 below 2^16 */

static bool is_perf(const struct sys_object *map)
{
	return !(map->map.def.type->flags & (GPUBPF_MAP_BYTES | GPUBPF_MAP_ROOM));
}

uint32_t sys_stream_word_size(const struct sys_object *map)
{
	return is_perf(map) ? sizeof(uint32_t) : 0;
}

/* -- memory of rings and buffers -- */

static int map_memory(struct gpubpf_session *s, struct sys_object *o, struct sys_ring *ring, uint64_t head, uint64_t size)
{
	int err = sys_object_charge(s, o, head + size);

	if (err < 0)
		return err;
	ring->fd = gpubpf_memfd_shared("gpubpf-ring", head + size);
	if (ring->fd < 0)
		return ring->fd;
	ring->base = mmap(NULL, head + size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (ring->base == MAP_FAILED) {
		ring->base = NULL;
		return -errno;
	}
	ring->data = (uint8_t *)ring->base + head;
	ring->size = size;
	return 0;
}

/*
 * Returns the size of a GPU_RINGBUF's data in bytes, a power of two. bpftime gives each thread a ring of max_entries
 * records. Here all threads share one ring, which has room for the records of as many threads.
 */
static uint64_t gpu_ring_size(const struct gpubpf_session *s, const struct gpubpf_map *def)
{
	uint64_t record = ((def->value_size + 7ull) & ~7ull) + 8, size = PAGE;
	uint64_t threads = s->opts.threads ? s->opts.threads : RING_MAX;
	uint64_t each = def->max_entries > RING_MAX / record ? RING_MAX : record * def->max_entries;
	uint64_t wanted = threads > RING_MAX / each ? RING_MAX : each * threads;

	while (size < wanted)
		size *= 2;
	return size;
}

/*
 * Create the memory of a ring buffer: a page with the loader's position, a page with the session's position, and the
 * data.
 */
static int open_ringbuf(struct gpubpf_session *s, struct sys_object *map)
{
	const struct gpubpf_map *def = &map->map.def;
	struct sys_ring *ring = &map->map.stream->ring;
	uint64_t size = def->type->flags & GPUBPF_MAP_ROOM ? gpu_ring_size(s, def) : def->max_entries;
	int err = size % PAGE || size & (size - 1) ? -EINVAL : map_memory(s, map, ring, 2 * PAGE, size);

	ring->tail = ring->base;
	ring->head = err ? NULL : (void *)((uint8_t *)ring->base + PAGE);
	return err;
}

static int open_buffer(struct gpubpf_session *s, struct sys_object *o, uint64_t bytes)
{
	uint64_t size = bytes - PAGE;
	struct perf_event_mmap_page *page;
	int err;

	if (bytes <= PAGE || size > BUFFER_MAX || size % PAGE || size & (size - 1))
		return -EINVAL;
	err = map_memory(s, o, &o->ring, PAGE, size);
	if (err < 0)
		return err;
	page = o->ring.base;
	page->data_offset = PAGE;
	page->data_size = size;
	o->ring.head = (uint64_t *)&page->data_head;
	o->ring.tail = (uint64_t *)&page->data_tail;
	return 0;
}

static void finish_ring(struct sys_ring *ring)
{
	if (ring->base)
		munmap(ring->base, (size_t)(ring->data - (uint8_t *)ring->base) + ring->size);
	if (ring->fd >= 0)
		close(ring->fd);
}

int sys_stream_bridge(struct gpubpf_session *s, struct sys_object *map, int kernel)
{
	int err = sys_bridge_create(kernel, is_perf(map) ? 0 : map->map.def.max_entries, &map->map.stream->bridge);

	if (err < 0)
		gpubpf_session_note(s,
				    "map %s: a loader reads it through the Linux kernel, and the session cannot add "
				    "GPU records: %s; it needs CAP_BPF and CAP_PERFMON",
				    map->map.def.name, strerror(-err));
	return err;
}

static bool is_mapped_by_loader(const struct session_loaders *bpf, uint32_t map)
{
	for (uint32_t i = 0; i < bpf->nmapped; i++)
		if (bpf->mapped_rings[i] == map)
			return true;
	return false;
}

int sys_ring_mapped(struct sys_call *c)
{
	uint32_t map = gpubpf_get_u32(c->r), mapped = gpubpf_get_u32(c->r);
	int err = c->r->failed ? -EPROTO : sys_check_room(c->s);

	if (err < 0)
		return err;
	if (mapped && !is_mapped_by_loader(c->s->loaders, map)) {
		if (c->s->loaders->nmapped == GPUBPF_MAX_MAPS)
			return -ENOSPC;
		c->s->loaders->mapped_rings[c->s->loaders->nmapped++] = map;
	}
	gpubpf_put_u32(c->out, is_mapped_by_loader(c->s->loaders, map));
	return 0;
}

static const struct gpubpf_loader_ops loader_ops;

int sys_stream_create(struct gpubpf_session *s, struct sys_object *map)
{
	struct sys_stream *stream = calloc(1, sizeof(*stream));
	int err;

	if (!stream)
		return -ENOMEM;
	if (is_perf(map) && map->map.def.max_entries > BUFFERS_MAX) {
		free(stream);
		return -E2BIG;
	}
	stream->ring.fd = -1;
	map->map.stream = stream;
	gpubpf_maps_set_loader_ops(s, &loader_ops);
	if (is_perf(map) && !(stream->buffers = calloc(map->map.def.max_entries, sizeof(*stream->buffers))))
		return -ENOMEM;
	err = is_perf(map) ? 0 : open_ringbuf(s, map);
	return err ? err : sys_object_fifo(s, map, sys_stream_word_size(map), sys_stream_word_size(map));
}

void sys_stream_destroy(struct sys_stream *stream)
{
	if (!stream)
		return;
	sys_bridge_destroy(stream->bridge);
	finish_ring(&stream->ring);
	free(stream->buffers);
	free(stream->waiting);
	free(stream);
}

static void finish_buffer(struct gpubpf_session *s, struct sys_object *o)
{
	(void)s;
	finish_ring(&o->ring);
}

static const struct sys_object_ops buffer_ops = { .finish = finish_buffer };

int sys_buffer_open(struct sys_call *c)
{
	bool off = gpubpf_get_u32(c->r);
	struct sys_object *o;
	int err;

	if (c->r->failed)
		return -EPROTO;
	o = sys_object_new(c->s, GPUBPF_BPF_BUFFER, &buffer_ops, &err);
	if (!o)
		return err;
	o->ring.fd = -1;
	o->ring.disabled = off;
	gpubpf_maps_set_loader_ops(c->s, &loader_ops);
	return sys_object_answer(c, o, sys_object_fifo(c->s, o, 0, 0));
}

int sys_output(struct sys_call *c)
{
	struct sys_object *o = sys_object_find(c->s, gpubpf_get_u32(c->r));
	uint32_t to = gpubpf_get_u32(c->r);
	bool pauses = to == GPUBPF_BPF_RESUMED || to == GPUBPF_BPF_PAUSED;

	if (c->r->failed || to > GPUBPF_BPF_PAUSED)
		return -EPROTO;
	gpubpf_linux_rings_flush(c->s);
	if (!o || o->kind != GPUBPF_BPF_BUFFER)
		return 0;
	if (pauses && !o->ring.base)
		return -EINVAL;
	*(pauses ? &o->ring.paused : &o->ring.disabled) = to == GPUBPF_BPF_DISABLED || to == GPUBPF_BPF_PAUSED;
	return 0;
}

static int return_memory(struct sys_call *c, int fd, uint64_t twice)
{
	c->fd = fd < 0 ? -1 : dup(fd);
	gpubpf_put_u64(c->out, twice);
	return c->fd < 0 ? -EINVAL : 0;
}

/*
 * Answer with a read-only descriptor of the memory. Then mprotect(2) cannot make the loader's mapping writable, as for
 * Linux maps.
 */
static int return_readonly(struct sys_call *c, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	c->fd = open(path, O_RDONLY | O_CLOEXEC);
	gpubpf_put_u64(c->out, 0);
	return c->fd < 0 ? -errno : 0;
}

/* Check a request to map an array's values as Linux does, and answer with a descriptor of the memory. */
static int return_array(struct sys_call *c, const struct sys_object *o, uint64_t bytes, uint64_t first, bool writes)
{
	uint64_t pages = sys_map_mappable_bytes(o);

	if (writes && (o->map.frozen || o->map.flags & BPF_F_RDONLY))
		return -EPERM;
	if (o->map.flags & BPF_F_WRONLY)
		return -EPERM;
	if (first > pages || bytes > pages - first)
		return -EINVAL;
	return !writes && o->map.values_fd == o->fd ? return_readonly(c, o->map.values_fd) :
						      return_memory(c, o->map.values_fd, 0);
}

int sys_memory(struct sys_call *c)
{
	struct sys_object *o = sys_object_find(c->s, gpubpf_get_u32(c->r));
	uint64_t bytes = gpubpf_get_u64(c->r), first = gpubpf_get_u64(c->r);
	bool writes = gpubpf_get_u32(c->r);
	int err = 0;

	if (c->r->failed)
		return -EPROTO;
	if (!o)
		return -EBADF;
	if (o->kind == GPUBPF_BPF_MAP && o->map.values_fd > 0)
		return return_array(c, o, bytes, first, writes);
	if (o->kind == GPUBPF_BPF_MAP && o->map.stream)
		return return_memory(c, o->map.stream->ring.fd, o->map.stream->ring.size);
	if (o->kind != GPUBPF_BPF_BUFFER)
		return -EINVAL;
	if (!o->ring.base)
		err = open_buffer(c->s, o, bytes);
	else if (bytes != PAGE + o->ring.size)
		err = -EINVAL;
	return err ? err : return_memory(c, o->ring.fd, 0);
}

/* -- buffers of a PERF_EVENT_ARRAY -- */

int sys_stream_elem(struct gpubpf_session *s, struct sys_object *map, uint32_t cmd, uint32_t key, uint32_t value)
{
	if (!is_perf(map) || (cmd != BPF_MAP_UPDATE_ELEM && cmd != BPF_MAP_DELETE_ELEM))
		return -524; /* ENOTSUPP, which headers for user space do not define */
	if (key >= map->map.def.max_entries)
		return -E2BIG;
	if (cmd == BPF_MAP_UPDATE_ELEM && !sys_object_find_kind(s, GPUBPF_BPF_BUFFER, value))
		return -EBADF;
	if (cmd == BPF_MAP_DELETE_ELEM && !map->map.stream->buffers[key])
		return -ENOENT;
	map->map.stream->buffers[key] = cmd == BPF_MAP_UPDATE_ELEM ? value : 0;
	return 0;
}

/*
 * Returns the buffer for records of multiprocessor `copy`. The buffers are used in turn (`copy` modulo their number).
 * NULL: the map has no buffers.
 */
static struct sys_object *find_buffer(const struct gpubpf_session *s, const struct sys_object *map, uint32_t copy)
{
	const uint32_t *ids = map->map.stream->buffers;
	uint32_t n = 0, max = map->map.def.max_entries;

	for (uint32_t i = 0; i < max; i++)
		n += ids[i] != 0;
	copy = n ? copy % n : 0;
	for (uint32_t i = 0; i < max && n; i++)
		if (ids[i] && !copy--)
			return sys_object_find_kind(s, GPUBPF_BPF_BUFFER, ids[i]);
	return NULL;
}

/* -- records -- */

static void copy_into_ring(struct sys_ring *ring, uint64_t *at, const void *data, size_t size)
{
	size_t from = *at & (ring->size - 1), first = ring->size - from < size ? ring->size - from : size;

	memcpy(ring->data + from, data, first);
	memcpy(ring->data, (const uint8_t *)data + first, size - first);
	*at += size;
}

/*
 * Returns true if the ring has `size` free bytes. A process that maps the ring can overwrite its positions. Such a
 * process loses only its own records.
 */
static bool has_room(const struct sys_ring *ring, uint64_t size)
{
	uint64_t used = ring->at - __atomic_load_n(ring->tail, __ATOMIC_ACQUIRE);

	return used <= ring->size && ring->size - used >= size;
}

static int append_record(struct sys_ring *ring, const void *head, size_t head_size, const void *data, size_t size,
			 size_t whole)
{
	static const uint8_t zeros[16];
	uint64_t at = ring->at;

	if (whole > ring->size)
		return -E2BIG;
	if (!has_room(ring, whole))
		return -EAGAIN;
	copy_into_ring(ring, &at, head, head_size);
	copy_into_ring(ring, &at, data, size);
	copy_into_ring(ring, &at, zeros, whole - head_size - size);
	ring->at = at;
	__atomic_store_n(ring->head, at, __ATOMIC_RELEASE);
	return 0;
}

/* Append a record to a ring buffer, after Linux's header struct bpf_ringbuf_hdr. */
static int append_ringbuf_record(struct sys_ring *ring, const void *data, uint32_t size)
{
	const uint32_t head[2] = { size, 0 };

	return append_record(ring, head, sizeof(head), data, size, sizeof(head) + ((size + 7ull) & ~7ull));
}

/*
 * Append a PERF_RECORD_SAMPLE with PERF_SAMPLE_RAW (perf_event_open(2)). Padding extends the raw bytes to the end of
 * the record. 8 bytes of the buffer always stay free, because a full buffer would look empty.
 */
static int append_perf_sample(struct sys_ring *ring, const void *data, uint32_t size)
{
	uint64_t whole = (sizeof(struct perf_event_header) + sizeof(uint32_t) + size + 7ull) & ~7ull;
	struct {
		struct perf_event_header header;
		uint32_t size;
	} head = { { .type = PERF_RECORD_SAMPLE, .size = (uint16_t)whole }, (uint32_t)(whole - sizeof(head)) };

	if (whole > SAMPLE_MAX || whole >= ring->size)
		return -E2BIG;
	return has_room(ring, whole + 8) ? append_record(ring, &head, sizeof(head), data, size, whole) : -EAGAIN;
}

static int deliver(struct gpubpf_session *s, struct sys_object *map, uint32_t copy, const void *data, uint32_t size)
{
	struct sys_object *buffer;

	if (map->map.stream->bridge)
		return sys_bridge_put(map->map.stream->bridge, data, size);
	if (!is_perf(map))
		return append_ringbuf_record(&map->map.stream->ring, data, size);
	buffer = find_buffer(s, map, copy);
	if (!buffer || !buffer->ring.base || buffer->ring.disabled || buffer->ring.paused)
		return -ENOENT;
	return append_perf_sample(&buffer->ring, data, size);
}

static struct sys_object *find_reader(const struct gpubpf_session *s, uint32_t map)
{
	for (uint32_t i = 0; s->loaders && i < s->loaders->n; i++) {
		struct sys_object *o = s->loaders->objects[i];

		if (o->kind == GPUBPF_BPF_MAP && o->map.joined && o->map.index == map)
			return o->map.stream ? o : NULL;
	}
	return NULL;
}

static bool reader_has_room(struct gpubpf_session *s, struct sys_object *map)
{
	struct sys_stream *stream = map->map.stream;

	if (stream->waiting && deliver(s, map, stream->copy, stream->waiting, stream->size) == -EAGAIN)
		return false;
	free(stream->waiting);
	stream->waiting = NULL;
	return true;
}

static bool deliver_record(struct gpubpf_session *s, struct sys_object *map, uint32_t copy, const void *data, uint32_t size)
{
	struct sys_stream *stream = map->map.stream;
	int err = deliver(s, map, copy, data, size);

	if (err == -E2BIG)
		gpubpf_session_note(s,
				    "map %s: dropped a record of %u bytes, because it is longer than the loader's "
				    "buffer; use a buffer with more pages",
				    map->map.def.name, size);
	if (err != -EAGAIN)
		return true;
	stream->waiting = malloc(size + 1);
	if (!stream->waiting)
		return true;
	memcpy(stream->waiting, data, size);
	stream->size = size;
	stream->copy = copy;
	return false;
}

/*
 * Wake the loader that polls the object's pipe. The session empties the pipe, and writes one byte if the loader has
 * unread records. A loader that waits for edges wakes once per byte; hooks/loader makes epoll(7) wait for edges. A
 * loader that has read all records finds the pipe empty. The session reads the pipe only once, because a loader could
 * write to it without end.
 */
static void write_bell(const struct sys_object *o, const struct sys_ring *ring)
{
	static char bytes[PIPE_SIZE];

	if (!ring->base || (read(o->fd, bytes, sizeof(bytes)) < 0 && errno != EAGAIN))
		return;
	if (__atomic_load_n(ring->tail, __ATOMIC_ACQUIRE) != ring->at && write(o->fd, "", 1) < 0)
		return; /* the pipe is full, so its loaders are awake */
}

static void wake_readers(struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->loaders && i < s->loaders->n; i++) {
		const struct sys_object *o = s->loaders->objects[i];

		if (o->kind == GPUBPF_BPF_BUFFER)
			write_bell(o, &o->ring);
		else if (o->kind == GPUBPF_BPF_MAP && o->map.stream)
			write_bell(o, &o->map.stream->ring);
	}
}

static const struct gpubpf_loader_ops loader_ops = { find_reader, reader_has_room, deliver_record, wake_readers };
