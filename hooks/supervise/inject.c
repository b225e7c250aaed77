/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes mmap(2) calls in the caller. One mmap(2) call of the caller may become two mappings, or a mapping of another
 * file, and only the caller can make these mappings. The supervisor stops the waiting thread by ptrace(2), makes it
 * execute the calls, and resumes it with their result. This happens only a few times at a loader's start. It conflicts
 * with debuggers, since a thread can have only one tracer.
 */
#include "supervise.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>

#define CALL_SIZE 2                /* bytes of the x86-64 instruction `syscall` */
#define SYSCALL_STOP (SIGTRAP | 0x80)

static __thread struct {
	struct user_regs_struct regs; /* registers of the thread when it stopped, after the system call */
	uint64_t signals;             /* mask of the signals that the thread blocks */
	pid_t id;
	bool gone;
} tracee;

static long trace(int request, unsigned long address, void *data)
{
	return kernel_call(SYS_ptrace, (const long[6]){ request, tracee.id, (long)address, (long)data });
}

/* Wait until the thread stops. Returns -ESRCH if the thread was killed. */
static int wait_for_stop(int *status)
{
	pid_t id;

	do
		id = waitpid(tracee.id, status, __WALL);
	while (id < 0 && errno == EINTR);
	tracee.gone = id != tracee.id || !WIFSTOPPED(*status);
	return tracee.gone ? -ESRCH : 0;
}

/*
 * Answer the thread's call with an error, so that the thread leaves the Linux kernel. It then stops before it executes
 * user code.
 */
static void end_call(const struct notice *n)
{
	struct seccomp_notif_resp resp = { .id = n->call->id, .error = -EAGAIN };

	ioctl(n->listener, SECCOMP_IOCTL_NOTIF_SEND, &resp);
}

static int stop(struct notice *n)
{
	uint64_t all = ~0ull;
	int status;
	long err;

	tracee.id = (pid_t)n->call->pid;
	tracee.gone = false;
	err = trace(PTRACE_SEIZE, 0, (void *)(uintptr_t)PTRACE_O_TRACESYSGOOD);
	if (err < 0)
		return (int)err;
	n->stopped = true;
	trace(PTRACE_INTERRUPT, 0, NULL);
	end_call(n);
	if (wait_for_stop(&status) < 0)
		return -ESRCH;
	trace(PTRACE_GETREGS, 0, &tracee.regs);
	trace(PTRACE_GETSIGMASK, sizeof(tracee.signals), &tracee.signals);
	trace(PTRACE_SETSIGMASK, sizeof(all), &all);
	return 0;
}

/*
 * Let the thread run until it stops at its next system call. SIGSTOP cannot be blocked, and stays pending until the
 * thread is resumed.
 */
static int run_to_syscall(void)
{
	int status;

	do {
		if (trace(PTRACE_SYSCALL, 0, NULL) < 0 || wait_for_stop(&status) < 0)
			return -ESRCH;
	} while (WSTOPSIG(status) != SYSCALL_STOP);
	return 0;
}

static long run_syscall(long nr, const long arg[6])
{
	struct user_regs_struct regs = tracee.regs;

	if (tracee.gone)
		return -ESRCH;
	regs.rip -= CALL_SIZE;
	regs.rax = (unsigned long)nr;
	regs.orig_rax = ~0ul; /* prevents the Linux kernel from restarting the interrupted call */
	regs.rdi = (unsigned long)arg[0];
	regs.rsi = (unsigned long)arg[1];
	regs.rdx = (unsigned long)arg[2];
	regs.r10 = (unsigned long)arg[3];
	regs.r8 = (unsigned long)arg[4];
	regs.r9 = (unsigned long)arg[5];
	trace(PTRACE_SETREGS, 0, &regs);
	if (run_to_syscall() < 0 || run_to_syscall() < 0)
		return -ESRCH;
	trace(PTRACE_GETREGS, 0, &regs);
	return (long)regs.rax;
}

static void report_unstoppable(void)
{
	static bool said;

	say_once(&said, "the loader's ring buffer cannot be mapped, because ptrace(2) cannot stop the loader; run it "
			"without strace or gdb, and as root if /proc/sys/kernel/yama/ptrace_scope is more than 0");
}

static long call_in(struct notice *n, long nr, const long arg[6])
{
	int err = n->stopped ? 0 : stop(n);

	if (err == -EPERM)
		report_unstoppable();
	return err < 0 ? err : run_syscall(nr, arg);
}

long served_mmap(const long arg[6])
{
	return call_in(now, SYS_mmap, arg);
}

void served_close_lent(int lent)
{
	call_in(now, SYS_close, (const long[6]){ lent });
}

void inject_finish(struct notice *n, long result)
{
	struct user_regs_struct regs = tracee.regs;

	(void)n;
	if (tracee.gone)
		return;
	regs.rax = (unsigned long)result;
	regs.orig_rax = ~0ul;
	trace(PTRACE_SETREGS, 0, &regs);
	trace(PTRACE_SETSIGMASK, sizeof(tracee.signals), &tracee.signals);
	trace(PTRACE_DETACH, 0, NULL);
}
