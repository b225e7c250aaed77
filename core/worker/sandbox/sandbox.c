/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets up the sandbox of a worker: resource limits, a user namespace, a Landlock domain, fewer capabilities, and
 * finally the seccomp filter of system calls.
 */
#include "sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/model/diag.h"
#include "core/wire/files/write_all.h"

/* maximum size of a file that a worker writes, including the memfds of its results */
#define FILE_LIMIT_BYTES (1ull << 30)
#define NEW_CALL 452                  /* number of the first system call that is newer than the rows of calls.def */
#define NEW_CALLS 128

/* -- the filter -- */

enum who {
	READ = GPUBPF_SANDBOX_READ_FILES,
	THREADS = GPUBPF_SANDBOX_THREADS,
	FORK = GPUBPF_SANDBOX_FORK,
	STRICT = 1 << 3,
	VENDOR = 1 << 4,
	CONFINED = 1 << 5,
	EVERY = STRICT | VENDOR,
};

#define CLONE_DETACHED_OLD 0x00400000 /* musl sets this flag; Linux ignores it */
#define THREAD_MUST (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD)
#define THREAD_MAY                                                                                          \
	(CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | \
	 CLONE_DETACHED_OLD)
#define FORK_MAY (CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID)
#define WRITES (O_ACCMODE | O_CREAT | O_TRUNC)

/* a row of calls.def */
struct call {
	int nr; /* number of the system call; negative: the architecture does not have it */
	/* who: the workers that may make the call. error: 0, or the errno with which the call fails (ABSENT). */
	unsigned who, error;
	unsigned nconds;
	struct scmp_arg_cmp conds[2];
};

#define INT(arg, value) { arg, SCMP_CMP_MASKED_EQ, 0xffffffff, (uint32_t)(value) }
#define BITS(arg, mask, value) { arg, SCMP_CMP_MASKED_EQ, mask, value }
#define ZERO(arg) { arg, SCMP_CMP_EQ, 0, 0 }
#define NCONDS(...) (sizeof((const struct scmp_arg_cmp[]){ __VA_ARGS__ }) / sizeof(struct scmp_arg_cmp))
#define CALL(name, who, why) { SCMP_SYS(name), who, 0, 0, { { 0 } } },
#define CALL_IF(name, who, why, ...) { SCMP_SYS(name), who, 0, NCONDS(__VA_ARGS__), { __VA_ARGS__ } },
#define ABSENT(name, why) { SCMP_SYS(name), EVERY, ENOSYS, 0, { { 0 } } },

static int add_call(scmp_filter_ctx ctx, const struct call *call)
{
	uint32_t action = call->error ? SCMP_ACT_ERRNO(call->error) : SCMP_ACT_ALLOW;

	return seccomp_rule_add_array(ctx, action, call->nr, call->nconds, call->conds);
}

static int add_calls(scmp_filter_ctx ctx, unsigned who)
{
	const pid_t self = getpid();
	const struct call calls[] = {
#include "calls.def"
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && !err; i++)
		if (calls[i].nr >= 0 && calls[i].who & who)
			err = add_call(ctx, &calls[i]);
	return err;
}

/* Makes system calls that are newer than calls.def fail with ENOSYS, so that libc uses older system calls instead. */
static int add_new_calls(scmp_filter_ctx ctx)
{
	int err = 0;

	for (int nr = NEW_CALL; nr < NEW_CALL + NEW_CALLS && !err; nr++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), nr, 0);
	return err;
}

/*
 * Loads the filter for all threads. A system call of another ABI ends the process, because the same number means
 * another call there.
 */
static int load(scmp_filter_ctx ctx)
{
	int err = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);

	if (!err)
		err = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	return err ? err : seccomp_load(ctx);
}

static int filter_calls(unsigned who)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int err = ctx ? add_calls(ctx, who) : -ENOMEM;

	if (!err)
		err = add_new_calls(ctx);
	if (!err)
		err = load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return err;
}

/*
 * Makes ioctl(2) requests of terminals and sockets fail. TIOCSTI would inject input into the user's terminal, and
 * FIOSETOWN would send signals to any process. This needs a second filter, because calls.def only lists allowed calls.
 */
