/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host-call OBJECT POLICY CMD [ARG]...: runs CMD with the probe of the object. For each block, the probe asks this process
 * for the block's tenant. The file POLICY has a line "FIRST LAST TENANT WEIGHT" for each range of blocks.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gpubpf/gpubpf.h>

#include "policy.h"

#define MAX_RANGES 64

struct policy {
	struct range {
		unsigned long long first, last;
		struct answer answer;
	} range[MAX_RANGES];
	unsigned n;
};

extern char **environ;
static struct gpubpf_session *session;

/* Runs on a thread of the library. It reads only its argument and the table, which does not change any more. */
static int64_t look_up(void *ctx, const struct gpubpf_host_call *call)
{
	const struct policy *p = ctx;
	const struct question *q = call->in;

	for (unsigned i = 0; i < p->n; i++)
		if (q->block >= p->range[i].first && q->block <= p->range[i].last) {
			memcpy(call->out, &p->range[i].answer, sizeof(p->range[i].answer));
			return 0;
		}
	return -ENOENT;
}

static int read_policy(struct policy *p, const char *path)
{
	FILE *f = fopen(path, "r");
	struct range r;

	if (!f)
		return -errno;
	while (p->n < MAX_RANGES &&
	       fscanf(f, "%llu %llu %u %u", &r.first, &r.last, &r.answer.tenant, &r.answer.weight) == 4)
		p->range[p->n++] = r;
	fclose(f);
	return 0;
}

static int fail(const char *what)
{
	const char *error = session ? gpubpf_session__error(session) : "";

	fprintf(stderr, "%s: %s\n", what, *error ? error : strerror(errno));
	gpubpf_session__free(session);
	return 1;
}

static int prepare(const char *object, struct policy *policy)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts) };
	struct gpubpf_map *map;

	session = gpubpf_session__new(&opts);
	if (!session || gpubpf_session__add_object(session, object) < 0 || gpubpf_session__load(session) < 0)
		return -1;
	map = gpubpf_session__find_map_by_name(session, "policy");
	if (!map || gpubpf_map__register_host_call(map, look_up, policy) < 0)
		return -1;
	return gpubpf_session__start(session);
}

static void run(char **argv, char **env)
{
	pid_t pid = fork();

	if (!pid) {
		environ = env;
		execvp(argv[0], argv);
		_exit(127);
	}
	while (waitpid(pid, NULL, WNOHANG) == 0)
		gpubpf_session__poll(session, 100);
}

int main(int argc, char **argv)
{
	static struct policy policy;
	struct gpubpf_report_opts report = { .sz = sizeof(report), .maps_only = true };
	char **env;

	if (argc < 4)
		return fprintf(stderr, "host-call OBJECT POLICY CMD [ARG]...\n"), 2;
	if (read_policy(&policy, argv[2]) < 0)
		return fail(argv[2]);
	if (prepare(argv[1], &policy) < 0 || gpubpf_session__environ(session, environ, &env) < 0)
		return fail(argv[1]);
	run(argv + 3, env);
	gpubpf_session__stop(session);
	gpubpf_session__report(session, stdout, &report);
	gpubpf_session__free(session);
	return 0;
}
