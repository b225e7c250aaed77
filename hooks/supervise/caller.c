/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements struct caller_ops (hooks/loader/caller.h) for a supervised caller. The caller is a thread of another
 * process, which waits for the answer to its system call.
 */
#include "supervise.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/*
 * A process that has the seccomp filter. The record is valid until the process's pidfd reports the end of the process.
 */
struct process {
	struct process *next;
	pid_t id;
	int pidfd;
	unsigned int users; /* calls in progress */
	struct caller_state state;
};

__thread struct notice *now;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct process *processes;

bool notice_is_valid(void)
{
	return !ioctl(now->listener, SECCOMP_IOCTL_NOTIF_ID_VALID, &now->call->id);
}

/* -- processes -- */

/* Returns the number on the line that begins with `name` in /proc/PID/status, or 0 if the line is not found. */
static uint64_t read_status(pid_t id, const char *name, int base)
{
	char path[64], line[256];
	uint64_t value = 0;
	size_t n = strlen(name);
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)id);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n)) {
			value = strtoull(line + n, NULL, base);
			break;
		}
	if (f)
		fclose(f);
	return value;
}

static bool has_ended(const struct process *p)
{
	struct pollfd poll_it = { .fd = p->pidfd, .events = POLLIN };

	return p->pidfd >= 0 && poll(&poll_it, 1, 0) > 0;
}

static struct process *find(pid_t id)
{
	struct process *p, **at = &processes;

	while ((p = *at)) {
		if (!p->users && has_ended(p)) {
			*at = p->next;
			close(p->pidfd);
			free(p);
		} else if (p->id == id && !has_ended(p)) {
			return p;
		} else {
			at = &p->next;
		}
	}
	return NULL;
}

/* Add the record of a process. It inherits the present state of the parent process. */
static struct process *add(pid_t id)
{
	const struct process *parent = find((pid_t)read_status(id, "PPid:", 10));
	struct process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->id = id;
	p->pidfd = (int)syscall(SYS_pidfd_open, id, 0);
	if (parent) {
		atomic_init(&p->state.loaded, atomic_load(&parent->state.loaded));
		atomic_init(&p->state.next_array_is_session, atomic_load(&parent->state.next_array_is_session));
		atomic_init(&p->state.kernel_buffers, atomic_load(&parent->state.kernel_buffers));
	}
	p->next = processes;
	processes = p;
	return p;
}

/*
 * Returns the record of the caller's process. A process can end during a call only if it is killed, and then its thread
 * no longer waits for the answer.
 */
static struct process *caller_process(void)
{
	pid_t id;

	if (now->process)
		return now->process;
	id = (pid_t)read_status((pid_t)now->call->pid, "Tgid:", 10);
	pthread_mutex_lock(&lock);
	now->process = find(id);
	if (!now->process && id)
		now->process = add(id);
	if (now->process)
		now->process->users++;
	pthread_mutex_unlock(&lock);
	return now->process;
}

void process_release(struct notice *n)
{
	if (!n->process)
		return;
	pthread_mutex_lock(&lock);
	n->process->users--;
	pthread_mutex_unlock(&lock);
}

static struct caller_state *served_state(void)
{
	static __thread struct caller_state nobody;
	struct process *p = caller_process();

	return p ? &p->state : &nobody;
}

static void served_proc(const char *what, char path[PROC_SIZE])
{
	snprintf(path, PROC_SIZE, "/proc/%d/%s", (int)now->call->pid, what);
}

bool caller_shares_pid_namespace(void)
{
	char path[PROC_SIZE], ours[64] = "", theirs[64] = "";

	served_proc("ns/pid", path);
	return readlink("/proc/self/ns/pid", ours, sizeof(ours) - 1) > 0 &&
	       readlink(path, theirs, sizeof(theirs) - 1) > 0 && !strcmp(ours, theirs);
}

bool caller_has_all_rights(uint64_t *effective)
{
	static uint64_t ours;

	if (!ours)
		ours = read_status(getpid(), "CapEff:", 16) | 1ull << 63; /* bit 63 means that the value was read */
	*effective = read_status((pid_t)now->call->pid, "CapEff:", 16);
	return !(ours & ~(1ull << 63) & ~*effective);
}

/* -- memory -- */

/*
 * Report that the caller's memory cannot be read, but only for a loader. Other applications may protect their memory,
 * and need nothing from the supervisor.
 */