static int filter_requests(void)
{
	static const unsigned classes[] = { 0x54, 0x89 };
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int err = ctx ? 0 : -ENOMEM;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]) && !err; i++)
		err = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(ioctl), 1,
				       SCMP_A1(SCMP_CMP_MASKED_EQ, 0xff00, classes[i] << 8));
	if (!err)
		err = load(ctx);
	if (ctx)
		seccomp_release(ctx);
	return err;
}

/* -- other processes of the user -- */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = gpubpf_write_all(fd, text, strlen(text));
	close(fd);
	return err;
}

/*
 * Writes the file `name` (uid_map or gid_map) of process `pid`: it maps each id of this process's namespace to the same
 * id.
 */
static int copy_map(const char *name, pid_t pid)
{
	char path[64], text[4096] = "";
	unsigned inside, outside, count;
	size_t at = 0;
	FILE *map;

	snprintf(path, sizeof(path), "/proc/self/%s", name);
	map = fopen(path, "re");
	if (!map)
		return -errno;
	while (at < sizeof(text) - 40 && fscanf(map, "%u %u %u", &inside, &outside, &count) == 3)
		at += sprintf(text + at, "%u %u %u\n", inside, inside, count);
	fclose(map);
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return write_text(path, text);
}

/* Maps only this process's own user and group id, which needs no privileges. Other ids are shown as 65534. */
static int map_self(uid_t uid, gid_t gid)
{
	char text[40];
	int err;

	snprintf(text, sizeof(text), "%u %u 1\n", uid, uid);
	err = write_text("/proc/self/uid_map", text);
	if (!err)
		err = write_text("/proc/self/setgroups", "deny");
	snprintf(text, sizeof(text), "%u %u 1\n", gid, gid);
	return err ? err : write_text("/proc/self/gid_map", text);
}

/*
 * Starts a process that stays in the old user namespace, where root may map all ids. This process writes the id maps of
 * the worker's new namespace, so that root's worker can still access files of other users.
 */
static pid_t start_mapper(int start[2])
{
	pid_t worker = getpid(), pid;
	char byte;

	if (pipe2(start, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (!pid) {
		close(start[1]);
		_exit(read(start[0], &byte, 1) != 1 || copy_map("uid_map", worker) < 0 || copy_map("gid_map", worker) < 0);
	}
	close(start[0]);
	if (pid < 0)
		close(start[1]);
	return pid;
}

static bool finish_mapper(pid_t pid, int start, bool go)
{
	int status = -1;

	if (pid < 0)
		return false;
	if (go && write(start, "", 1) < 0)
		go = false;
	close(start);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return go && !status;
}

/*
 * Enters a new user namespace. Linux then denies every access that requires ptrace(2) rights over processes in other
 * user namespaces. Examples are /proc/PID/mem, environ, maps and fd, and process_vm_readv(). Ids without a mapping are
 * shown as 65534. File permissions do not change.
 */
static void leave_user_namespace(void)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int start[2] = { -1, -1 };
	pid_t mapper = uid ? -1 : start_mapper(start);
	bool left = unshare(CLONE_NEWUSER) == 0;

	if (!finish_mapper(mapper, start[1], left) && left)
		map_self(uid, gid);
}

/* struct landlock_ruleset_attr as in Linux 6.12; older headers have fewer members */
struct landlock_domain {
	uint64_t files, net, scoped;
};

#define LANDLOCK_SCOPES 6 /* first Landlock ABI version that restricts signals and abstract sockets to the domain */
#define LANDLOCK_TCP 4    /* first Landlock ABI version that restricts TCP */
#define LANDLOCK_REFER 2  /* first Landlock ABI version that can allow rename() between folders */

/* Allows rename() between folders, which every Landlock domain denies by default. */
static int allow_renames(int ruleset)
{
	struct landlock_path_beneath_attr all = { .allowed_access = LANDLOCK_ACCESS_FS_REFER };
	int err;

	all.parent_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (all.parent_fd < 0)
		return -errno;
	err = syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &all, 0) < 0 ? -errno : 0;
	close(all.parent_fd);
	return err;
}

/*
 * Enters a Landlock domain. Like a user namespace, the domain denies ptrace(2) rights over processes outside of the
 * domain. Returns true if signals are also restricted to the domain.
 */
