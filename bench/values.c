/* SPDX-License-Identifier: Apache-2.0 */
/*
 * values OBJECT OPERATIONS COMMAND [ARG]...: measures maps with large values. It fills the map `table` of an object,
 * and prints the processor time in ns of a look-up and of an update with the library. It also prints whether the BPF
 * program ran in the GPU kernels of COMMAND. COMMAND prints its own times.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gpubpf/gpubpf.h>

extern char **environ;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int die(struct gpubpf_session *s, const char *what)
{
	fprintf(stderr, "values: %s: %s\n", what, s ? gpubpf_session__error(s) : strerror(errno));
	return 1;
}

static int host(const struct gpubpf_map *map, unsigned int n)
{
	unsigned int keys = gpubpf_map__max_entries(map), key;
	size_t size = gpubpf_map__user_value_size(map);
	char *value = calloc(1, size);
	double start, updated;
	int err = 0;

	for (key = 0; key < keys; key++)
		err |= gpubpf_map__update_elem(map, &key, sizeof(key), value, size, 0);
	start = now();
	for (unsigned int i = 0; i < n && !err; i++) {
		key = i % keys;
		err = gpubpf_map__update_elem(map, &key, sizeof(key), value, size, 0);
	}
	updated = now();
	for (unsigned int i = 0; i < n && !err; i++) {
		key = i % keys;
		err = gpubpf_map__lookup_elem(map, &key, sizeof(key), value, size, 0);
	}
	printf("%f %f ", (now() - updated) / n, (updated - start) / n);
	fflush(stdout);
	free(value);
	return err;
}

static int device(struct gpubpf_session *s, char **command)
{
	struct gpubpf_kernel_stats stats;
	char **env;
	int status;
	pid_t pid;

	if (gpubpf_session__environ(s, environ, &env) < 0)
		return die(s, "environment");
	pid = fork();
	if (!pid) {
		execvpe(command[0], command, env);
		_exit(127);
	}
	while (waitpid(pid, &status, WNOHANG) == 0)
		gpubpf_session__poll(s, 10);
	free(env);
	stats = (struct gpubpf_kernel_stats){ .sz = sizeof(stats) };
	printf(" %d\n", !status && !gpubpf_session__kernel(s, 0, &stats) && stats.probed == stats.launches && stats.probed);
	return status != 0;
}

int main(int argc, char **argv)
{
	struct gpubpf_session *s = gpubpf_session__new(NULL);
	struct gpubpf_map *map;

	if (argc < 4 || !s || gpubpf_session__add_object(s, argv[1]) < 0 || gpubpf_session__load(s) < 0 ||
	    gpubpf_session__start(s) < 0)
		return die(s, "session");
	map = gpubpf_session__find_map_by_name(s, "table");
	if (!map || host(map, strtoul(argv[2], NULL, 10)))
		return die(s, "map");
	if (device(s, argv + 3))
		return 1;
	gpubpf_session__free(s);
	return 0;
}
