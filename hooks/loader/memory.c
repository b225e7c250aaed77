/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets callers map and poll session descriptors like kernel descriptors. The session provides the memory for mmap(2). A
 * descriptor that can be polled is a pipe. The pipe contains a byte while a record is unread.
 */
#include "loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAGE 4096ull

struct range {
	long at, size;
	int prot;
	uint64_t offset;
};

static bool is_error(long ret)
{
	return ret < 0 && ret >= -4095;
}

static long map_at(const struct range *r, int lent)
{
	return caller_mmap((const long[6]){ r->at, r->size, r->prot, MAP_SHARED_VALIDATE | MAP_FIXED, lent,
					    (long)r->offset });
}

/*
 * Map the file up to `end`. After that, map the last `twice` bytes before `end` (a ring buffer) a second time, so that
 * every record is contiguous.
 */
static long map_twice(struct range r, int flags, int lent, uint64_t end, uint64_t twice)
{
	uint64_t first = r.offset < end ? end - r.offset : 0, size = (uint64_t)r.size;
	long at, err;

	if (r.offset > end + twice || size > end + twice - r.offset)
		return -EINVAL;
	if (r.prot & PROT_WRITE && r.offset) /* the Linux kernel returns the same error */
		return -EPERM;
	at = caller_mmap((const long[6]){ r.at, r.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | (flags & MAP_FIXED),
					  -1, 0 });
	if (is_error(at))
		return at;
	r.at = at;
	r.size = (long)(first < size ? first : size);
	err = r.size ? map_at(&r, lent) : 0;
	if (size > first && !is_error(err)) {
		r = (struct range){ at + (long)first, (long)(size - first), r.prot,
				    (r.offset > end ? r.offset : end) - twice };
		err = map_at(&r, lent);
	}
	return is_error(err) ? err : at;
}

/*
 * Map the memory of the session's answer in the caller. MAP_SHARED_VALIDATE has the same effect as MAP_SHARED, but the
 * supervisor's seccomp filter does not intercept it.
 */
static long map_answer(struct answer *a, const long arg[6])
{
	struct range r = { arg[0], arg[1], (int)arg[2], (uint64_t)arg[5] };
	uint64_t twice = gpubpf_get_u64(&a->payload.r);
	int flags = (int)arg[3], lent;
	struct stat st;
	long ret;

	if (a->payload.r.failed || fstat(a->payload.fd, &st) < 0)
		return -EIO;
	lent = caller_lend(a->payload.fd);
	if (lent < 0)
		return lent;
	if ((flags & MAP_TYPE) == MAP_SHARED)
		flags = (flags & ~MAP_TYPE) | MAP_SHARED_VALIDATE;
	if (twice)
		ret = map_twice(r, flags, lent, (uint64_t)st.st_size, twice);
	else
		ret = caller_mmap((const long[6]){ r.at, r.size, r.prot, flags, lent, (long)r.offset });
	caller_close_lent(lent);
	return ret;
}

/*
 * Returns the number of the session map that the caller's descriptor refers to, or 0 if there is none. If a session map
 * has no memory to map, the caller gets the same error as from the Linux kernel.
 */
static uint32_t session_map_id(int fd)
{
	struct handle h = handle_of(fd, GPUBPF_BPF_MAP);

	return h.id ? h.id : handle_of(fd, GPUBPF_BPF_BUFFER).id;
}

/* -- callers' writable mappings: a map with such a mapping cannot be frozen -- */

#define MAX_WRITTEN 256u

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct written {
	uint32_t map; /* 0: unused */
	long at;
	char process[PROC_SIZE]; /* path of the `maps` file in the process's /proc folder */
} written[MAX_WRITTEN];
static uint32_t next_written;

static void record_writable(uint32_t map, long at)
{
	pthread_mutex_lock(&lock);
	written[next_written] = (struct written){ .map = map, .at = at };
	caller_proc("maps", written[next_written].process);
	next_written = (next_written + 1) % MAX_WRITTEN;
	pthread_mutex_unlock(&lock);
}

/* Returns true if the process still has this writable mapping. */
static bool is_still_mapped(const struct written *w)
{
	FILE *f = fopen(w->process, "re");
	char line[512], rights[8];
	bool there = false;
	unsigned long at;

	while (f && !there && fgets(line, sizeof(line), f))
		there = sscanf(line, "%lx-%*x %7s", &at, rights) == 2 && at == (unsigned long)w->at && rights[1] == 'w' &&
			rights[3] == 's' && (strstr(line, "bpf-map") || strstr(line, "/memfd:gpubpf-map"));
	if (f)
		fclose(f);
	return there;
}

bool is_map_mapped_writable(uint32_t map)
{
	bool any = false;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < MAX_WRITTEN; i++) {
		if (written[i].map != map)
			continue;
		if (is_still_mapped(&written[i]))
			any = true;
		else
			written[i].map = 0;
	}
	pthread_mutex_unlock(&lock);
	return any;
}

bool session_mmap(const long arg[6], long *result)
{
	int flags = (int)arg[3], fd = (int)arg[4];
	bool shares = fd >= 0 && !(flags & MAP_ANONYMOUS) && (flags & MAP_TYPE) != MAP_PRIVATE;
	struct gpubpf_writer w = { 0 };
	struct answer a;
	uint32_t id;

	if (shares)
		note_ring_mapped(fd);
	id = fd >= 0 && !(flags & MAP_ANONYMOUS) ? session_map_id(fd) : 0;
	if (!id)
		return false;
	gpubpf_put_u32(&w, id);
	gpubpf_put_u64(&w, (uint64_t)arg[1]);
	gpubpf_put_u64(&w, (uint64_t)arg[5]);
	gpubpf_put_u32(&w, shares && arg[2] & PROT_WRITE);
	*result = ask(GPUBPF_BPF_MEMORY, &w, &a);
	if (!*result)
		*result = map_answer(&a, arg);
	answer_close(&a);
	if (!is_error(*result) && shares && arg[2] & PROT_WRITE)
		record_writable(id, *result);
	return true;
}

long session_ring_size(int fd)
{
	struct handle h = handle_of(fd, GPUBPF_BPF_MAP);
	struct gpubpf_writer w = { 0 };
	struct answer a;
	uint64_t twice;
	long err;

	if (!h.id || !h.pipe)
		return -EINVAL;
	gpubpf_put_u32(&w, h.id);
	gpubpf_put_u64(&w, 0); /* bytes, offset, and whether the mapping is writable: ignored for a ring buffer */
	gpubpf_put_u64(&w, 0);
	gpubpf_put_u32(&w, 0);
	err = ask(GPUBPF_BPF_MEMORY, &w, &a);
	twice = err ? 0 : gpubpf_get_u64(&a.payload.r);
	answer_close(&a);
	if (!err && !twice)
		err = -EINVAL;
	return err ? err : (long)twice;
}

/*
 * Returns true if fd is a session pipe. It must be polled edge-triggered: no reader consumes the byte in the pipe, so
 * only the arrival of a new byte may wake a poller.
 */
bool is_session_pipe(int fd)
{
	return handle_of(fd, GPUBPF_BPF_MAP).pipe || handle_of(fd, GPUBPF_BPF_BUFFER).id;
}
