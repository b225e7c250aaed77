/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interposes the exec functions. A process may execute a program into which this library cannot be loaded; for example,
 * a shell executes a static program. Then the process executes gpubpf-supervise with that program instead. This code
 * may run between vfork(2) and exec, so it allocates no memory.
 */
#include "hooks/loader/loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/wire/reach.h"
#include "hooks/loader/environ.h"

#define EXPORT __attribute__((visibility("default")))

extern char **environ;

typedef int (*execvpe_fn)(const char *name, char *const argv[], char *const envp[]);
typedef int (*spawn_fn)(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[]);

static char supervisor[PATH_MAX]; /* path of gpubpf-supervise, or "" if it was not found */
static execvpe_fn next_execvpe;   /* libc's exec functions */
static spawn_fn next_spawn, next_spawnp;

static void find_supervisor(void)
{
	static const char *const places[] = { "", "../../../libexec/gpubpf/", "../../libexec/gpubpf/" };
	char tried[PATH_MAX];
	const char *slash;
	Dl_info info;

	if (!dladdr((void *)find_supervisor, &info) || !(slash = strrchr(info.dli_fname, '/')))
		return;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (snprintf(tried, sizeof(tried), "%.*s/%sgpubpf-supervise", (int)(slash - info.dli_fname),
			     info.dli_fname, places[i]) < PATH_MAX &&
		    !access(tried, X_OK)) {
			strcpy(supervisor, tried);
			return;
		}
	if (!access(GPUBPF_LIBEXECDIR "/gpubpf-supervise", X_OK))
		strcpy(supervisor, GPUBPF_LIBEXECDIR "/gpubpf-supervise");
}

/*
 * Look up libc's functions before any fork. In the child of a fork, dlsym() could wait for a lock that is held by a
 * thread which does not exist in the child.
 */
__attribute__((constructor)) static void prepare(void)
{
	next_execvpe = (execvpe_fn)dlsym(RTLD_NEXT, "execvpe");
	next_spawn = (spawn_fn)dlsym(RTLD_NEXT, "posix_spawn");
	next_spawnp = (spawn_fn)dlsym(RTLD_NEXT, "posix_spawnp");
	if (have_session())
		find_supervisor();
}

static bool names_session(char *const envp[])
{
	for (; envp && *envp; envp++)
		if (!strncmp(*envp, "GPUBPF_SESSION=", strlen("GPUBPF_SESSION=")))
			return true;
	return false;
}

/* Returns true if the executable `file` needs a supervisor and this process does not have one yet. */
static bool needs_supervision(const char *file, char *const envp[])
{
	int before = errno;
	const char *session = loader_env_session();
	bool beyond = session && names_session(envp) && gpubpf_reach(file) != GPUBPF_REACHED && supervisor[0] &&
		      kernel_bpf(SUPERVISED, session, strlen(session) + 1);

	errno = before;
	return beyond;
}

static size_t count(char *const argv[])
{
	size_t n = 0;

	while (argv && argv[n])
		n++;
	return n;
}

/* Fill with[n + 3], the argument list of gpubpf-supervise: its path, `file`, the n elements of argv, and NULL. */
static void prepend_supervisor(char **with, const char *file, char *const argv[], size_t n)
{
	with[0] = supervisor;
	with[1] = (char *)(uintptr_t)file;
	memcpy(with + 2, argv, n * sizeof(*with));
	with[n + 2] = NULL;
}

/* Execute gpubpf-supervise, which executes `file`. Returns only on failure. */
static void run_supervised(const char *file, char *const argv[], char *const envp[])
{
	size_t n = count(argv);
	char *with[n + 3];

	prepend_supervisor(with, file, argv, n);
	kernel_call(SYS_execve, (const long[6]){ (long)supervisor, (long)with, (long)envp });
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	long err;

	if (count(argv) && needs_supervision(path, envp))
		run_supervised(path, argv, envp);
	err = kernel_call(SYS_execve, (const long[6]){ (long)path, (long)argv, (long)envp });
	errno = (int)-err;
	return -1;
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXPORT int execvpe(const char *name, char *const argv[], char *const envp[])
{
	char file[PATH_MAX];

	if (count(argv) && gpubpf_reach_find(name, loader_env_path(), file) && needs_supervision(file, envp))
		run_supervised(file, argv, envp);
	/* execvpe(3) runs a script without #! in a shell, so use libc's function */
	return next_execvpe(name, argv, envp);
}

EXPORT int execvp(const char *name, char *const argv[])
{
	return execvpe(name, argv, environ);
}

/* -- exec functions whose arguments are a list that ends with NULL -- */

static size_t length(va_list ap)
{
	size_t n = 1;

	while (va_arg(ap, char *))
		n++;
	return n + 1;
}

static void collect(char **argv, const char *first, size_t n, va_list ap)
{
	argv[0] = (char *)(uintptr_t)first;
	for (size_t i = 1; i < n; i++)
		argv[i] = va_arg(ap, char *);
}

#define COLLECT(argv, first)            \
	va_list ap;                     \
	size_t n;                       \
	va_start(ap, first);            \
	n = length(ap);                 \
	va_end(ap);                     \
	char *argv[n];                  \
	va_start(ap, first);            \
	collect(argv, first, n, ap)

EXPORT int execl(const char *path, const char *first, ...)
{
	COLLECT(argv, first);
	va_end(ap);
	return execve(path, argv, environ);
}

EXPORT int execlp(const char *name, const char *first, ...)
{
	COLLECT(argv, first);
	va_end(ap);
	return execvpe(name, argv, environ);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	char *const *envp;

	COLLECT(argv, first);
	envp = va_arg(ap, char *const *);
	va_end(ap);
	return execve(path, argv, envp);
}

/* -- posix_spawn(3), which calls libc's exec internally -- */

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	size_t n = count(argv);
	char *with[n + 3];

	if (!n || !needs_supervision(path, envp))
		return next_spawn(pid, path, actions, attr, argv, envp);
	prepend_supervisor(with, path, argv, n);
	return next_spawn(pid, supervisor, actions, attr, with, envp);
}

EXPORT int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char file[PATH_MAX];

	if (gpubpf_reach_find(name, loader_env_path(), file) && needs_supervision(file, envp))
		return posix_spawn(pid, file, actions, attr, argv, envp);
	return next_spawnp(pid, name, actions, attr, argv, envp);
}
