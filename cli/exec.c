/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds and executes programs like execvpe(3), which runs files without #! through a shell. The exception is an ELF
 * file for another machine, for example a kernel image: a shell would execute its bytes as text.
 */
#include "cli.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
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

static const char *remedy(int err)
{
	switch (err) {
	case EMFILE:
		return "; raise the limit (ulimit -n)";
	case EAGAIN:
		return "; raise the limit (ulimit -u)";
	case ENOEXEC:
		return "; it is not a program (gpubpf kernel inspect reads files with kernels)";
	default:
		return "";
	}
}

int cli_exec_failed(const char *name, int err)
{
	cli_error("%s: cannot be run: %s%s", name, strerror(err), remedy(err));
	return err == ENOENT ? CLI_RUN_MISSING : CLI_RUN_CANNOT;
}
