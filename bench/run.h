/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs an application under a session of this process. While the application runs, the session copies its maps and
 * records.
 */
#ifndef GPUBPF_BENCH_RUN_H
#define GPUBPF_BENCH_RUN_H

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpubpf/gpubpf.h>

/* Run the command with its standard output discarded, until it ends. Returns its wait(2) status. */
static inline int run_silently(struct gpubpf_session *s, char **command, char **env)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execvpe(command[0], command, env);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0)
		gpubpf_session__poll(s, 1);
	return status;
}

#endif
