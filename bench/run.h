/* SPDX-License-Identifier: Apache-2.0 */
/* An application under a session of this process, whose maps and records it brings here meanwhile. */
#ifndef GPUBPF_BENCH_RUN_H
#define GPUBPF_BENCH_RUN_H

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpubpf/gpubpf.h>

/* Until it has ended: its wait(2) status; its output goes nowhere. */
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
