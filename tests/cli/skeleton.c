/* SPDX-License-Identifier: Apache-2.0 */
/* skeleton RUNTIME-DIR PROGRAM...: a user of a skeleton runs a program with its probes, attached when it runs. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.skel.h"

extern char **environ;

static unsigned long long value(const struct gpubpf_map *map, unsigned int key)
{
	unsigned long long v = 0;

	gpubpf_map__lookup_elem(map, &key, sizeof(key), &v, sizeof(v), 0);
	return v;
}

static int run(struct probe *obj, char **argv)
{
	char **env;
	int status;
	pid_t pid;

	if (gpubpf_session__environ(obj->session, environ, &env) < 0)
		return 1;
	pid = fork();
	if (!pid) {
		execve(argv[0], argv, env);
		_exit(127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		gpubpf_session__poll(obj->session, 20);
	free(env);
	gpubpf_session__stop(obj->session);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct gpubpf_session_opts opts;
	struct probe *obj;
	int status;

	memset(&opts, 0, sizeof(opts));
	opts.sz = sizeof(opts);
	opts.runtime_dir = argv[1];
	opts.worker_dir = argv[2];
	opts.agent = argv[3];
	obj = probe__open_opts(&opts);
	if (!obj || probe__load(obj) < 0 || probe__attach(obj) < 0 || gpubpf_session__start(obj->session) < 0) {
		fprintf(stderr, "%s\n", obj ? gpubpf_session__error(obj->session) : "no memory");
		return 1;
	}
	gpubpf_link__detach(obj->links.leave);
	status = argc > 4 ? run(obj, argv + 4) : 1;
	printf("status %d entries %llu exits %llu rodata %s rings %s\n", status, value(obj->maps.counts, 0), value(obj->maps.counts, 1),
	       gpubpf_map__name(obj->maps.rodata), gpubpf_map__type_str(obj->maps.records));
	probe__detach(obj);
	probe__destroy(obj);
	return 0;
}
