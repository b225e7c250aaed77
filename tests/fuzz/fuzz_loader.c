/* SPDX-License-Identifier: Apache-2.0 */
// SOURCES: hooks/loader/bpf.c hooks/loader/copy.c hooks/loader/file.c hooks/loader/handle.c hooks/loader/map.c hooks/loader/memory.c hooks/loader/map_fd_values.c hooks/loader/object.c hooks/loader/perf.c
// SOURCES: hooks/loader/pin.c hooks/loader/prog.c hooks/loader/run.c hooks/loader/map_adopt.c hooks/loader/uprobe.c core/wire/loader.c core/wire/msg.c core/wire/wire.c
// LIBS:
/*
 * Makes system calls of a loader, with arbitrary memory, file descriptors and answers of the session. The library must
 * answer a call or pass it to the Linux kernel, and may access only the caller's memory. Four bytes of the input select
 * the call and the address of its attribute; the memory starts with that attribute.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "hooks/loader/environ.h"
#include "hooks/loader/loader.h"

#define BASE 0x10000u              /* address of the caller's memory */
#define SKIP 8                     /* bytes of the input that select the call */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const names[] = {
	"gpubpf-map:1073741824:4:8:0", "gpubpf-map:1073741825:0:4:1", "gpubpf-map:1073741826:70000:70000:0", "gpubpf-prog:1073741827:0:0:0",
	"gpubpf-link:1073741828:0:0:0", "gpubpf-btf:1073741829:0:0:0", "gpubpf-perf:1073741830:0:0:0", "gpubpf-buffer:1073741831:0:0:0",
	"gpubpf-map:1073741832:4:4:6", "gpubpf-map:1073741833:4:4:4294967295", "gpubpf-map:1:4294967295:4294967295:2", "other",
};
#define FILES (sizeof(names) / sizeof(names[0]))

static int files[FILES];
static uint8_t *memory;            /* [room] */
static size_t room;
static const uint8_t *in, *end;    /* remaining answers */

static uint8_t next(void)
{
	return in < end ? *in++ : 0;
}

struct caller_state *caller_state(void)
{
	static struct caller_state state;

	return &state;
}

static void *memory_at(uint64_t from, size_t size)
{
	return from >= BASE && from - BASE <= room && size <= room - (from - BASE) ? memory + (from - BASE) : NULL;
}

int caller_read(void *to, uint64_t from, size_t size)
{
	const void *is = memory_at(from, size);

	if (size && is)
		memcpy(to, is, size);
	return !size || is ? 0 : -EFAULT;
}

int caller_write(uint64_t to, const void *from, size_t size)
{
	void *is = memory_at(to, size);

	if (size && is)
		memcpy(is, from, size);
	return !size || is ? 0 : -EFAULT;
}

int caller_text(char *to, uint64_t from, size_t most)
{
	for (size_t i = 0; i < most; i++)
		if (caller_read(to + i, from + i, 1) < 0)
			return -EFAULT;
		else if (!to[i])
			return 0;
	return -ENAMETOOLONG;
}

void caller_proc(const char *what, char path[PROC_SIZE])
{
	snprintf(path, PROC_SIZE, "/proc/self/%s", what);
}

void caller_link(int fd, char path[PROC_SIZE])
{
	snprintf(path, PROC_SIZE, "/proc/self/fd/%d", files[(unsigned int)fd % FILES]);
}

int caller_borrow(int fd)
{
	return fd < 0 ? -EBADF : dup(files[(unsigned int)fd % FILES]);
}

void caller_return_fd(int borrowed)
{
	close(borrowed);
}

int caller_replace(int fd, int by)
{
	return next() & 1 ? -EBADF : 0;
}

int caller_lend(int fd)
{
	return next() & 1 ? -EMFILE : 7;
}

void caller_close_lent(int lent)
{
}

