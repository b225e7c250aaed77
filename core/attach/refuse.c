/* SPDX-License-Identifier: Apache-2.0 */
/* Refuses processes that cannot be attached to, and explains why. Runs before anything in the process changes. */
#include "remote.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The value of /proc/sys/kernel/yama/ptrace_scope; 0 if the kernel has no Yama. */
static int read_yama(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = 0;

	if (f && fscanf(f, "%d", &scope) != 1)
		scope = 0;
	if (f)
		fclose(f);
	return scope;
}

/* The real user of the process; -1: unknown. */
static uid_t process_user(const struct remote *r)
{
	char text[64];

	return remote_status(r, r->live, "Uid", text, sizeof(text)) ? (uid_t)strtoul(text, NULL, 10) : (uid_t)-1;
}

static const char *read_tracer_name(const struct remote *r, char *name, size_t size, pid_t *tracer)
{
	char text[32], path[64];
	FILE *f;

	*tracer = remote_status(r, r->live, "TracerPid", text, sizeof(text)) ? atoi(text) : 0;
	snprintf(name, size, "another program");
	snprintf(path, sizeof(path), "/proc/%d/comm", *tracer);
	f = *tracer ? fopen(path, "re") : NULL;
	if (f && fgets(name, size, f))
		name[strcspn(name, "\n")] = 0;
	if (f)
		fclose(f);
	return name;
}

int remote_explain_access(struct remote *r, int err)
{
	uid_t user = process_user(r), own = geteuid();
	char path[64], name[64];
	struct stat st;
	pid_t tracer;
	int yama;

	if (err == -ESRCH || err == -ENOENT)
		return remote_fail(r, -ESRCH, "process %d has ended", r->pid);
	if (err != -EPERM && err != -EACCES)
		return remote_fail(r, err, "process %d: %s", r->pid, strerror(-err));
	read_tracer_name(r, name, sizeof(name), &tracer);
	if (tracer)
		return remote_fail(r, -EBUSY, "process %d is traced by %s (pid %d); end that first", r->pid, name, tracer);
	if (own && user != own)
		return remote_fail(r, -EPERM,
				   "process %d belongs to user %u; run gpubpf as that user, or with CAP_SYS_PTRACE (sudo)",
				   r->pid, user);
	yama = read_yama();
	if (yama == 3)
		return remote_fail(r, -EPERM,
				   "the kernel forbids ptrace to everybody until the next boot (kernel.yama.ptrace_scope is 3)");
	if (yama)
		return remote_fail(r, -EPERM,
				   "the kernel forbids ptrace of process %d (kernel.yama.ptrace_scope is %d); run gpubpf with "
				   "CAP_SYS_PTRACE (sudo)%s",
				   r->pid, yama, yama == 1 ? ", or set the sysctl to 0" : "");
	/* root owns this file if the process is not dumpable */
	snprintf(path, sizeof(path), "/proc/%d/environ", r->pid);
	if (!stat(path, &st) && st.st_uid != user)
		return remote_fail(r, -EPERM,
				   "process %d is not dumpable (prctl PR_SET_DUMPABLE, or set-user-ID); run gpubpf with "
				   "CAP_SYS_PTRACE (sudo)",
				   r->pid);
	return remote_fail(r, -EPERM,
			   "the kernel, or a security module, forbids ptrace of process %d; run gpubpf with "
			   "CAP_SYS_PTRACE (sudo)",
			   r->pid);
}

static int check_status(struct remote *r)
{
	char text[256];

	if (remote_status(r, r->live, "State", text, sizeof(text)) && text[0] == 'T')
		return remote_fail(r, -EOPNOTSUPP, "process %d is stopped; continue it first (kill -CONT %d)", r->pid,
				   r->pid);
	if (remote_status(r, r->live, "Seccomp", text, sizeof(text)) && text[0] != '0')
		return remote_fail(r, -EOPNOTSUPP,
				   "process %d has a seccomp filter, which could kill it for the agent's system calls; start it "
				   "with gpubpf run, or without the filter",
				   r->pid);
	if (remote_status(r, r->live, "x86_Thread_features", text, sizeof(text)) && strstr(text, "shstk"))
		return remote_fail(r, -EOPNOTSUPP,
				   "process %d runs with shadow stacks, which gpubpf cannot attach to; start it with gpubpf run, "
				   "or without GLIBC_TUNABLES=glibc.cpu.x86_shstk=on",
				   r->pid);
	return 0;
}

/* Is the process's program for this processor in 64-bit mode? */
static int check_program(struct remote *r)
{
	unsigned char head[EI_NIDENT + 4] = { 0 };
	char path[64];
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/exe", r->pid, r->live);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return remote_fail(r, -EOPNOTSUPP, "process %d is a thread of the Linux kernel", r->pid);
	if (fd < 0)
		return remote_explain_access(r, -errno);
	n = read(fd, head, sizeof(head));
	close(fd);
	if (n != sizeof(head) || memcmp(head, ELFMAG, SELFMAG) || head[EI_CLASS] != ELFCLASS64 ||
	    (head[EI_NIDENT + 2] | head[EI_NIDENT + 3] << 8) != EM_X86_64)
		return remote_fail(r, -EOPNOTSUPP, "process %d does not run an x86-64 program", r->pid);
	return 0;
}

static int check_libraries(struct remote *r)
{
	for (size_t i = 0; i < r->nmaps; i++)
		if (strstr(r->maps[i].path, "musl"))
			return remote_fail(r, -EOPNOTSUPP, "process %d uses the C library musl; the agent needs glibc",
					   r->pid);
	if (!remote_find_file(r, "ld-linux") && !remote_find_file(r, "libc.so.6"))
		return remote_fail(r, -EOPNOTSUPP,
				   "process %d is linked statically, so no library can be loaded; link it dynamically",
				   r->pid);
	return 0;
}

/*
 * A child of vfork(2) uses the memory of its parent until it starts a program. A thread that gpubpf starts in it would
 * run in the parent's memory.
 */
static int check_memory(struct remote *r)
{
	char text[32];
	pid_t parent = remote_status(r, r->live, "PPid", text, sizeof(text)) ? atoi(text) : 0;

	if (parent > 0 && syscall(SYS_kcmp, r->pid, parent, KCMP_VM, 0, 0) == 0)
		return remote_fail(r, -EAGAIN,
				   "process %d shares the memory of its parent (vfork) until it starts a program; try again",
				   r->pid);
	return 0;
}

int remote_check_process(struct remote *r)
{
	int err = check_status(r);

	if (!err)
		err = check_memory(r);

	if (!err)
		err = check_program(r);
	if (err < 0)
		return err;
	err = remote_read_maps(r);
	return err < 0 ? remote_explain_access(r, err) : check_libraries(r);
}
