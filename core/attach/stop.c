/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stops threads of another process by ptrace(2), and lets them continue unchanged.
 *
 * PTRACE_INTERRUPT ends a system call that sleeps, as a signal would. The Linux kernel restarts most of these calls,
 * but not the calls that return EINTR, such as epoll_wait(2). This file restarts them, so that the application never
 * sees an EINTR without a signal.
 */
#include "remote.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define STOP_NS 20000000ull      /* time limit for a thread to stop, or to reach its next system call */
#define STOP_ALL_NS 500000000ull /* time limit for all threads to stop */
#define MAX_THREADS 16384
#define STACK_ROOM 16384        /* bytes of stack that the frame and a signal handler need */
#define SCAN_BYTES (256 << 10)  /* bytes of a stack that are searched for the frame of a signal handler */
#define IS_SYSCALL_STOP(status) (WSTOPSIG(status) == (SIGTRAP | 0x80))
#define IS_EVENT_STOP(status) ((status) >> 16 == PTRACE_EVENT_STOP)

/* results of system calls that the Linux kernel makes again; userspace never sees them */
enum { ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514, ERESTART_RESTARTBLOCK = 516 };

/* Threads in these calls may hold locks that pthread_create() or dlopen() takes, or change the memory that they use. */
static const int unsafe_calls[] = {
	SYS_mmap,  SYS_munmap,     SYS_mremap,       SYS_mprotect,        SYS_madvise,         SYS_brk,
	SYS_clone, SYS_clone3,     SYS_fork,         SYS_vfork,           SYS_execve,          SYS_execveat,
	SYS_exit,  SYS_exit_group, SYS_rt_sigreturn, SYS_restart_syscall, SYS_set_robust_list, SYS_openat,
	SYS_open,  SYS_pread64,    SYS_newfstatat,   SYS_fstat,           SYS_close,           SYS_membarrier
};

static int seize(pid_t tid)
{
	return ptrace(PTRACE_SEIZE, tid, 0, PTRACE_O_TRACESYSGOOD) < 0 ? -errno : 0;
}

int remote_wait_stop(pid_t tid, int *status, uint64_t deadline)
{
	for (int i = 0;; i++) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -errno;
		if (remote_now_ns() > deadline)
			return -ETIMEDOUT;
		if (i < 20)
			sched_yield();
		else
			remote_sleep_us(20);
	}
}

/*
 * Wait until the thread stops because the tool has requested it. If a signal stops the thread instead, pass the signal
 * on with ptrace(request), and wait again. Returns -EBUSY if a stop signal such as SIGSTOP has stopped the process.
 */
static int wait_own_stop(pid_t tid, enum __ptrace_request request, int *status, uint64_t deadline)
{
	int err;

	while (!(err = remote_wait_stop(tid, status, deadline))) {
		int signal = WSTOPSIG(*status);

		if (IS_SYSCALL_STOP(*status))
			return 0;
		if (IS_EVENT_STOP(*status))
			return signal == SIGTRAP ? 0 : -EBUSY;
		if (ptrace(request, tid, 0, signal) < 0)
			return -errno;
	}
	return err;
}

int remote_read_regs(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec v = { regs, sizeof(*regs) };

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &v) < 0 ? -errno : 0;
}

static bool in_syscall(const struct user_regs_struct *regs)
{
	return (int64_t)regs->orig_rax >= 0;
}

/*
 * Set the registers with which the thread resumes. If the stop has interrupted a system call, the thread resumes at the
 * syscall instruction, 2 bytes before rip, and makes the call again. A sleep continues for the remaining time
 * (restart_syscall(2)).
 */
static void find_resume_point(struct remote_thread *t)
{
	int64_t ret = t->regs.rax;

	t->rip = t->regs.rip;
	t->rax = t->regs.rax;
	if (!in_syscall(&t->regs))
		return;
	if (ret == -ERESTART_RESTARTBLOCK)
		t->rax = SYS_restart_syscall;
	else if (ret == -EINTR || ret == -ERESTARTSYS || ret == -ERESTARTNOINTR || ret == -ERESTARTNOHAND)
		t->rax = t->regs.orig_rax;
	else
		return;
	t->rip -= 2;
}

