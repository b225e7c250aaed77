/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors of ours that are mapped and waited for as the Linux kernel's are: memory that the session gives when it is
 * mapped, and pipes, in which a byte stands as long as something is unread. */
#include "loader.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096ull

struct range {
	char *at;
	size_t size;
	int prot;
	uint64_t offset;
};

static long map_at(const struct range *r, int fd)
{
	return kernel_call(SYS_mmap, (const long[6]){ (long)r->at, (long)r->size, r->prot, MAP_SHARED | MAP_FIXED, fd, (long)r->offset });
}

/* The last `twice` bytes of the file stand there twice, one behind the other, so that no record is split. */
static long map_twice(struct range r, int flags, int fd, uint64_t end, uint64_t twice)
{
	uint64_t first = r.offset < end ? end - r.offset : 0, size = r.size;
	long at, err;

	if (r.offset > end + twice || r.size > end + twice - r.offset)
		return -EINVAL;
	if (r.prot & PROT_WRITE && r.offset) /* as of the Linux kernel's */
		return -EPERM;
	at = kernel_call(SYS_mmap, (const long[6]){ (long)r.at, (long)size, PROT_NONE,
						   MAP_PRIVATE | MAP_ANONYMOUS | (flags & MAP_FIXED), -1, 0 });
	if (at < 0 && at >= -4095)
		return at;
	r.at = (char *)at;
	r.size = first < size ? first : size;
	err = r.size ? map_at(&r, fd) : 0;
	if (size > first && (err >= 0 || err < -4095)) {
		r = (struct range){ (char *)at + first, size - first, r.prot, (r.offset > end ? r.offset : end) - twice };
		err = map_at(&r, fd);
	}
	return err < 0 && err >= -4095 ? err : at;
}

static long map_given(struct answer *a, struct range r, int flags)
{
	uint64_t twice = gpubpf_get_u64(&a->payload.r);
	struct stat st;

	if (a->payload.r.failed || fstat(a->payload.fd, &st) < 0)
		return -EIO;
	if (twice)
		return map_twice(r, flags, a->payload.fd, (uint64_t)st.st_size, twice);
	return kernel_call(SYS_mmap, (const long[6]){ (long)r.at, (long)r.size, r.prot, flags, a->payload.fd, (long)r.offset });
}

/* Has it memory of its own that is no part of the handle? What has neither is the kernel's error: it would be mapped, and
 * end whoever looks. */
static uint32_t given_by_session(int fd)
{
	struct handle h = handle_of(fd, GPUBPF_BPF_MAP);
	struct stat st;

	if (!h.id)
		return handle_of(fd, GPUBPF_BPF_BUFFER).id;
	return fstat(fd, &st) || st.st_size ? 0 : h.id;
}

int kernel_array(int fd)
{
	struct handle h = handle_of(fd, GPUBPF_BPF_MAP);
	struct gpubpf_writer w = {0};

	if (!h.id || h.pipe)
		return -EINVAL;
	gpubpf_put_u32(&w, h.id);
	gpubpf_put_u64(&w, 0);
	return ask_handle(GPUBPF_BPF_MEMORY, &w, -1);
}

bool own_mmap(void *at, size_t size, int prot, int flags, int fd, uint64_t offset, long *result)
{
	uint32_t id = fd >= 0 && !(flags & MAP_ANONYMOUS) && have_session() ? given_by_session(fd) : 0;
	struct gpubpf_writer w = {0};
	struct answer a;

	if (!id)
		return false;
	gpubpf_put_u32(&w, id);
	gpubpf_put_u64(&w, size);
	*result = ask(GPUBPF_BPF_MEMORY, &w, &a);
	if (!*result)
		*result = map_given(&a, (struct range){ at, size, prot, offset }, flags);
	answer_close(&a);
	return true;
}

/* Nobody reads the byte, so who waits is told of each that comes, and not as long as it stands. */
bool own_bell(int fd)
{
	return have_session() && (handle_of(fd, GPUBPF_BPF_MAP).pipe || handle_of(fd, GPUBPF_BPF_BUFFER).id);
}
