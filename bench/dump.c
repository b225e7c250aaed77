/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump OBJECT GPUBPF [OPTION]: measures `gpubpf map dump`. It fills the hash map `table` of an object (dump.bpf.c).
 * Then it runs the tool GPUBPF to dump the map, for example with OPTION -j or --csv. It prints the number of entries,
 * the wall-clock time and the processor times in ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gpubpf/gpubpf.h>

static double ms(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1e3 + ts.tv_nsec / 1e6;
}

static int die(struct gpubpf_session *s, const char *what)
{
	fprintf(stderr, "dump: %s: %s\n", what, s ? gpubpf_session__error(s) : strerror(errno));
	return 1;
}

static int fill(const struct gpubpf_map *map, unsigned int n)
{
	int err = 0;

	for (unsigned int key = 0; key < n && !err; key++) {
		unsigned long long value = key * 3ull;

		err = gpubpf_map__update_elem(map, &key, sizeof(key), &value, sizeof(value), 0);
	}
	return err;
}

static double processor_ms(const struct rusage *r)
{
	return r->ru_utime.tv_sec * 1e3 + r->ru_utime.tv_usec / 1e3 + r->ru_stime.tv_sec * 1e3 + r->ru_stime.tv_usec / 1e3;
}

static int dump(struct gpubpf_session *s, const char *gpubpf, const char *option)
{
	double wall = ms(CLOCK_MONOTONIC), own = ms(CLOCK_PROCESS_CPUTIME_ID);
	struct rusage of;
	int status;
	pid_t pid = fork();

	if (!pid) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execl(gpubpf, gpubpf, "map", "dump", "table", "-S", gpubpf_session__path(s), option, NULL);
		_exit(127);
	}
	while (wait4(pid, &status, WNOHANG, &of) == 0)
		gpubpf_session__poll(s, 1);
	printf("%.0f ms, processor: %.0f the tool, %.0f the session\n", ms(CLOCK_MONOTONIC) - wall, processor_ms(&of),
	       ms(CLOCK_PROCESS_CPUTIME_ID) - own);
	return status != 0;
}

int main(int argc, char **argv)
{
	struct gpubpf_session *s = gpubpf_session__new(NULL);
	const struct gpubpf_map *map;

	if (argc < 3 || !s || gpubpf_session__add_object(s, argv[1]) < 0 || gpubpf_session__load(s) < 0 ||
	    gpubpf_session__start(s) < 0)
		return die(s, "session");
	map = gpubpf_session__find_map_by_name(s, "table");
	if (!map || fill(map, gpubpf_map__max_entries(map)))
		return die(s, "map");
	printf("%u entries: ", gpubpf_map__max_entries(map));
	fflush(stdout);
	if (dump(s, argv[2], argc > 3 ? argv[3] : NULL))
		return die(s, "map dump");
	gpubpf_session__free(s);
	return 0;
}