/*
 * Set the registers with which a thread resumes that stopped at the entry of a system call. The call has not been made
 * yet, so the thread makes it.
 */
static void resume_at_entry(struct remote_thread *t)
{
	t->rip = t->regs.rip - 2;
	t->rax = t->regs.orig_rax;
}

/*
 * Returns true if a signal is pending for this thread. This signal may be the reason why the call ended. Then the
 * application must see the EINTR.
 */
static bool has_pending_signal(const struct remote *r, pid_t tid)
{
	char own[32], shared[32], blocked[32];

	return !remote_status(r, tid, "SigPnd", own, sizeof(own)) ||
	       !remote_status(r, tid, "ShdPnd", shared, sizeof(shared)) ||
	       !remote_status(r, tid, "SigBlk", blocked, sizeof(blocked)) ||
	       ((strtoull(own, NULL, 16) | strtoull(shared, NULL, 16)) & ~strtoull(blocked, NULL, 16));
}

static bool is_safe_call(int64_t nr)
{
	for (size_t i = 0; i < sizeof(unsafe_calls) / sizeof(unsafe_calls[0]); i++)
		if (unsafe_calls[i] == nr)
			return false;
	return nr >= 0;
}

uint64_t remote_find_restorer(const struct remote *r)
{
	static const unsigned char code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 }; /* mov $15, %rax; syscall */
	const struct remote_map *libc = remote_find_file(r, "libc.so.6");
	uint64_t found = 0;

	if (!libc) /* libc-2.31.so, for example; glibc before 2.34 */
		libc = remote_find_file(r, "libc-2.");
	for (size_t i = libc ? (size_t)(libc - r->maps) : r->nmaps; i < r->nmaps && !found; i++) {
		const struct remote_map *m = &r->maps[i];
		uint64_t size = m->to - m->from;
		char *text, *at;

		if (strcmp(m->path, libc->path) || m->flags[2] != 'x' || !(text = malloc(size)))
			continue;
		at = remote_read(r, m->from, text, size) < 0 ? NULL : memmem(text, size, code, sizeof(code));
		found = at ? m->from + (at - text) : 0;
		free(text);
	}
	return found;
}

/* Returns true if the thread runs a signal handler. The code that the signal has interrupted may hold any lock. */
static bool is_in_handler(const struct remote *r, uint64_t rsp, const struct remote_map *stack, uint64_t restorer)
{
	uint64_t size = stack->to - rsp < SCAN_BYTES ? stack->to - rsp : SCAN_BYTES, *words = malloc(size);
	bool found = !words || remote_read(r, rsp, words, size) < 0;

	for (size_t i = 0; i < size / sizeof(*words) && !found; i++)
		found = words[i] == restorer;
	free(words);
	return found;
}

/* Returns true if the stopped thread can run the stub now. */
static bool is_safe_point(const struct remote *r, const struct remote_thread *t, uint64_t restorer)
{
	const struct remote_map *code = remote_find_map(r, t->regs.rip), *stack = remote_find_map(r, t->regs.rsp);
	unsigned char insn[2];

	return in_syscall(&t->regs) && is_safe_call(t->regs.orig_rax) && (t->regs.cs & 0xffff) == 0x33 && code &&
	       !strstr(code->path, "/ld-linux") && !remote_read(r, t->regs.rip - 2, insn, 2) && insn[0] == 0x0f &&
	       insn[1] == 0x05 && stack && stack->flags[1] == 'w' && t->regs.rsp - stack->from > STACK_ROOM &&
	       !has_pending_signal(r, t->tid) && !is_in_handler(r, t->regs.rsp, stack, restorer);
}

/* Returns true if the thread stopped at the entry of a system call, before the Linux kernel has run the call. */
static bool is_at_entry(pid_t tid, int status)
{
	struct __ptrace_syscall_info info = { 0 };

	return IS_SYSCALL_STOP(status) && ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) > 0 &&
	       info.op == PTRACE_SYSCALL_INFO_ENTRY;
}

