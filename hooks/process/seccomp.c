/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Handles applications that restrict their system calls by seccomp(2): a later call of the agent could kill the
 * application. The agent intercepts the installation of a filter and evaluates the filter for every system call that
 * the agent may make. If the filter forbids one of them, the session ends for this process and the agent makes no more
 * calls. The agent cannot intercept filters that the application installs by its own system call instruction, or before
 * the agent is loaded. Therefore a copy of the process first tries the agent's calls.
 */
#include "process.h"
#include "dlsym.h"
#include "session_state.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif

#define THREAD_FLAGS (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS | \
		      CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

/*
 * The agent's system calls, with the arguments that filters inspect. The first STDERR_CALLS_N calls write a line to
 * standard error.
 */
static const struct call {
	int nr;
	uint64_t args[3];
} calls[] = {
	{ SYS_write },
	{ SYS_newfstatat },
	{ SYS_rt_sigprocmask },
	{ SYS_rt_sigpending },
	{ SYS_rt_sigtimedwait },
	{ SYS_socket, { AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK } },
	{ SYS_connect },
	{ SYS_sendmsg },
	{ SYS_recvmsg },
	{ SYS_getsockopt },
	{ SYS_shutdown },
	{ SYS_poll },
	{ SYS_memfd_create },
	{ SYS_ftruncate },
	{ SYS_fcntl },
	{ SYS_close },
	{ SYS_pread64 },
	{ SYS_mmap, { 0, 0, PROT_READ | PROT_WRITE } },
	{ SYS_mprotect, { 0, 0, PROT_READ | PROT_WRITE } },
	{ SYS_munmap },
	{ SYS_madvise },
	{ SYS_futex },
	{ SYS_clone, { THREAD_FLAGS } },
	{ SYS_clock_nanosleep },
	{ SYS_gettid },
	{ SYS_exit },
};
#define CALLS_N (sizeof(calls) / sizeof(calls[0]))

/* System calls that only reading stacks needs: to find a thread's stack, and to read another thread's stack. */
static const struct call stack_calls[] = {
	{ SYS_openat }, { SYS_read }, { SYS_prlimit64 }, { SYS_sched_getaffinity }, { SYS_process_vm_readv },
};
#define STACK_CALLS_N (sizeof(stack_calls) / sizeof(stack_calls[0]))
#define STDERR_CALLS_N 5
#define STATUS_SIZE 4096

/* number of evaluated filters that allow the agent's calls */
static _Atomic uint32_t allowed_filters;
static _Atomic bool cannot_read_stacks; /* a filter forbids the system calls for reading stacks */

struct machine {
	const struct sock_filter *code;
	uint32_t n, a, x, memory[BPF_MEMWORDS];
	struct seccomp_data data;
};

static uint32_t alu(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_ADD:
		return a + b;
	case BPF_SUB:
		return a - b;
	case BPF_MUL:
		return a * b;
	case BPF_DIV:
		return b ? a / b : 0;
	case BPF_AND:
		return a & b;
	case BPF_OR:
		return a | b;
	case BPF_XOR:
		return a ^ b;
	case BPF_LSH:
		return b < 32 ? a << b : 0;
	case BPF_RSH:
		return b < 32 ? a >> b : 0;
	default:
		return -a;
	}
}

static bool is_jump_taken(uint16_t code, uint32_t a, uint32_t b)
{
	switch (BPF_OP(code)) {
	case BPF_JEQ:
		return a == b;
	case BPF_JGT:
		return a > b;
	case BPF_JGE:
		return a >= b;
	default:
		return a & b;
	}
}

static uint32_t load(const struct machine *m, const struct sock_filter *i)
{
	uint32_t word = 0;

	switch (BPF_MODE(i->code)) {
	case BPF_IMM:
		return i->k;
	case BPF_MEM:
		return i->k < BPF_MEMWORDS ? m->memory[i->k] : 0;
	case BPF_LEN:
		return sizeof(m->data);
	default:
		if (i->k <= sizeof(m->data) - sizeof(word))
			memcpy(&word, (const char *)&m->data + i->k, sizeof(word));
		return word;
	}
}

/*
 * Run the filter and return its result. An invalid filter, which the Linux kernel rejects, forbids everything. The loop
 * terminates because classic BPF jumps only forwards (Documentation/networking/filter.rst).
 */
