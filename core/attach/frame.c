/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the stub and its frame (boot.h) into a process, and starts the stub in a stopped thread. */
#include "remote.h"

#include <cpuid.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#define RED_ZONE 128              /* bytes below rsp that a function may use (System V ABI) */
#define NO_TILES (~(3ull << 17))  /* all XSAVE components except AMX's; the boot code does not change AMX state */
#define FLAGS_TO_CLEAR 0x10500ull /* the trap, direction and resume flags */
#define MAX_XSAVE 8192

static size_t get_stub_size(void)
{
	return gpubpf_boot_stub_end - gpubpf_boot_stub;
}

/*
 * Returns true if the stub can be written at `address`: the bytes there are zeros, or another attach has written its
 * stub there.
 */
static bool is_free(const struct remote *r, uint64_t address)
{
	char have[1024], zeros[sizeof(have)] = { 0 };
	size_t size = get_stub_size();

	return size <= sizeof(have) && !remote_read(r, address, have, size) &&
	       (!memcmp(have, zeros, size) || !memcmp(have, gpubpf_boot_stub, size));
}

static bool is_stub(const struct remote *r, uint64_t address)
{
	char have[1024];
	size_t size = get_stub_size();

	return size <= sizeof(have) && !remote_read(r, address, have, size) && !memcmp(have, gpubpf_boot_stub, size);
}

/*
 * Find bytes for a stub after the code of a mapped file, at the end of its last page. Skip the agent's library,
 * because the stub must not depend on it. Skip the dynamic linker, because the stub must not disturb it.
 */
static uint64_t find_place(const struct remote *r, bool (*is_fit)(const struct remote *r, uint64_t address))
{
	size_t size = (get_stub_size() + 15) & ~15ul;

	for (size_t i = 0; i < r->nmaps; i++) {
		const struct remote_map *m = &r->maps[i];

		if (!strcmp(m->flags, "r-xp") && m->path[0] == '/' && !strstr(m->path, "/ld-linux") &&
		    !strstr(m->path, GPUBPF_BOOT_LIBRARY) && is_fit(r, m->to - size))
			return m->to - size;
	}
	return 0;
}

uint64_t remote_find_stub(const struct remote *r)
{
	return find_place(r, is_stub);
}

/* The files of the C library. Before glibc 2.34, its functions were in three files. */
static const char *const libc_files[] = { "libc.so.6",     "libc-2.",    "libpthread.so.0",
					  "libpthread-2.", "libdl.so.2", "libdl-2." };

static uint64_t find_function(const struct remote *r, const char *name)
{
	uint64_t found = 0;

	for (size_t i = 0; i < sizeof(libc_files) / sizeof(libc_files[0]) && !found; i++) {
		const struct remote_map *m = remote_find_file(r, libc_files[i]);

		if (m && !m->offset)
			found = remote_symbol(r, m->from, name);
	}
	return found;
}

int remote_boot_init(struct remote *r, struct remote_boot *boot, const char *entry)
{
	static const char *const names[BOOT_FUNCTIONS] = {
		[BOOT_DLOPEN] = "dlopen",
		[BOOT_DLSYM] = "dlsym",
		[BOOT_DLCLOSE] = "dlclose",
		[BOOT_DLERROR] = "dlerror",
		[BOOT_MUNMAP] = "munmap",
		[BOOT_PTHREAD_CREATE] = "pthread_create",
		[BOOT_PTHREAD_DETACH] = "pthread_detach",
		[BOOT_PTHREAD_SELF] = "pthread_self",
	};
	static unsigned int count;

	*boot = (struct remote_boot){ 0 };
	for (int i = 0; i < BOOT_FUNCTIONS; i++) {
		boot->frame.functions[i] = find_function(r, names[i]);
		if (!boot->frame.functions[i])
			return remote_fail(r, -EOPNOTSUPP,
					   "process %d: its C library has no %s(); the agent needs glibc, and before 2.34 a program "
					   "that is linked with -lpthread",
					   r->pid, names[i]);
	}
	boot->stub = find_place(r, is_free);
	if (!boot->stub)
		return remote_fail(r, -EOPNOTSUPP, "process %d: no library has %zu unused bytes after its code", r->pid,
				   get_stub_size());
	snprintf(boot->name, sizeof(boot->name), GPUBPF_BOOT_FILE "-%d-%u", (int)getpid(),
		 __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED));
	snprintf(boot->frame.symbol, sizeof(boot->frame.symbol), "%s", entry);
	return 0;
}

static uint64_t read_enabled_components(void)
{
	uint32_t low, high;

	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return ((uint64_t)high << 32 | low) & NO_TILES;
}

/*
 * Store the enabled components in *components. Returns the bytes of an XSAVE area with these components in the standard
 * format, or 0 if this processor has no XSAVE.
 */