/* Stop a thread in its present system call or a later one. Returns 0 if the thread is at a safe point, else -errno. */
static int stop_at_safe_point(const struct remote *r, struct remote_thread *t, uint64_t restorer)
{
	uint64_t deadline = remote_now_ns() + STOP_NS;
	int status, err;

	if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) < 0)
		return -errno;
	t->since = remote_now_ns();
	err = wait_own_stop(t->tid, PTRACE_CONT, &status, deadline);
	while (!err) {
		err = remote_read_regs(t->tid, &t->regs);
		if (err < 0)
			return err;
		find_resume_point(t);
		if (is_at_entry(t->tid, status))
			resume_at_entry(t);
		if (is_safe_point(r, t, restorer))
			return 0;
		if (remote_now_ns() > deadline)
			return -EAGAIN;
		if (ptrace(PTRACE_SYSCALL, t->tid, 0, 0) < 0)
			return -errno;
		err = wait_own_stop(t->tid, PTRACE_SYSCALL, &status, deadline);
	}
	return err == -ETIMEDOUT ? -EAGAIN : err;
}

/*
 * Detach the thread, so that it continues. Returns false if the thread does not stop for this. Then it stays traced
 * until the holder ends.
 */
static bool detach(pid_t tid)
{
	int status;

	if (!ptrace(PTRACE_DETACH, tid, 0, 0))
		return true;
	/* Only a stopped thread can be detached, so stop it again. On a busy machine it may have to wait for a processor. */
	if (!ptrace(PTRACE_INTERRUPT, tid, 0, 0) && !remote_wait_stop(tid, &status, remote_now_ns() + STOP_ALL_NS))
		ptrace(PTRACE_DETACH, tid, 0, 0);
	return errno != ESRCH || waitpid(tid, &status, __WALL | WNOHANG) < 0;
}

/*
 * If the stop has ended a system call with EINTR and no signal is pending, let the thread make the call again. To do
 * so, change the thread's registers. The Linux kernel restarts calls with other errors.
 */
static void repair_call(const struct remote *r, const struct remote_thread *t)
{
	struct user_regs_struct regs = t->regs;
	struct iovec v = { &regs, sizeof(regs) };

	if (!in_syscall(&regs) || (int64_t)regs.rax != -EINTR || has_pending_signal(r, t->tid))
		return;
	regs.rip = t->rip;
	regs.rax = t->rax;
	regs.orig_rax = -1;
	ptrace(PTRACE_SETREGSET, t->tid, NT_PRSTATUS, &v);
}

void remote_release(const struct remote_thread *t)
{
	detach(t->tid);
}

/*
 * Returns the number of the system call in which a thread sleeps, and stores the program counter in *pc. Returns -1 if
 * the thread sleeps outside of system calls, -2 if it runs, or -ESRCH if it has ended.
 */
static int find_sleep(const struct remote *r, pid_t tid, uint64_t *pc)
{
	char path[64], text[256] = "", *at;
	FILE *f;

	*pc = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", r->pid, tid);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	at = strrchr(text, ' ');
	if (!text[0])
		return -ESRCH;
	if (!at)
		return -2;
	*pc = strtoull(at, NULL, 16);
	return atoi(text);
}

/* Returns a rank by which threads are tried: 0 first, 2 last. Rank 2 is for calls that an interrupt ends with EINTR. */
static int rank_thread(int nr)
{
	static const int ends[] = { SYS_epoll_wait,   SYS_epoll_pwait, SYS_rt_sigtimedwait,
				    SYS_io_getevents, SYS_semtimedop,  SYS_msgrcv,
				    SYS_msgsnd,       SYS_pause,       SYS_rt_sigsuspend };

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (nr == ends[i])
			return 2;
	return nr < 0 || !is_safe_call(nr);
}

