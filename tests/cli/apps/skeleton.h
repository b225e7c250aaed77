/* SPDX-License-Identifier: Apache-2.0 */
/* Common code of the test tools that use BPF skeletons. Their command line: RUNTIME-DIR WORKERS AGENT APPLICATION... */
#ifndef GPUBPF_TESTS_CLI_SKELETON_H
#define GPUBPF_TESTS_CLI_SKELETON_H

#include <gpubpf/gpubpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static struct gpubpf_session_opts skeleton_opts(char **argv)
{
	struct gpubpf_session_opts opts;

	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.runtime_dir = argv[1];
	opts.worker_dir = argv[2];
	opts.agent = argv[3];
	return opts;
}

/*
 * Run an application that joins the session, and stop the session when the application ends. Returns the application's
 * exit status.
 */
static int skeleton_run(struct gpubpf_session *session, char **argv)
{
	char **env;
	int status;
	pid_t pid;

	if (gpubpf_session__environ(session, environ, &env) < 0)
		return 1;
	pid = fork();
	if (!pid) {
		execve(argv[0], argv, env);
		_exit(127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		gpubpf_session__poll(session, 20);
	free(env);
	gpubpf_session__stop(session);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

#endif
