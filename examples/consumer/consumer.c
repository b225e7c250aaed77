/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer OBJECT CMD [ARG]...: runs CMD with the probes of the object, and prints each record of its ring as it
 * arrives.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpubpf/gpubpf.h>

#include "consumer.h"

extern char **environ;
static struct gpubpf_session *session;

static void on_event(void *ctx, const struct gpubpf_event *event)
{
	const struct block *b = event->data;

	if (event->size == sizeof(*b))
		printf("%s: launch %llu, block %llu of %llu threads\n",
		       gpubpf_session__kernel_name(session, b->kernel), b->launch, b->x, b->threads);
}

static int fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, session ? gpubpf_session__error(session) : strerror(errno));
	gpubpf_session__free(session);
	return 1;
}

int main(int argc, char **argv)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts), .event = on_event, .no_events = true };
	int status = 0;
	char **env;
	pid_t pid;

	if (argc < 3)
		return fprintf(stderr, "consumer OBJECT CMD [ARG]...\n"), 2;
	session = gpubpf_session__new(&opts);
	if (!session || gpubpf_session__add_object(session, argv[1]) < 0 || gpubpf_session__load(session) < 0 ||
	    gpubpf_session__start(session) < 0 || gpubpf_session__environ(session, environ, &env) < 0)
		return fail(argv[1]);
	pid = fork();
	if (!pid) {
		environ = env;
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		gpubpf_session__poll(session, 100);
	gpubpf_session__stop(session); /* also delivers the records that are still in the ring */
	gpubpf_session__free(session);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