/* Store up to MAX_THREADS ids of threads, sorted by rank_thread(). Returns their number. */
static size_t list_threads(const struct remote *r, pid_t *tids)
{
	unsigned char *ranks = malloc(MAX_THREADS);
	struct dirent *entry;
	char path[64];
	uint64_t pc;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", r->pid);
	dir = opendir(path);
	while (ranks && dir && n < MAX_THREADS && (entry = readdir(dir))) {
		pid_t tid = atoi(entry->d_name);
		int nr = tid ? find_sleep(r, tid, &pc) : -ESRCH, rank = rank_thread(nr);
		size_t at = n;

		if (nr == -ESRCH)
			continue;
		for (; at && ranks[at - 1] > rank; at--) {
			tids[at] = tids[at - 1];
			ranks[at] = ranks[at - 1];
		}
		tids[at] = tid;
		ranks[at] = rank;
		n++;
	}
	if (dir)
		closedir(dir);
	free(ranks);
	return n;
}

struct search {
	struct remote *r;
	struct remote_thread *t;
	uint64_t restorer, deadline;
	size_t nstuck, ntraced; /* number of threads that do not stop, and of threads that other programs trace */
	pid_t stuck[64];
};

static bool is_stuck(const struct search *s, pid_t tid)
{
	for (size_t i = 0; i < s->nstuck; i++)
		if (s->stuck[i] == tid)
			return true;
	return false;
}

/*
 * Try to stop one thread at a safe point. Returns 0 on success. Returns -EAGAIN if the caller should try another
 * thread, or this thread later.
 */
static int try_thread(struct search *s, pid_t tid)
{
	int err = is_stuck(s, tid) || s->nstuck == sizeof(s->stuck) / sizeof(s->stuck[0]) ? -EAGAIN : seize(tid);

	if (err < 0) {
		s->ntraced += err == -EPERM;
		return err == -EPERM || err == -ESRCH ? -EAGAIN : err;
	}
	*s->t = (struct remote_thread){ .tid = tid };
	err = stop_at_safe_point(s->r, s->t, s->restorer);
	if (!err)
		return 0;
	if (err == -EAGAIN)
		repair_call(s->r, s->t);
	if (!detach(tid))
		s->stuck[s->nstuck++] = tid;
	return err == -ESRCH || err == -EBUSY ? -EAGAIN : err;
}

static int fail_stop(const struct search *s, size_t threads)
{
	if (threads && s->ntraced == threads)
		return remote_explain_access(s->r, -EPERM);
	if (s->nstuck)
		return remote_fail(s->r, -ETIMEDOUT,
				   "process %d: %zu of its %zu threads do not stop: they are busy in the Linux kernel (for example in "
				   "vfork), or the machine is busy; try again",
				   s->r->pid, s->nstuck, threads);
	return remote_fail(s->r, -ETIMEDOUT,
			   "process %d: no thread reached a system call where the agent can start; it computes without one, or "
			   "the machine is busy; try again",
			   s->r->pid);
}

int remote_stop_one(struct remote *r, struct remote_thread *t, uint64_t deadline)
{
	struct search s = { .r = r, .t = t, .restorer = remote_find_restorer(r), .deadline = deadline };
	pid_t *tids = malloc(MAX_THREADS * sizeof(*tids));
	int err = tids ? -EAGAIN : -ENOMEM;
	size_t n = 0;

	while (err == -EAGAIN && remote_now_ns() < deadline) {
		n = list_threads(r, tids);
		s.ntraced = 0;
		if (!n)
			err = -ESRCH;
		for (size_t i = 0; i < n && err == -EAGAIN && remote_now_ns() < deadline; i++)
			err = try_thread(&s, tids[i]);
		if (err == -EAGAIN)
			remote_sleep_us(500); /* if another tool attaches at the same time, let it finish */
	}
	free(tids);
	return err == -EAGAIN ? fail_stop(&s, n) : err < 0 ? remote_explain_access(r, err) : 0;
}

static bool is_known(const struct remote_thread *threads, size_t n, pid_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (threads[i].tid == tid)
			return true;
	return false;
}

/*
 * Seize the threads that are not in the list yet. If interrupt_all is set, stop these threads. Otherwise stop only the
 * threads that run, and read the program counter of the others from /proc, which they do not notice. Adds them to *n.
 */
