/* SPDX-License-Identifier: Apache-2.0 */
#include "in_fork.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

int gpubpf_in_fork(int (*fn)(void *arg), void *arg, int *status)
{
	unsigned left = alarm(0);
	pid_t pid;

	alarm(left);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid) {
		alarm(left);
		_exit(fn(arg));
	}
	while (waitpid(pid, status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}
