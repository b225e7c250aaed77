/* SPDX-License-Identifier: Apache-2.0 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "core/diag.h"

#define FILE_LIMIT (1ull << 30) /* bytes of a file that a worker writes: results are memfds */

static const int plain[] = {
	SCMP_SYS(read), SCMP_SYS(write), SCMP_SYS(readv), SCMP_SYS(writev), SCMP_SYS(close),
	SCMP_SYS(sendmsg), SCMP_SYS(recvmsg), SCMP_SYS(poll), SCMP_SYS(ppoll), SCMP_SYS(lseek),
	SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(brk), SCMP_SYS(madvise),
	SCMP_SYS(memfd_create), SCMP_SYS(ftruncate), SCMP_SYS(fstat), SCMP_SYS(newfstatat), SCMP_SYS(fcntl),
	SCMP_SYS(futex), SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(getrandom),
	SCMP_SYS(clock_gettime), SCMP_SYS(clock_nanosleep), SCMP_SYS(gettimeofday), SCMP_SYS(getrusage),
	SCMP_SYS(getpid), SCMP_SYS(gettid), SCMP_SYS(tgkill), SCMP_SYS(uname), SCMP_SYS(sysinfo),
	SCMP_SYS(rt_sigaction), SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(sigaltstack),
	SCMP_SYS(alarm), SCMP_SYS(setitimer), SCMP_SYS(exit), SCMP_SYS(exit_group),
	SCMP_SYS(restart_syscall), SCMP_SYS(rseq), SCMP_SYS(set_robust_list), SCMP_SYS(set_tid_address),
};

static const int threads[] = {
	SCMP_SYS(clone), SCMP_SYS(clone3), SCMP_SYS(prctl),
};

static const int files[] = {
	SCMP_SYS(stat), SCMP_SYS(lstat), SCMP_SYS(statx), SCMP_SYS(access), SCMP_SYS(faccessat),
	SCMP_SYS(faccessat2), SCMP_SYS(readlink), SCMP_SYS(readlinkat), SCMP_SYS(getcwd),
	SCMP_SYS(getdents64), SCMP_SYS(statfs), SCMP_SYS(fstatfs), SCMP_SYS(pread64),
};

static int allow_list(scmp_filter_ctx ctx, const int *calls, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, calls[i], 0);

		if (err < 0)
			return err;
	}
	return 0;
}
#define ALLOW(ctx, calls) allow_list(ctx, calls, sizeof(calls) / sizeof((calls)[0]))

/* memory that is never executable */
static int allow_memory(scmp_filter_ctx ctx)
{
	struct scmp_arg_cmp no_exec = SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1, no_exec);

	return err < 0 ? err : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1, no_exec);
}

/* reading its own limits; changing any is refused */
static int allow_getrlimit(scmp_filter_ctx ctx)
{
	return seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 2, SCMP_A0(SCMP_CMP_EQ, 0),
				SCMP_A2(SCMP_CMP_EQ, 0));
}

static int allow_reading(scmp_filter_ctx ctx)
{
	int err = ALLOW(ctx, files);

	if (err < 0)
		return err;
	err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
			       SCMP_A2(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
	return err < 0 ? err : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(open), 1,
						SCMP_A1(SCMP_CMP_MASKED_EQ, O_ACCMODE | O_CREAT | O_TRUNC, O_RDONLY));
}

/* copies of itself, which share nothing, and waiting for them */
static int allow_fork(scmp_filter_ctx ctx)
{
	const uint64_t plain_flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | CSIGNAL;
	int err = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				   SCMP_A0(SCMP_CMP_MASKED_EQ, ~plain_flags, 0));

	return err ? err : seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(wait4), 0);
}

static int fill(scmp_filter_ctx ctx, unsigned allow)
{
	int err = ALLOW(ctx, plain);

	if (!err)
		err = allow_memory(ctx);
	if (!err)
		err = allow_getrlimit(ctx);
	if (!err && (allow & GPUBPF_SANDBOX_THREADS))
		err = ALLOW(ctx, threads);
	if (!err && (allow & GPUBPF_SANDBOX_FORK))
		err = allow_fork(ctx);
	if (!err && (allow & GPUBPF_SANDBOX_READ_FILES))
		err = allow_reading(ctx);
	return err ? err : seccomp_load(ctx);
}

static int refuse(struct gpubpf_diag *diag, const char *what, int err)
{
	gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "the worker cannot lock itself up: %s: %s", what,
			strerror(-err));
	return err;
}

int gpubpf_sandbox_limits(struct gpubpf_diag *diag)
{
	struct rlimit none = { 0, 0 }, file;

	if (getrlimit(RLIMIT_FSIZE, &file) < 0)
		return refuse(diag, "getrlimit", -errno);
	if (file.rlim_max > FILE_LIMIT)
		file.rlim_max = FILE_LIMIT;
	file.rlim_cur = file.rlim_max;
	signal(SIGXFSZ, SIG_IGN); /* a result that is too large is an error, no death */
	if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_FSIZE, &file) < 0)
		return refuse(diag, "setrlimit", -errno);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return refuse(diag, "no_new_privs", -errno);
	return 0;
}

static const int denied[] = {
	SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd),
	SCMP_SYS(bpf), SCMP_SYS(perf_event_open), SCMP_SYS(userfaultfd), SCMP_SYS(keyctl), SCMP_SYS(add_key),
	SCMP_SYS(request_key), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root), SCMP_SYS(chroot),
	SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
	SCMP_SYS(kexec_file_load), SCMP_SYS(reboot), SCMP_SYS(swapon), SCMP_SYS(swapoff), SCMP_SYS(settimeofday),
	SCMP_SYS(clock_settime), SCMP_SYS(sethostname), SCMP_SYS(acct),
};

static const int families[] = { AF_INET, AF_INET6, AF_PACKET };

static int deny_all(scmp_filter_ctx ctx)
{
	int err = 0;

	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]) && !err; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), denied[i], 0);
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && !err; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(socket), 1,
				       SCMP_A0(SCMP_CMP_EQ, families[i]));
	return err ? err : seccomp_load(ctx);
}

int gpubpf_sandbox_outer(struct gpubpf_diag *diag)
{
	scmp_filter_ctx ctx;
	int err = gpubpf_sandbox_limits(diag);

	if (err < 0)
		return err;
	ctx = seccomp_init(SCMP_ACT_ALLOW);
	err = ctx ? deny_all(ctx) : -ENOMEM;
	if (ctx)
		seccomp_release(ctx);
	return err < 0 ? refuse(diag, "seccomp", err) : 0;
}

int gpubpf_sandbox_enter(unsigned allow, struct gpubpf_diag *diag)
{
	scmp_filter_ctx ctx;
	int err = gpubpf_sandbox_limits(diag);

	if (err < 0)
		return err;
	ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	if (!ctx)
		return refuse(diag, "seccomp", -ENOMEM);
	err = fill(ctx, allow);
	seccomp_release(ctx);
	return err < 0 ? refuse(diag, "seccomp", err) : 0;
}