static int seize_new(const struct remote *r, struct remote_thread *threads, size_t *n, pid_t *tids, bool interrupt_all)
{
	size_t found = list_threads(r, tids);

	for (size_t i = 0; i < found && *n < MAX_THREADS; i++) {
		struct remote_thread t = { .tid = tids[i], .since = remote_now_ns() };
		int err = is_known(threads, *n, t.tid) ? -ESRCH : seize(t.tid);
		uint64_t pc;

		if (err == -ESRCH)
			continue;
		if (err < 0)
			return err;
		t.stopped = interrupt_all || find_sleep(r, t.tid, &pc) == -2;
		t.regs.rip = t.stopped ? 0 : pc;
		if (t.stopped)
			ptrace(PTRACE_INTERRUPT, t.tid, 0, 0);
		threads[(*n)++] = t;
	}
	return 0;
}

static int wait_thread(struct remote_thread *t, uint64_t deadline)
{
	int status, err = wait_own_stop(t->tid, PTRACE_CONT, &status, deadline);

	if (!err)
		err = remote_read_regs(t->tid, &t->regs);
	if (err == -ESRCH) { /* the thread has ended */
		t->stopped = false;
		return 0;
	}
	find_resume_point(t);
	return err;
}

static int stop_all(const struct remote *r, struct remote_thread *threads, size_t *n, pid_t *tids, bool interrupt_all)
{
	uint64_t deadline = remote_now_ns() + STOP_ALL_NS;
	size_t waited = 0;

	/* repeat, because threads that still run may create new threads, until there are no new threads */
	for (;;) {
		int err = seize_new(r, threads, n, tids, interrupt_all);

		if (err < 0)
			return err;
		if (waited == *n)
			return *n ? 0 : -ESRCH;
		for (; waited < *n; waited++) {
			err = threads[waited].stopped ? wait_thread(&threads[waited], deadline) : 0;
			if (err < 0)
				return err;
		}
	}
}

struct stop_job {
	remote_stopped_fn fn;
	void *arg;
	bool interrupt_all;
};

/* Returns the time since the first stop of a thread, in ns. */
static uint64_t time_stopped(const struct remote_thread *threads, size_t n)
{
	uint64_t now = remote_now_ns(), since = now;

	for (size_t i = 0; i < n; i++)
		if (threads[i].stopped && threads[i].since < since)
			since = threads[i].since;
	return now - since;
}

/* Let the threads continue. When the holder ends, the Linux kernel detaches the threads that were not stopped. */
static void release_all(const struct remote *r, struct remote_thread *threads, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (threads[i].stopped && !threads[i].regs.cs)
			wait_thread(&threads[i], 0); /* stop_all() failed before it waited for this thread */
		if (!threads[i].stopped)
			continue;
		repair_call(r, &threads[i]);
		ptrace(PTRACE_DETACH, threads[i].tid, 0, 0);
	}
}

/* Runs in the holder. */
static int run_stopped(struct remote *r, void *arg, uint64_t *stopped)
{
	const struct stop_job *job = arg;
	struct remote_thread *threads = calloc(MAX_THREADS, sizeof(*threads));
	pid_t *tids = malloc(MAX_THREADS * sizeof(*tids));
	int result = threads && tids ? 0 : -ENOMEM;
	size_t n = 0;

	if (!result)
		result = stop_all(r, threads, &n, tids, job->interrupt_all) < 0 ? -EAGAIN :
										  job->fn(r, threads, n, job->arg);
	*stopped = time_stopped(threads, n);
	release_all(r, threads, n);
	free(threads);
	free(tids);
	return result;
}

int remote_with_threads(struct remote *r, bool interrupt_all, remote_stopped_fn fn, void *arg, uint64_t *stopped)
{
	struct stop_job job = { .fn = fn, .arg = arg, .interrupt_all = interrupt_all };

	return remote_run_holder(r, run_stopped, &job, STOP_ALL_NS, stopped);
}
