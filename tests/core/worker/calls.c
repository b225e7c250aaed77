/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tries every system call of x86-64 in each worker. The worker runs under ptrace(2). When the worker enters the system
 * call that waits for a job, the test replaces this call by the tried one.
 *
 * Before the worker installs its own seccomp filter, the test installs one. If the sixth argument of a permitted call
 * is MARK, the test's filter makes the call fail with the error MARKED. The call then has no effect.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/worker/sandbox/sandbox.h"
#include "core/worker/spawn.h"
#include "tests/tap.h"

#if defined(__x86_64__)

#define MARK 0x6d61726bul
#define MARKED EHWPOISON
#define X32 0x40000000
#define FIRST_NEW 452   /* first number of the calls that are newer than the sandbox */
#define NOTHING_YET 512 /* the test tries all numbers below this one */

enum { COMPILE, CLREAD, ASSEMBLE, BUILD, PTXAS, NWORKERS };
static const char *const names[] = { "gpubpf-compile", "gpubpf-clread", "gpubpf-assemble", "gpubpf-build", "gpubpf-ptxas" };
#define COLUMN(worker) ((worker) == PTXAS ? BUILD : (worker)) /* the worker's column in calls.def */

/* kernel features that the test hides from the worker */
enum { NO_USER_NAMESPACE = 1, NO_LANDLOCK = 2 };

struct traced {
	pid_t pid;
	int sock;
	struct user_regs_struct idle; /* registers at the entry of the system call that waits for a job */
};

static void install_mark(unsigned lacks)
{
	static const int landlock[] = { SYS_landlock_create_ruleset, SYS_landlock_add_rule, SYS_landlock_restrict_self };
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int err = ctx ? 0 : -ENOMEM;

	for (int nr = 0; nr < NOTHING_YET && !err; nr++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(MARKED), nr, 1, SCMP_A5(SCMP_CMP_EQ, MARK));
	if (lacks & NO_USER_NAMESPACE && !err)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSPC), SCMP_SYS(unshare), 0);
	for (size_t i = 0; lacks & NO_LANDLOCK && i < 3 && !err; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EOPNOTSUPP), landlock[i], 0);
	if (err || seccomp_load(ctx) < 0)
		_exit(99);
	seccomp_release(ctx);
}

static void become_worker(const char *path, int sock, unsigned lacks)
{
	char *argv[] = { (char *)path, NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sock != GPUBPF_WORKER_FD)
		dup2(sock, GPUBPF_WORKER_FD);
	else
		fcntl(sock, F_SETFD, 0);
	install_mark(lacks);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	execv(path, argv);
	_exit(98);
}

/*
 * Continue the worker to its next stop at a system call. Returns false if the process ended, or if a signal is ending
 * it.
 */
static bool continue_to_call(struct traced *t, int *status)
{
	do
		if (ptrace(PTRACE_SYSCALL, t->pid, NULL, NULL) < 0 || waitpid(t->pid, status, 0) != t->pid || !WIFSTOPPED(*status))
			return false;
	while (WSTOPSIG(*status) == SIGCHLD);
	return WSTOPSIG(*status) == (SIGTRAP | 0x80);
}

static bool waits_for_job(struct traced *t)
{
	return ptrace(PTRACE_GETREGS, t->pid, NULL, &t->idle) == 0 && t->idle.orig_rax == SYS_poll &&
	       (int)ptrace(PTRACE_PEEKDATA, t->pid, t->idle.rdi, NULL) == GPUBPF_WORKER_FD && t->idle.rax == (unsigned long)-ENOSYS;
}

static bool start(struct traced *t, const char *path, unsigned lacks)
{
	int pair[2], status;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return false;
	t->sock = pair[0];
	t->pid = fork();
	if (t->pid < 0)
		return false;
	if (!t->pid)
		become_worker(path, pair[1], lacks);
	close(pair[1]);
	if (waitpid(t->pid, &status, 0) != t->pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, t->pid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) < 0)
		return false;
	do
		if (!continue_to_call(t, &status))
			return false;
	while (!waits_for_job(t));
	return true;
}

static void stop(struct traced *t)
{
	if (t->pid > 0)
		kill(t->pid, SIGKILL);
	waitpid(t->pid, NULL, 0);
	close(t->sock);
}