static size_t compute_xsave_size(uint64_t *components)
{
	uint32_t a, b, c, d;
	size_t size = 576; /* the legacy area and the header */

	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE))
		return 0;
	*components = read_enabled_components();
	for (uint32_t i = 2; i < 63; i++)
		if (*components >> i & 1 && __get_cpuid_count(0xd, i, &a, &b, &c, &d) && b + a > size)
			size = b + a;
	return size;
}

static void set_registers(struct gpubpf_boot_frame *f, const struct remote_thread *t)
{
	const struct user_regs_struct *r = &t->regs;

	f->rax = t->rax;
	f->rcx = t->rip;
	f->r11 = r->eflags;
	f->rbx = r->rbx;
	f->rdx = r->rdx;
	f->rsi = r->rsi;
	f->rdi = r->rdi;
	f->rbp = r->rbp;
	f->rsp = r->rsp;
	f->r8 = r->r8;
	f->r9 = r->r9;
	f->r10 = r->r10;
	f->r12 = r->r12;
	f->r13 = r->r13;
	f->r14 = r->r14;
	f->r15 = r->r15;
}

/* Write the frame, the page code and an empty XSAVE area below the thread's stack. *sp: the address of the frame. */
static int write_frame(struct remote *r, struct remote_boot *boot, const struct remote_thread *t, uint64_t *sp)
{
	static const char zeros[MAX_XSAVE];
	size_t xsave = compute_xsave_size(&boot->frame.xsave_mask), code = gpubpf_boot_page_end - gpubpf_boot_page;
	struct gpubpf_boot_frame *f = &boot->frame;
	int err;

	if (!xsave || xsave > MAX_XSAVE || code > BOOT_CODE_SIZE)
		return remote_fail(r, -EOPNOTSUPP, "this processor lacks XSAVE, or has more state than gpubpf can save");
	f->xsave = (t->regs.rsp - RED_ZONE - xsave) & ~63ull;
	f->code = f->xsave - code;
	f->code_size = code;
	f->start = (const char *)gpubpf_boot_create_thread - gpubpf_boot_page;
	f->all_signals = UINT64_MAX;
	*sp = (f->code - sizeof(*f)) & ~15ull;
	snprintf(f->name, sizeof(f->name), "%s", boot->name);
	set_registers(f, t);
	err = remote_write(r, f->xsave, zeros, xsave);
	if (!err)
		err = remote_write(r, f->code, gpubpf_boot_page, code);
	return err ? err : remote_write(r, *sp, f, sizeof(*f));
}

int remote_boot_start(struct remote *r, struct remote_boot *boot, struct remote_thread *t)
{
	struct user_regs_struct regs = t->regs;
	struct iovec v = { &regs, sizeof(regs) };
	uint64_t sp = 0;
	int err = write_frame(r, boot, t, &sp);

	/*
	 * From here on, no other tool can begin to remove this stub. It would have to seize all threads, but this
	 * thread is already traced.
	 */
	if (!err && !is_free(r, boot->stub))
		err = -EAGAIN;
	if (!err)
		err = remote_write_code(r, boot->stub, gpubpf_boot_stub, get_stub_size());
	if (!err) {
		regs.rip = boot->stub;
		regs.rsp = sp;
		regs.orig_rax = -1;
		regs.eflags &= ~FLAGS_TO_CLEAR;
		err = ptrace(PTRACE_SETREGSET, t->tid, NT_PRSTATUS, &v) < 0 ? -errno : 0;
	}
	/*
	 * Write the stub again. A tool that seized all threads just before this thread was stopped may have removed the
	 * stub since the first write.
	 */
	if (!err)
		err = remote_write_code(r, boot->stub, gpubpf_boot_stub, get_stub_size());
	remote_release(t);
	return err < 0 ? remote_explain_access(r, err) : 0;
}

/*
 * Remove the stub. Returns -EAGAIN if a thread executes the stub, or if a shared file is mapped, because a thread may
 * then return to the stub.
 */
static int remove_stub(struct remote *r, const struct remote_thread *threads, size_t n, void *arg)
{
	const struct remote_boot *boot = arg;
	char zeros[1024] = { 0 };

	for (size_t i = 0; i < n; i++)
		if (threads[i].regs.rip >= boot->stub && threads[i].regs.rip < boot->stub + get_stub_size())
			return -EAGAIN;
	if (remote_read_maps(r) < 0 || remote_find_file(r, "memfd:" GPUBPF_BOOT_FILE))
		return -EAGAIN; /* another attach */
	return remote_write_code(r, boot->stub, zeros, get_stub_size());
}

int remote_boot_remove(struct remote *r, const struct remote_boot *boot)
{
	uint64_t stopped;
	int err = -EAGAIN;

	for (int i = 0; i < 10 && err == -EAGAIN; i++) {
		if (i)
			remote_sleep_us(1000);
		err = remote_with_threads(r, false, remove_stub, (void *)boot, &stopped);
	}
	return err;
}