static bool enter_landlock(void)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct landlock_domain domain = {
		.files = LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
			 LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO,
		.net = version >= LANDLOCK_TCP ? 3 : 0,
		.scoped = version >= LANDLOCK_SCOPES ? 3 : 0,
	};
	size_t size = version >= LANDLOCK_SCOPES ? 24 : version >= LANDLOCK_TCP ? 16 : 8;
	bool entered;
	int ruleset;

	if (version < LANDLOCK_REFER)
		return false;
	ruleset = syscall(SYS_landlock_create_ruleset, &domain, size, 0);
	if (ruleset < 0)
		return false;
	entered = !allow_renames(ruleset) && !syscall(SYS_landlock_restrict_self, ruleset, 0);
	close(ruleset);
	return entered && domain.scoped;
}

/*
 * Drops capabilities, because Linux denies ptrace(2) rights over a process that has a capability which the caller
 * lacks. A worker of root keeps only the capabilities to open files of other users.
 */
static int drop_capabilities(void)
{
	const uint32_t kept_caps = geteuid() ? 0 : 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH | 1u << CAP_FOWNER;
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct caps[2];

	if (syscall(SYS_capget, &header, caps) < 0)
		return -errno;
	caps[0].effective &= kept_caps;
	caps[0].permitted &= kept_caps;
	caps[0].inheritable = caps[1].effective = caps[1].permitted = caps[1].inheritable = 0;
	return syscall(SYS_capset, &header, caps) < 0 ? -errno : 0;
}

static bool opens_memory_of_parent(void)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)getppid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static int refuse(struct gpubpf_diag *diag, const char *what, int err)
{
	gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC, "the worker cannot enter its sandbox: %s: %s", what,
			strerror(-err));
	return err;
}

/*
 * Isolates a worker from the user's other processes. Needed if the worker may open files: the seccomp filter does not
 * see paths such as /proc/PID/mem. Sets *confined if the worker's signals cannot reach processes outside of its domain.
 */
static int leave_processes(bool *confined, struct gpubpf_diag *diag)
{
	int err;

	leave_user_namespace();
	*confined = enter_landlock();
	err = drop_capabilities();
	if (err < 0)
		return refuse(diag, "capabilities", err);
	if (!opens_memory_of_parent())
		return 0;
	gpubpf_diag_set(diag, GPUBPF_E_SYSTEM, GPUBPF_NOPC,
			"the worker cannot enter its sandbox: it can open its parent's memory, because neither user namespaces "
			"nor Landlock work here; allow either (sysctl user.max_user_namespaces, boot option lsm=landlock,...), "
			"or set sysctl kernel.yama.ptrace_scope=1");
	return -EPERM;
}

int gpubpf_sandbox_limits(struct gpubpf_diag *diag)
{
	struct rlimit none = { 0, 0 }, file;

	if (getrlimit(RLIMIT_FSIZE, &file) < 0)
		return refuse(diag, "getrlimit", -errno);
	if (file.rlim_max > FILE_LIMIT_BYTES)
		file.rlim_max = FILE_LIMIT_BYTES;
	file.rlim_cur = file.rlim_max;
	signal(SIGXFSZ, SIG_IGN); /* a write beyond the limit fails with EFBIG, and does not end the process */
	if (setrlimit(RLIMIT_CORE, &none) < 0 || setrlimit(RLIMIT_FSIZE, &file) < 0)
		return refuse(diag, "setrlimit", -errno);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return refuse(diag, "no_new_privs", -errno);
	return 0;
}

int gpubpf_sandbox_outer(struct gpubpf_diag *diag)
{
	int err = gpubpf_sandbox_limits(diag);
	bool confined = false;

	if (!err)
		err = leave_processes(&confined, diag);
	if (err < 0)
		return err;
	err = filter_requests();
	if (!err)
		err = filter_calls(VENDOR | (confined ? CONFINED : 0));
	return err < 0 ? refuse(diag, "seccomp", err) : 0;
}

int gpubpf_sandbox_enter(unsigned allow, struct gpubpf_diag *diag)
{
	int err = gpubpf_sandbox_limits(diag);
	bool confined;

	if (!err && (allow & GPUBPF_SANDBOX_READ_FILES))
		err = leave_processes(&confined, diag);
	if (err < 0)
		return err;
	err = filter_calls(STRICT | allow);
	return err < 0 ? refuse(diag, "seccomp", err) : 0;
}