/* Make the system call in the worker. Returns its result, or INT32_MIN if the worker was killed. */
static long call_in(struct traced *t, long nr, const long args[6])
{
	struct user_regs_struct regs = t->idle;
	int status;
	long value;

	regs.orig_rax = nr;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rdx = args[2];
	regs.r10 = args[3];
	regs.r8 = args[4];
	regs.r9 = args[5];
	ptrace(PTRACE_SETREGS, t->pid, NULL, &regs);
	if (!continue_to_call(t, &status))
		return INT32_MIN;
	ptrace(PTRACE_GETREGS, t->pid, NULL, &regs);
	value = regs.rax;
	regs = t->idle; /* let the worker wait for a job again */
	regs.rip -= 2;
	regs.rax = SYS_poll;
	ptrace(PTRACE_SETREGS, t->pid, NULL, &regs);
	if (!continue_to_call(t, &status))
		return INT32_MIN;
	ptrace(PTRACE_GETREGS, t->pid, NULL, &t->idle);
	return value;
}

/* Returns the letter of calls.def for a result: A permitted, P EPERM, N ENOSYS, T ENOTTY. */
static char verdict_of(long value)
{
	return value == -MARKED ? 'A' : value == -EPERM ? 'P' : value == -ENOSYS ? 'N' : value == -ENOTTY ? 'T' : '?';
}

/* -- every number -- */

static const struct {
	const char *name, *verdicts; /* verdicts: a letter per column of calls.def */
} calls[NOTHING_YET] = {
#define CALL(nr, name, verdicts) [nr] = { name, verdicts },
#include "calls.def"
#undef CALL
};

static void test_numbers(struct traced *t, int worker)
{
	unsigned wrong = 0, tried = 0;

	for (int nr = 0; nr < NOTHING_YET; nr++) {
		char want = calls[nr].verdicts ? calls[nr].verdicts[COLUMN(worker)] : nr < FIRST_NEW ? 'P' : 'N', got;

		if (want == 'C' || want == 'K')
			continue;
		got = verdict_of(call_in(t, nr, (const long[6]){ 0, 0, 0, 0, 0, MARK }));
		tried++;
		if (got != want && ++wrong)
			note("%s: call %d (%s): %c, not %c", names[worker], nr, calls[nr].name ? calls[nr].name : "new", got, want);
	}
	ok(!wrong, "%s: %u calls have the verdict of calls.def", names[worker], tried);
}

/* -- verdicts that depend on the arguments -- */

struct variant {
	const char *verdicts; /* by worker */
	const char *what;
	long nr, args[5];
	unsigned self; /* mask of the arguments to which the test adds the worker's process id */
};

#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
#define HIGH (1l << 32) /* the Linux kernel ignores this bit if the argument is an int */
#define TRY(verdicts, nr, ...) { verdicts, #nr " " #__VA_ARGS__, SYS_##nr, { __VA_ARGS__ }, 0 },
#define TRY_SELF(verdicts, self, nr, ...) { verdicts, #nr " self+ " #__VA_ARGS__, SYS_##nr, { __VA_ARGS__ }, self },

static const struct variant variants[] = {
#include "call_variants.def"
};

/* Returns true if Landlock of the running Linux kernel can confine signals to the worker. */
static bool confines_signals(unsigned lacks)
{
	return !(lacks & NO_LANDLOCK) && syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 6;
}

static bool passes(struct traced *t, int worker, unsigned lacks, const struct variant *v)
{
	char want = v->verdicts[COLUMN(worker)];
	long args[6] = { v->args[0], v->args[1], v->args[2], v->args[3], v->args[4], MARK };
	char got;

	for (int i = 0; i < 5; i++)
		if (v->self >> i & 1)
			args[i] += t->pid;
	got = verdict_of(call_in(t, v->nr, args));
	if (want == 'S')
		want = confines_signals(lacks) ? 'A' : 'P';
	if (got != want)
		note("%s: %s: %c, not %c", names[worker], v->what, got, want);
	return got == want;
}

static void test_variants(struct traced *t, int worker, unsigned lacks)
{
	unsigned wrong = 0, n = sizeof(variants) / sizeof(variants[0]);

	for (unsigned i = 0; i < n; i++)
		wrong += !passes(t, worker, lacks, &variants[i]);
	ok(!wrong, "%s: %u calls have their verdict by their arguments", names[worker], n);
}

