/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server OBJECT LIMIT_MS SIGNAL AFTER APP [ARG]...: runs APP with the probe, and answers its calls. The call number AFTER
 * sends SIGNAL to this process (0: none) before its answer. Prints "resumed" after many later calls, and at the end the outcomes that the probe counted.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpubpf/gpubpf.h>

#include "host_call.h"

#define RESUMED 300 /* calls after the signal; more than requests that the signal delayed, one per slot */

extern char **environ;
static int signal_number;
static unsigned long after, calls;

static int64_t answer(void *ctx, const struct gpubpf_host_call *call)
{
	const struct ask *ask = call->in;
	struct reply *reply = call->out;

	if (calls++ == after && signal_number)
		raise(signal_number); /* to this thread, which does not return before it has taken effect */
	if (calls == after + RESUMED && signal_number && write(STDOUT_FILENO, "resumed\n", 8) < 0)
		return -errno;
	*reply = (struct reply){ ask->thread * 3 + 7, ask->launch, { 0, 0, 0xee } };
	return (int64_t)(ask->thread % 1000);
}

static void print_outcomes(struct gpubpf_session *s)
{
	static const char *const name[OUTCOMES] = { "exact", "late", "refused", "wrong" };
	const struct gpubpf_map *map = gpubpf_session__find_map_by_name(s, "outcomes");
	uint64_t n;

	for (uint32_t i = 0; i < OUTCOMES; i++)
		if (!gpubpf_map__lookup_elem(map, &i, sizeof(i), &n, sizeof(n), 0))
			printf("%s %llu\n", name[i], (unsigned long long)n);
	printf("drops %llu\n", (unsigned long long)gpubpf_map__drops(gpubpf_session__find_map_by_name(s, "calls")));
}

static void on_note(void *ctx, const char *text)
{
	fprintf(stderr, "note: %s\n", text);
}

int main(int argc, char **argv)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts), .note = on_note, .host_call_ms = (uint64_t)atoi(argv[2]) };
	struct gpubpf_session *s = gpubpf_session__new(&opts);
	struct gpubpf_map *map;
	char **env;
	pid_t pid;

	signal_number = atoi(argv[3]);
	after = strtoul(argv[4], NULL, 0);
	if (gpubpf_session__add_object(s, argv[1]) < 0 || gpubpf_session__load(s) < 0 || gpubpf_session__start(s) < 0 ||
	    gpubpf_session__environ(s, environ, &env) < 0)
		return fprintf(stderr, "%s\n", gpubpf_session__error(s)), 1;
	map = gpubpf_session__find_map_by_name(s, "calls");
	if (gpubpf_map__register_host_call(map, NULL, NULL) != -EINVAL ||
	    gpubpf_map__register_host_call(gpubpf_session__find_map_by_name(s, "outcomes"), answer, NULL) != -EINVAL ||
	    (opts.host_call_ms && gpubpf_map__register_host_call(map, answer, NULL)) ||
	    (opts.host_call_ms && gpubpf_map__register_host_call(map, answer, NULL) != -EEXIST))
		return fprintf(stderr, "registration\n"), 1;
	pid = fork();
	if (!pid) {
		environ = env;
		execvp(argv[5], argv + 5);
		_exit(127);
	}
	while (waitpid(pid, NULL, WNOHANG) == 0)
		gpubpf_session__poll(s, 20);
	gpubpf_session__stop(s);
	print_outcomes(s);
	if (gpubpf_map__register_host_call(map, answer, NULL) != -EBUSY)
		return fprintf(stderr, "registration after stop\n"), 1;
	gpubpf_session__free(s);
	return 0;
}
