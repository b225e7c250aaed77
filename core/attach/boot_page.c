/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page code of boot.h. It runs in the other process, at any address. So it refers to nothing outside of its section
 * except through the frame and the data. It uses no vector registers (core/attach/meson.build has the compiler's
 * options).
 *
 * gpubpf_boot_create_thread() starts a new thread, since only a thread that the C library has created may call
 * dlopen(). Also, the taken thread may hold any lock. The new thread waits for the library for at most ROUNDS, loads
 * it, calls the agent's entry, and unmaps the data and this code.
 */
#include "boot.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <linux/memfd.h>
#include <limits.h>
#include <errno.h>
#include <dlfcn.h>
#include <sys/syscall.h>

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u
#endif
#define PAGE_CODE __attribute__((section("gpubpf_boot_page"), used, noinline))
#define ROUNDS 2000 /* number of waits of 1 ms for the library, until the thread gives up */

static inline __attribute__((always_inline)) long call(long nr, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = 0;
	register long r9 __asm__("r9") = 0;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

PAGE_CODE int gpubpf_boot_create_thread(struct gpubpf_boot_frame *frame, struct gpubpf_boot_data *data, long file,
					void *code)
{
	int (*create)(void *thread, const void *attr, void *(*fn)(void *),
		      void *arg) = (void *)frame->functions[BOOT_PTHREAD_CREATE];
	void *start;
	int err;

	for (int i = 0; i < BOOT_FUNCTIONS; i++)
		data->functions[i] = frame->functions[i];
	for (int i = 0; i < (int)sizeof(data->symbol); i++)
		data->symbol[i] = frame->symbol[i];
	data->entry = frame->entry;
	data->file = file;
	data->library = -1;
	data->socket = -1;
	data->code = (uint64_t)code;
	data->version = GPUBPF_BOOT_VERSION;
	__asm__("lea gpubpf_boot_thread(%%rip), %0" : "=r"(start));
	err = create(&data->thread, 0, (void *(*)(void *))start, data);
	if (!err)
		frame->left = (uint64_t)&data->left;
	return err;
}

static inline __attribute__((always_inline)) void set_phase(struct gpubpf_boot_data *data, uint32_t phase)
{
	__atomic_store_n(&data->phase, phase, __ATOMIC_RELEASE);
	call(SYS_futex, (long)&data->phase, FUTEX_WAKE, INT_MAX, 0);
}

/*
 * Write "/proc/thread-self/fd/N" without a string, which would be outside of this section. The path /proc/self would
 * name the process's first thread, which has no descriptors once it has ended.
 */
static inline __attribute__((always_inline)) void format_path(char *path, int fd)
{
	volatile uint64_t *words = (volatile uint64_t *)path;
	char digits[12];
	int n = 0, at = 21;

	words[0] = 0x68742f636f72702full; /* "/proc/th" */
	words[1] = 0x6c65732d64616572ull; /* "read-sel" */
	words[2] = 0x0000002f64662f66ull; /* "f/fd/" */
	do
		digits[n++] = '0' + fd % 10;
	while (fd /= 10);
	while (n)
		path[at++] = digits[--n];
	path[at] = 0;
}

static inline __attribute__((always_inline)) void copy_error(struct gpubpf_boot_data *data)
{
	const char *text = ((char *(*)(void))data->functions[BOOT_DLERROR])();

	for (int i = 0; text && text[i] && i < (int)sizeof(data->error) - 1; i++)
		data->error[i] = text[i];
}

/* Load the library that the tool writes. Returns the address of the agent's entry, or 0 with data->result set. */
static inline __attribute__((always_inline)) uint64_t load_agent(struct gpubpf_boot_data *data)
{
	volatile uint64_t name[2];
	long wait[2] = { 0, 1000000 };
	void *handle, *entry;
	long fd;

	name[0] = 0x612d667062757067ull; /* "gpubpf-a" */
	name[1] = 0x746e6567ull;         /* "gent" */
	fd = call(SYS_memfd_create, (long)name, MFD_CLOEXEC | MFD_EXEC, 0, 0);
	if (fd == -EINVAL)
		fd = call(SYS_memfd_create, (long)name, MFD_CLOEXEC, 0, 0);
	data->library = fd;
	data->result = fd;
	if (fd < 0)
		return 0;
	set_phase(data, BOOT_WAITS);
	for (int i = 0; i < ROUNDS && !__atomic_load_n(&data->filled, __ATOMIC_ACQUIRE); i++)
		call(SYS_futex, (long)&data->filled, FUTEX_WAIT, 0, (long)wait);
	data->result = -ETIMEDOUT;
	if (__atomic_load_n(&data->filled, __ATOMIC_ACQUIRE) != 1)
		return 0;
	set_phase(data, BOOT_LOADING);
	format_path(data->path, fd);
	handle = ((void *(*)(const char *, int))data->functions[BOOT_DLOPEN])(data->path, RTLD_NOW);
	data->result = -ENOEXEC;
	if (!handle) {
		copy_error(data);
		return 0;
	}
	entry = ((void *(*)(void *, const char *))data->functions[BOOT_DLSYM])(handle, data->symbol);
	if (!entry) {
		copy_error(data);
		((int (*)(void *))data->functions[BOOT_DLCLOSE])(handle);
	}
	return (uint64_t)entry;
}

/* Returned to gpubpf_boot_thread(), which calls the function `munmap` to unmap the code. */
struct gpubpf_boot_unmap {
	void *code, *munmap;
};
struct gpubpf_boot_unmap gpubpf_boot_run(struct gpubpf_boot_data *data) __attribute__((visibility("hidden")));

PAGE_CODE struct gpubpf_boot_unmap gpubpf_boot_run(struct gpubpf_boot_data *data)
{
	struct gpubpf_boot_unmap unmap = { (void *)data->code, (void *)data->functions[BOOT_MUNMAP] };
	uint64_t (*self)(void) = (void *)data->functions[BOOT_PTHREAD_SELF];
	long wait[2] = { 0, 1000000 };
	uint64_t entry = data->entry;

	((int (*)(uint64_t))data->functions[BOOT_PTHREAD_DETACH])(self());
	set_phase(data, BOOT_STARTED);
	if (!entry)
		entry = load_agent(data);
	if (entry) {
		set_phase(data, BOOT_ENTERED);
		data->result = ((int64_t (*)(struct gpubpf_boot_data *))entry)(data);
	}
	if (data->library >= 0)
		call(SYS_close, data->library, 0, 0, 0);
	/* Keep the shared file's descriptor open until the tool has read the result, or for at most ROUNDS. */
	set_phase(data, BOOT_DONE);
	for (int i = 0; i < ROUNDS && !__atomic_load_n(&data->taken, __ATOMIC_ACQUIRE); i++)
		call(SYS_futex, (long)&data->taken, FUTEX_WAIT, 0, (long)wait);
	/* Wait until the thread that ran the stub has left the code, which is unmapped next. */
	while (!__atomic_load_n(&data->left, __ATOMIC_ACQUIRE))
		call(SYS_futex, (long)&data->left, FUTEX_WAIT, 0, (long)wait);
	call(SYS_close, data->file, 0, 0, 0);
	call(SYS_munmap, (long)data, BOOT_DATA_SIZE, 0, 0);
	return unmap;
}