/* A call marked C in calls.def must be permitted with some arguments and refused with others. */
static void test_tables(void)
{
	unsigned wrong = 0;

	for (int nr = 0; nr < NOTHING_YET; nr++)
		for (int worker = 0; calls[nr].name && worker <= BUILD; worker++) {
			bool seen[128] = { false };

			for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
				if (variants[i].nr == nr)
					seen[(int)variants[i].verdicts[worker]] = true;
			if (calls[nr].verdicts[worker] == 'C' && !(seen['A'] && (seen['P'] || seen['T'] || seen['S'])) && ++wrong)
				note("%s: no variants of %s", names[worker], calls[nr].name);
		}
	ok(!wrong, "each call that depends on its arguments is tried with both kinds");
}

/* -- the parent's memory -- */

static long open_in(struct traced *t, const char *path, int flags)
{
	unsigned long at = (t->idle.rsp - 4096) & ~7ul;
	char text[64] = "";

	snprintf(text, sizeof(text), "%s", path);
	for (size_t i = 0; i < sizeof(text); i += sizeof(long))
		ptrace(PTRACE_POKEDATA, t->pid, at + i, *(long *)(text + i));
	return call_in(t, SYS_openat, (const long[6]){ AT_FDCWD, at, flags });
}

static void test_memory(struct traced *t, int worker, const char *how)
{
	static const char *const files[] = { "mem", "environ", "maps", "fd/0" };
	char path[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		long reads, writes;

		snprintf(path, sizeof(path), "/proc/%d/%s", (int)getpid(), files[i]);
		reads = open_in(t, path, O_RDONLY);
		writes = open_in(t, path, O_RDWR);
		ok((reads == -EACCES || reads == -EPERM) && (writes == -EACCES || writes == -EPERM),
		   "%s opens no %s of its parent%s: %ld, %ld", names[worker], files[i], how, reads, writes);
	}
	ok(call_in(t, SYS_kill, (const long[6]){ getpid() }) == -EPERM &&
	   call_in(t, SYS_tgkill, (const long[6]){ getpid(), getpid() }) == -EPERM, "%s signals nobody%s", names[worker], how);
	if (worker != COMPILE && worker != ASSEMBLE)
		ok(open_in(t, "/dev/null", O_RDONLY) >= 0, "%s opens files%s", names[worker], how);
}

static bool opens_files(int worker)
{
	return worker == CLREAD || worker == BUILD || worker == PTXAS;
}

/*
 * Test a worker without user namespaces, without Landlock, or without both. One of the two is enough for a worker.
 * Without both, a worker starts only as root, which can drop its capabilities.
 */
static void test_without(int worker, const char *path, unsigned lacks, const char *how)
{
	struct traced t;
	bool started = start(&t, path, lacks);

	if (started) {
		test_memory(&t, worker, how);
		test_variants(&t, worker, lacks);
	} else
		ok(lacks == (NO_USER_NAMESPACE | NO_LANDLOCK) && geteuid(), "%s starts%s", names[worker], how);
	stop(&t);
}

static void test_worker(int worker, const char *path)
{
	struct traced t;
	long value;

	if (ok(start(&t, path, 0), "%s waits for a job", names[worker])) {
		test_numbers(&t, worker);
		test_variants(&t, worker, 0);
		test_memory(&t, worker, "");
		value = call_in(&t, SYS_getpid | X32, (const long[6]){ 0 });
		ok(value == INT32_MIN, "%s dies of a call of the x32 ABI: %ld", names[worker], value);
	}
	stop(&t);
	if (!opens_files(worker))
		return;
	test_without(worker, path, NO_USER_NAMESPACE, " without user namespaces");
	test_without(worker, path, NO_LANDLOCK, " without Landlock");
	test_without(worker, path, NO_USER_NAMESPACE | NO_LANDLOCK, " without both");
}

/* Call numbers of the 32-bit ABI mean other calls, so such a call must kill the worker. */
static void test_32_bit(void)
{
	struct gpubpf_diag diag;
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		long value = 20; /* getpid */

		gpubpf_diag_init(&diag);
		if (gpubpf_sandbox_outer(&diag) < 0)
			_exit(97);
		__asm__ volatile("int $0x80" : "+a"(value) : : "memory");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV),
	   "a vendor's compiler dies of a 32-bit call: status %x", status);
}

int main(int argc, char **argv)
{
	if (argc != NWORKERS + 1)
		return 2;
	test_tables();
	for (int worker = 0; worker < NWORKERS; worker++)
		test_worker(worker, argv[worker + 1]);
	test_32_bit();
	return done();
}

#else

int main(void)
{
	skip("system calls of workers", "the table is that of x86-64");
	return done();
}

#endif