int caller_path(const char *path, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s", path) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

long caller_mmap(const long arg[6])
{
	return next() & 1 ? -ENOMEM : 0x700000000000;
}

long pass(struct call *c)
{
	static const long answers[] = { PASSED, -EPERM, -ENOENT, 0 };

	c->is_predicted = next() & 1;
	return answers[next() % 4];
}

long pass_map_of(struct call *c)
{
	long ret = pass(c);

	return ret ? ret : dup(files[0]);
}

long pass_unknown(int cmd, uint64_t attr, unsigned int size)
{
	return PASSED;
}

/* Stands in for the Linux kernel: returns the next bytes of the input. */
long kernel_call(long nr, const long arg[6])
{
	uint64_t *number = (uint64_t *)arg[2];

	(void)nr;
	*number = next();
	return *number & 1 ? 0 : -ENOTTY;
}

long pass_uprobe(const long arg[6], const struct perf_event_attr *attr)
{
	return pass_perf(arg, attr, NULL);
}

long pass_perf(const long arg[6], const struct perf_event_attr *attr, const char *function)
{
	return next() & 1 ? -EACCES : PASSED;
}

long kernel_bpf(int cmd, const void *attr, size_t size)
{
	const union bpf_attr *asked = attr;
	uint32_t most = asked->info.info_len;

	if (cmd == BPF_OBJ_GET_INFO_BY_FD && size >= FIELD_END(info))
		for (uint32_t i = 0; i < most; i++)
			((uint8_t *)(uintptr_t)asked->info.info)[i] = i < 12 ? next() : 0;
	return cmd == BPF_OBJ_GET_INFO_BY_FD ? 0 : in < end ? -(long)next() : -ENOENT; /* ends each iteration */
}

const char *loader_env_session(void)
{
	return "/nowhere";
}

bool have_session(void)
{
	return true;
}

int ask(uint32_t op, struct gpubpf_writer *w, struct answer *a)
{
	size_t n = next();

	*a = (struct answer){ .payload.fd = next() & 1 ? dup(files[next() % FILES]) : -1 };
	n = n < (size_t)(end - in) ? n : (size_t)(end - in);
	gpubpf_reader_init(&a->payload.r, in, n);
	in += n;
	gpubpf_writer_finish(w);
	return -(int)(next() % 2 * next());
}

void answer_close(struct answer *a)
{
	gpubpf_payload_close(&a->payload);
}

int request_handle(uint32_t op, struct gpubpf_writer *w, int given)
{
	gpubpf_writer_finish(w);
	return next() & 1 ? dup(files[next() % FILES]) : -(int)(1 + next());
}

static const unsigned long requests[] = {
#define GPUBPF_PERF_REQUEST(name, probe, buffer) PERF_EVENT_IOC_##name,
#include "hooks/loader/requests.def"
};

static long call(uint32_t which, uint32_t size)
{
	const long arg[6] = { BASE, (long)room, PROT_READ, which & 1 ? MAP_SHARED : MAP_PRIVATE, next() % FILES, which & 0xf000 };
	long mapped = 0;
	int result = 0;

	if (which % 64 < 48)
		return bpf_call((int)(which % 64), BASE, size % 8192);
	if (which % 64 < 52)
		return perf_event_open_call(arg);
	if (which % 64 < 56)
		return session_mmap(arg, &mapped) ? mapped : 0;
	return perf_ioctl(next() % FILES, requests[next() % (sizeof(requests) / sizeof(requests[0]))], next() % FILES, &result) ? result : 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t which[2];
	long ret;

	for (size_t i = 0; !files[0] && i < FILES; i++)
		files[FILES - 1 - i] = memfd_create(names[FILES - 1 - i], 0);
	if (size < SKIP)
		return 0;
	memcpy(which, data, sizeof(which));
	room = (size - SKIP) / 2;
	memory = malloc(room + 1);
	if (!memory)
		return 0;
	memcpy(memory, data + SKIP, room);
	in = data + SKIP + room;
	end = data + size;
	ret = call(which[0], which[1]);
	if (ret > files[0] && ret < 1024 && which[0] % 64 < 52 && (which[0] % 64 > 47 || bpf_returns_fd((int)(which[0] % 64))))
		close((int)ret);
	free(memory);
	return 0;
}