static uint32_t run_filter(struct machine *m)
{
	for (uint64_t pc = 0; pc < m->n; pc++) {
		const struct sock_filter *i = &m->code[pc];
		uint32_t operand = BPF_SRC(i->code) == BPF_X ? m->x : i->k;

		switch (BPF_CLASS(i->code)) {
		case BPF_LD:
			m->a = load(m, i);
			break;
		case BPF_LDX:
			m->x = load(m, i);
			break;
		case BPF_ST:
		case BPF_STX:
			if (i->k < BPF_MEMWORDS)
				m->memory[i->k] = BPF_CLASS(i->code) == BPF_ST ? m->a : m->x;
			break;
		case BPF_ALU:
			m->a = alu(i->code, m->a, operand);
			break;
		case BPF_JMP:
			pc += BPF_OP(i->code) == BPF_JA ? i->k : is_jump_taken(i->code, m->a, operand) ? i->jt : i->jf;
			break;
		case BPF_RET:
			return BPF_RVAL(i->code) == BPF_A ? m->a : i->k;
		case BPF_MISC:
			*(BPF_MISCOP(i->code) == BPF_TAX ? &m->x : &m->a) = BPF_MISCOP(i->code) == BPF_TAX ? m->a : m->x;
			break;
		}
	}
	return SECCOMP_RET_KILL_PROCESS;
}

/* Returns the number of the first system call in the list that the filter forbids, or -1. */
static int first_forbidden(const struct sock_fprog *filter, const struct call *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct machine m = { .code = filter->filter, .n = filter->len, .data = { .nr = list[i].nr, .arch = ARCH } };
		uint32_t action;

		memcpy(m.data.args, list[i].args, sizeof(list[i].args));
		action = run_filter(&m) & SECCOMP_RET_ACTION_FULL;
		if (action != SECCOMP_RET_ALLOW && action != SECCOMP_RET_LOG)
			return list[i].nr;
	}
	return -1;
}

/*
 * Called before the application installs a filter for one or all threads. NULL means strict mode, which allows only
 * read, write, exit and sigreturn (seccomp(2)).
 */
static void before_filter(const struct sock_fprog *filter)
{
	int nr = filter ? first_forbidden(filter, calls, CALLS_N) : 0, error = errno;

	if (!filter || first_forbidden(filter, stack_calls, STACK_CALLS_N) >= 0)
		cannot_read_stacks = true;
	if (nr >= 0)
		gpubpf_process_forbid(nr);
	else
		allowed_filters++;
	errno = error;
}

/*
 * Returns the number of filters of the calling thread. `text` is the content of the thread's status file in /proc.
 * Linux kernels before 5.9 report only whether the thread has a filter. Returns 0 if the text is empty (no /proc).
 */
static uint32_t parse_filter_count(const char *text)
{
	const char *at = strstr(text, "\nSeccomp_filters:");

	if (at)
		return (uint32_t)strtoul(at + strlen("\nSeccomp_filters:"), NULL, 10);
	at = strstr(text, "\nSeccomp:");
	return at && strtoul(at + strlen("\nSeccomp:"), NULL, 10) == SECCOMP_MODE_FILTER;
}

static uint32_t count_filters(void)
{
	char *text = calloc(1, STATUS_SIZE);
	int fd = text ? open("/proc/thread-self/status", O_RDONLY | O_CLOEXEC) : -1;
	uint32_t n = fd >= 0 && read(fd, text, STATUS_SIZE - 1) > 0 ? parse_filter_count(text) : 0;

	if (fd >= 0)
		close(fd);
	free(text);
	return n;
}

/* Runs in the copied process: makes each call with arguments for which the call fails or has no effect. */
__attribute__((noreturn)) static void make_calls(volatile int *nr, const struct call *list, size_t n)
{
	*nr = SYS_prctl;
	syscall(SYS_prctl, (long)PR_SET_DUMPABLE, 0L, 0L, 0L, 0L); /* no core dump */
	for (size_t i = 0; i < n; i++) {
		const uint64_t *args = list[i].args;
		long a = list[i].nr == SYS_clone ? (long)(args[0] & ~(uint64_t)CLONE_SIGHAND) :
			 args[0]                 ? (long)args[0] :
						   -1;

		*nr = list[i].nr;
		syscall(list[i].nr, a, args[1] ? (long)args[1] : -1, args[2] ? (long)args[2] : -1, -1L, -1L, -1L);
	}
	for (;;)
		_exit(0);
}

/*
 * Make the calls in a copy of this process, which the application does not notice. Returns the number of the call that
 * kills the copy, or -1 if no call does or if no copy could be made.
 */
