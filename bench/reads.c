/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reads OBJECT GPUBPF COMMAND [ARG]...: measures reads of maps on the host.
 *
 * The program runs COMMAND with the BPF programs of an object (maps.bpf.c with -DREADS). When COMMAND has ended and the
 * maps are in the mirror, it prints three times:
 *   A look-up of one element of `array` with the library, in ns.
 *   One batch look-up of all of `array`, which has 1 MiB, in us.
 *   The command `gpubpf map dump` of `table`, in ms, with the number of entries.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gpubpf/gpubpf.h>

#include "run.h"

#define LOOKUPS 100000
#define SNAPSHOTS 100

extern char **environ;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1e9 + ts.tv_nsec;
}

static int die(struct gpubpf_session *s, const char *what)
{
	fprintf(stderr, "reads: %s: %s\n", what, s ? gpubpf_session__error(s) : strerror(errno));
	return 1;
}

static int look_up(const struct gpubpf_map *map)
{
	unsigned int keys = gpubpf_map__max_entries(map), key;
	unsigned long long value, sum = 0;
	double start = now();
	int err = 0;

	for (unsigned int i = 0; i < LOOKUPS && !err; i++) {
		key = i * 2654435761u % keys;
		err = gpubpf_map__lookup_elem(map, &key, sizeof(key), &value, sizeof(value), 0);
		sum += value;
	}
	printf("a look-up: %.0f ns", (now() - start) / LOOKUPS);
	return err || !sum;
}

/*
 * Measure batch look-ups of the entire map, and print the minimum time of SNAPSHOTS look-ups in us. Returns 0 on
 * success.
 */
static int snapshot(const struct gpubpf_map *map)
{
	unsigned int n = gpubpf_map__max_entries(map);
	unsigned long long *values = calloc(n, sizeof(*values));
	unsigned int *keys = calloc(n, sizeof(*keys)), count;
	double best = 0, took;
	int err = 0;

	for (unsigned int i = 0; i < SNAPSHOTS && !err; i++) {
		uint64_t cursor;

		count = n;
		took = now();
		err = gpubpf_map__lookup_batch(map, NULL, &cursor, keys, values, &count);
		took = now() - took;
		best = !i || took < best ? took : best;
	}
	printf("; %u elements at once: %.0f us", count, best / 1e3);
	free(values);
	free(keys);
	return (err && err != -ENOENT) || count != n;
}

static int dump(struct gpubpf_session *s, char *gpubpf)
{
	char *command[] = { gpubpf, "map", "dump", "table", "-S", (char *)gpubpf_session__path(s), NULL };
	double start = now();
	int status = run_silently(s, command, environ);

	printf("; map dump of %u: %.0f ms\n", gpubpf_map__max_entries(gpubpf_session__find_map_by_name(s, "table")),
	       (now() - start) / 1e6);
	return status;
}

int main(int argc, char **argv)
{
	struct gpubpf_session *s = gpubpf_session__new(NULL);
	const struct gpubpf_map *array;
	char **env;

	if (argc < 4 || !s || gpubpf_session__add_object(s, argv[1]) < 0 || gpubpf_session__load(s) < 0 ||
	    gpubpf_session__start(s) < 0 || gpubpf_session__environ(s, environ, &env) < 0)
		return die(s, "session");
	array = gpubpf_session__find_map_by_name(s, "array");
	if (run_silently(s, argv + 3, env) || !array || look_up(array) || snapshot(array) || dump(s, argv[2]))
		return die(s, "reading");
	free(env);
	gpubpf_session__free(s);
	return 0;
}