static void report_unreadable(void)
{
	static bool said;

	if (now->call->data.nr == SYS_bpf || now->call->data.nr == SYS_perf_event_open)
		say_once(&said, "cannot read the loader's memory, so its calls go only to the Linux kernel: the system "
				"forbids access to other processes; as root, set sysctl kernel.yama.ptrace_scope=0, or "
				"run gpubpf as root");
}

static ssize_t copy_memory(void *own, uint64_t theirs, size_t size, bool to_them)
{
	struct iovec here = { own, size }, there = { (void *)(uintptr_t)theirs, size };
	pid_t id = (pid_t)now->call->pid;
	ssize_t n = to_them ? process_vm_writev(id, &here, 1, &there, 1, 0) : process_vm_readv(id, &here, 1, &there, 1, 0);

	if (n < 0 && errno == EPERM)
		report_unreadable();
	return n;
}

/*
 * Copy data from the caller's memory. The Linux kernel may copy only a part, up to the end of a page. If the caller was
 * killed, the bytes may be from another process with the same id, so check that the caller still waits.
 */
static int served_read(void *to, uint64_t from, size_t size)
{
	if (!size)
		return 0;
	return copy_memory(to, from, size, false) == (ssize_t)size && notice_is_valid() ? 0 : -EFAULT;
}

static int served_write(uint64_t to, const void *from, size_t size)
{
	if (!size)
		return 0;
	return notice_is_valid() && copy_memory((void *)(uintptr_t)from, to, size, true) == (ssize_t)size ? 0 : -EFAULT;
}

/* Copy a string page by page, since the page after the string may be unmapped. */
static int served_text(char *to, uint64_t from, size_t room)
{
	const size_t page = 4096;

	for (size_t at = 0, n; at < room; at += n) {
		n = page - (from + at) % page;
		n = n < room - at ? n : room - at;
		if (served_read(to + at, from + at, n) < 0)
			return -EFAULT;
		if (memchr(to + at, 0, n))
			return 0;
	}
	return -ENAMETOOLONG;
}

/* -- descriptors -- */

static void served_link(int fd, char path[PROC_SIZE])
{
	snprintf(path, PROC_SIZE, "/proc/%d/fd/%d", (int)now->call->pid, fd);
}

int process_pidfd(void)
{
	struct process *p = caller_process();

	return p && p->pidfd >= 0 ? p->pidfd : -ESRCH;
}

static int served_borrow(int fd)
{
	int pidfd = process_pidfd(), own;

	if (fd < 0 || pidfd < 0)
		return fd < 0 ? -EBADF : pidfd;
	own = (int)syscall(SYS_pidfd_getfd, pidfd, fd, 0);
	if (own < 0 && errno == EPERM)
		report_unreadable();
	return own < 0 ? -errno : own;
}

static void served_return_fd(int borrowed)
{
	close(borrowed);
}

static int add_descriptor(int fd, uint32_t flags, uint32_t number)
{
	struct seccomp_notif_addfd add = {
		.id = now->call->id,
		.flags = flags,
		.srcfd = (uint32_t)fd,
		.newfd = number,
		.newfd_flags = O_CLOEXEC,
	};
	int ret = ioctl(now->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);

	return ret < 0 ? -errno : ret;
}

static int served_replace(int fd, int by)
{
	int ret = add_descriptor(by, SECCOMP_ADDFD_FLAG_SETFD, (uint32_t)fd);

	return ret < 0 ? ret : 0;
}

static int served_lend(int fd)
{
	return add_descriptor(fd, 0, 0);
}

/* -- paths -- */

static int served_path(const char *path, char out[PATH_MAX])
{
	/* In the path, /proc/self means the caller and not the supervisor. */
	const char *own = !strncmp(path, "/proc/self/", 11) ? path + 11 : NULL;
	int n = own ? snprintf(out, PATH_MAX, "/proc/%d/%s", (int)now->call->pid, own) :
		      snprintf(out, PATH_MAX, "/proc/%d/%s/%s", (int)now->call->pid, path[0] == '/' ? "root" : "cwd", path);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

const struct caller_ops caller_served = {
	.state = served_state,
	.read = served_read,
	.write = served_write,
	.text = served_text,
	.proc = served_proc,
	.link = served_link,
	.borrow = served_borrow,
	.return_fd = served_return_fd,
	.replace = served_replace,
	.lend = served_lend,
	.close_lent = served_close_lent,
	.path = served_path,
	.mmap = served_mmap,
	.pass = served_pass,
	.pass_map_of = served_pass_map_of,
	.pass_unknown = served_pass_unknown,
	.pass_perf = served_pass_perf,
	.pass_uprobe = served_pass_uprobe,
	.bpf = served_bpf,
};
