/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and executes applications like execvpe(3), which runs files without #! through a shell. ELF files for another
 * machine, for example GPU images, are refused: a shell would execute their bytes as text.
 */
#include "cli.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_elf(const char *path)
{
	char magic[SELFMAG];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool is = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) && !memcmp(magic, ELFMAG, SELFMAG);

	if (fd >= 0)
		close(fd);
	return is;
}

int cli_exec(char **argv, char **env)
{
	cli_limits_restore();
	cli_streams_restore();
	if (strchr(argv[0], '/') && is_elf(argv[0]))
		execve(argv[0], argv, env);
	else
		execvpe(argv[0], argv, env);
	return errno;
}

static const char *choose_remedy(int err)
{
	switch (err) {
	case EMFILE:
		return "; raise the limit (ulimit -n)";
	case EAGAIN:
		return "; raise the limit (ulimit -u)";
	case ENOEXEC:
		return "; it is not an executable for this machine (gpubpf kernel inspect reads files with GPU "
		       "kernels)";
	default:
		return "";
	}
}

int cli_exec_failed(const char *name, int err)
{
	cli_error("%s: cannot be run: %s%s", name, strerror(err), choose_remedy(err));
	return err == ENOENT ? CLI_RUN_MISSING : CLI_RUN_CANNOT;
}

int cli_exit_like(int status, int requested)
{
	static const struct rlimit no_core;
	sigset_t all;

	if (!WIFSIGNALED(status))
		return requested ? requested : WEXITSTATUS(status);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(status), SIG_DFL);
	fflush(NULL);
	sigfillset(&all);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	raise(WTERMSIG(status));
	return 128 + WTERMSIG(status);
}