static int try_calls(const struct call *list, size_t n)
{
	int *nr = mmap(NULL, sizeof(*nr), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0, ends = -1;
	long pid;

	if (nr == MAP_FAILED)
		return -1;
	pid = syscall(SYS_clone, 0L, 0L, 0L, 0L, 0L);
	if (!pid)
		make_calls(nr, list, n);
	while (pid > 0 && waitpid((pid_t)pid, &status, __WALL) < 0 && errno == EINTR)
		;
	if (pid > 0 && WIFSIGNALED(status))
		ends = *nr;
	munmap(nr, sizeof(*nr));
	return ends;
}

int gpubpf_lockdown_find_call(void)
{
	bool unknown = count_filters() > allowed_filters;
	int error = errno, nr = unknown ? try_calls(calls, CALLS_N) : -1;

	if (unknown && nr < 0 && try_calls(stack_calls, STACK_CALLS_N) >= 0)
		cannot_read_stacks = true;
	errno = error;
	return nr;
}

bool gpubpf_lockdown_allows_stack_reads(void)
{
	return !cannot_read_stacks;
}

bool gpubpf_lockdown_allows_stderr(int nr)
{
	for (size_t i = 0; i < STDERR_CALLS_N; i++)
		if (calls[i].nr == nr)
			return false;
	return true;
}

/* Called by syscall() below, with the arguments of seccomp(2). */
void gpubpf_lockdown_seccomp(unsigned long operation, unsigned long flags, const void *filter);
void gpubpf_lockdown_seccomp(unsigned long operation, unsigned long flags, const void *filter)
{
	if (operation == SECCOMP_SET_MODE_STRICT)
		before_filter(NULL);
	else if (operation == SECCOMP_SET_MODE_FILTER && filter)
		before_filter(filter);
}

#ifdef __x86_64__
/*
 * The next syscall() in the search order, to which the function below jumps: the C library's, or another interposer's.
 * NULL before the constructor has run.
 */
long (*gpubpf_lockdown_next)(long nr, ...);

/*
 * syscall() jumps to the next syscall() instead of calling it. The caller's stack must be unchanged, because a call
 * that creates a process requires it. 317 is SYS_seccomp. Registers follow the Linux kernel's calling convention
 * (System V ABI for AMD64, A.2.1).
 */
__asm__(".text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	"	cmp $317, %rdi\n"
	"	jne 1f\n"
	"	push %rdi\n"
	"	push %rsi\n"
	"	push %rdx\n"
	"	push %rcx\n"
	"	push %r8\n"
	"	push %r9\n"
	"	sub $8, %rsp\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	call gpubpf_lockdown_seccomp\n"
	"	add $8, %rsp\n"
	"	pop %r9\n"
	"	pop %r8\n"
	"	pop %rcx\n"
	"	pop %rdx\n"
	"	pop %rsi\n"
	"	pop %rdi\n"
	"1:	mov gpubpf_lockdown_next(%rip), %rax\n"
	"	test %rax, %rax\n"
	"	jz 2f\n"
	"	jmp *%rax\n"
	"2:	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	mov %r8, %r10\n"
	"	mov %r9, %r8\n"
	"	mov 8(%rsp), %r9\n"
	"	syscall\n"
	"	cmp $-4095, %rax\n"
	"	jae 3f\n"
	"	ret\n"
	"3:	neg %eax\n"
	"	push %rax\n"
	"	call __errno_location@PLT\n"
	"	pop %rdx\n"
	"	mov %edx, (%rax)\n"
	"	mov $-1, %rax\n"
	"	ret\n"
	".size syscall, . - syscall\n");
#endif

static int (*next_prctl)(int option, ...);

__attribute__((constructor)) static void find_next(void)
{
#ifdef __x86_64__
	gpubpf_lockdown_next = (long (*)(long, ...))gpubpf_dlsym_next()(RTLD_NEXT, "syscall");
#endif
	next_prctl = (int (*)(int, ...))gpubpf_dlsym_next()(RTLD_NEXT, "prctl");
}

#pragma GCC visibility push(default)

int prctl(int option, ...)
{
	unsigned long arg[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		arg[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (option == PR_SET_SECCOMP && arg[0] == SECCOMP_MODE_STRICT)
		gpubpf_lockdown_seccomp(SECCOMP_SET_MODE_STRICT, 0, NULL);
	else if (option == PR_SET_SECCOMP)
		gpubpf_lockdown_seccomp(SECCOMP_SET_MODE_FILTER, 0, (const void *)arg[1]);
	return next_prctl ? next_prctl(option, arg[0], arg[1], arg[2], arg[3]) :
			    (int)syscall(SYS_prctl, (long)option, arg[0], arg[1], arg[2], arg[3]);
}

#pragma GCC visibility pop
