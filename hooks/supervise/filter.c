/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installs the seccomp filter of supervised processes. The filter selects the system calls that wait for the
 * supervisor.
 */
#include "supervise.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_INSNS 128              /* maximum number of instructions in the filter */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1ul << 5)
#endif

enum select { ALL, PERF_REQUESTS, SHARED_FILES, MISSING_FILES };

struct program {
	struct sock_filter insn[MAX_INSNS];
	unsigned int n;
};

static void emit(struct program *p, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	p->insn[p->n++] = (struct sock_filter){ code, yes, no, k };
}

static void emit_load_arg(struct program *p, unsigned int arg)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t)), 0, 0);
}

static void emit_return(struct program *p, uint32_t verdict)
{
	emit(p, BPF_RET | BPF_K, verdict, 0, 0);
}

/* Select the ioctl(2) requests of perf events. The test compares 32 bits of the request, as the Linux kernel does. */
static void emit_perf_requests(struct program *p)
{
	static const uint32_t requests[] = {
#define GPUBPF_PERF_REQUEST(name, probe, buffer) PERF_EVENT_IOC_##name,
#include "hooks/loader/requests.def"
	};
	const unsigned int n = sizeof(requests) / sizeof(requests[0]);

	emit_load_arg(p, 1);
	for (unsigned int i = 0; i < n; i++)
		emit(p, BPF_JMP | BPF_JEQ | BPF_K, requests[i], (uint8_t)(n - i), 0);
	emit_return(p, SECCOMP_RET_ALLOW);
	emit_return(p, SECCOMP_RET_USER_NOTIF);
}

/*
 * Select mmap(2) of a file with MAP_SHARED only. Mappings that the supervisor makes in the caller use
 * MAP_SHARED_VALIDATE, and must not wait for the supervisor.
 */
static void emit_shared_files(struct program *p)
{
	emit_load_arg(p, 3);
	emit(p, BPF_ALU | BPF_AND | BPF_K, MAP_TYPE | MAP_ANONYMOUS, 0, 0);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, MAP_SHARED, 1, 0);
	emit_return(p, SECCOMP_RET_ALLOW);
	emit_return(p, SECCOMP_RET_USER_NOTIF);
}

/*
 * Emit the test for call number `nr` and the code for that call, which always returns. Other call numbers jump over the
 * code.
 */
static void emit_call(struct program *p, uint32_t nr, enum select select)
{
	unsigned int at = p->n;

	if (select == MISSING_FILES && !filter_needs_file_calls())
		return;
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 0);
	if (select == PERF_REQUESTS)
		emit_perf_requests(p);
	else if (select == SHARED_FILES)
		emit_shared_files(p);
	else
		emit_return(p, SECCOMP_RET_USER_NOTIF);
	p->insn[at].jf = (uint8_t)(p->n - at - 1);
}

bool filter_needs_file_calls(void)
{
	return access("/sys/bus/event_source/devices/kprobe/type", F_OK) < 0;
}

static void build_filter(struct program *p)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	emit_return(p, SECCOMP_RET_ALLOW);
	emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
#define GPUBPF_SUPERVISED(name, select, function) emit_call(p, SYS_##name, select);
#include "calls.def"
	emit_return(p, SECCOMP_RET_ALLOW);
}

static int install(const struct sock_fprog *prog, unsigned long flags)
{
	return (int)kernel_call(SYS_seccomp,
				(const long[6]){ SECCOMP_SET_MODE_FILTER,
						 (long)(SECCOMP_FILTER_FLAG_NEW_LISTENER | flags), (long)prog });
}

/*
 * Install the filter with SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV if the Linux kernel has this flag (since 5.19). Then
 * signals do not interrupt a waiting thread, which would have to repeat the call. Go's runtime sends many signals.
 */
static int install_newest(const struct sock_fprog *prog)
{
	int fd = install(prog, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);

	return fd == -EINVAL ? install(prog, 0) : fd;
}

int filter_install(const char **why)
{
	struct program p = { 0 };
	struct sock_fprog prog = { .filter = p.insn };
	int fd;

	build_filter(&p);
	prog.len = (unsigned short)p.n;
	fd = install_newest(&prog);
	if (fd == -EACCES) { /* without CAP_SYS_ADMIN, Linux requires no_new_privs: FILE gains no privileges */
		if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
			return -errno;
		fd = install_newest(&prog);
	}
	if (fd == -EBUSY)
		*why = "another program (for example of a container) supervises its system calls already; run it "
		       "outside that program";
	else if (fd == -EINVAL || fd == -ENOSYS)
		*why = "the Linux kernel has no seccomp user notification, which Linux 5.9 and newer can have; use "
		       "another kernel, or a loader that is linked dynamically against glibc";
	else
		*why = "the system does not allow seccomp filters with user notification; allow seccomp(2) in the container, or use a loader that is linked dynamically against glibc";
	return fd;
}
