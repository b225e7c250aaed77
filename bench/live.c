/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live OBJECT WHERE KERNEL STOP COMMAND [ARG]...: measures latencies between the host and a running GPU kernel.
 *
 * The program attaches an object (live.bpf.c) to a GPU kernel of COMMAND. This kernel must run permanently and access
 * memory. WHERE is the kind of memory for the maps. The host sends many words (time stamps), and the kernel answers
 * each. The output has three lines: the latency from host to kernel, from kernel to host, and of the round trip. Each
 * line has the minimum, median and 99th percentile in us. COMMAND must end when its standard input ends, or when the
 * file STOP exists.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <gpubpf/gpubpf.h>

#define WORDS 2000
#define TIMEOUT_NS 60e9 /* maximum time without an answer, in ns */

extern char **environ;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static int die(struct gpubpf_session *s, const char *what)
{
	fprintf(stderr, "live: %s: %s\n", what, s ? gpubpf_session__error(s) : strerror(errno));
	return 1;
}

static pid_t start(struct gpubpf_session *s, char **command, int *input)
{
	int ends[2];
	char **env;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0 || gpubpf_session__environ(s, environ, &env) < 0)
		return -1;
	pid = fork();
	if (!pid) {
		dup2(ends[0], STDIN_FILENO);
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		execvpe(command[0], command, env);
		_exit(127);
	}
	close(ends[0]);
	*input = ends[1];
	free(env);
	return pid;
}

static uint64_t read_word(const struct gpubpf_map *map, uint32_t key)
{
	uint64_t value = 0;

	gpubpf_map__lookup_elem(map, &key, sizeof(key), &value, sizeof(value), 0);
	return value;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *what, double *ns, unsigned int n)
{
	qsort(ns, n, sizeof(*ns), by_size);
	printf("%s %.2f %.2f %.2f us\n", what, ns[0] / 1e3, ns[n / 2] / 1e3, ns[n * 99 / 100] / 1e3);
}

/*
 * Send one word and wait for its answer. Stores the three latencies in ns[]. Until the first answer arrives, the loop
 * also serves the session (gpubpf_session__poll()). Returns 0, or -ETIMEDOUT or -EIO.
 */
static int send_word(struct gpubpf_session *s, const struct gpubpf_map *said, const struct gpubpf_map *answer,
		     bool first, double ns[3])
{
	uint64_t before = read_word(answer, 0), begun = now(), seen, end;
	uint32_t zero = 0;

	if (gpubpf_map__update_elem(said, &zero, sizeof(zero), &begun, sizeof(begun), 0))
		return -EIO;
	while ((seen = read_word(answer, 0)) == before) {
		if (first)
			gpubpf_session__poll(s, 1);
		if (now() - begun > TIMEOUT_NS)
			return -ETIMEDOUT;
	}
	end = now();
	ns[0] = (double)(int64_t)read_word(answer, 1);
	ns[1] = (double)(int64_t)(end - seen);
	ns[2] = (double)(end - begun);
	return 0;
}

static void print_note(void *ctx, const char *text)
{
	(void)ctx;
	fprintf(stderr, "live: %s\n", text);
}

/* Print why no kernel answered: the reason of the first GPU kernel that has one, else `err`. Returns 1. */
static int report_no_answer(struct gpubpf_session *s, int err)
{
	struct gpubpf_kernel_stats k = { .sz = sizeof(k) };

	for (size_t i = 0; !gpubpf_session__kernel(s, i, &k); i++)
		if (k.reason && k.reason[0])
			break;
	fprintf(stderr, "live: no answer: %s\n", k.reason && k.reason[0] ? k.reason : strerror(-err));
	return 1;
}

int main(int argc, char **argv)
{
	static double there[WORDS], back[WORDS], both[WORDS];
	const struct gpubpf_session_opts opts = { .sz = sizeof(opts), .note = print_note };
	struct gpubpf_session *s = gpubpf_session__new(&opts);
	const struct gpubpf_map *said, *answer;
	int input, err, status;
	double ns[3];
	pid_t pid;

	if (argc < 6 || !s || gpubpf_session__add_object(s, argv[1]) < 0 || gpubpf_session__place(s, "said", argv[2]) < 0 ||
	    gpubpf_session__place(s, "answer", argv[2]) < 0 || gpubpf_session__attach(s, "at", argv[3]) < 0 ||
	    gpubpf_session__load(s) < 0 || gpubpf_session__start(s) < 0 || (pid = start(s, argv + 5, &input)) < 0)
		return die(s, "session");
	said = gpubpf_session__find_map_by_name(s, "said");
	answer = gpubpf_session__find_map_by_name(s, "answer");
	err = send_word(s, said, answer, true, ns);
	for (unsigned int i = 0; i < WORDS && !err; i++) {
		err = send_word(s, said, answer, false, ns);
		there[i] = ns[0];
		back[i] = ns[1];
		both[i] = ns[2];
	}
	close(input);
	close(open(argv[4], O_CREAT | O_WRONLY, 0600));
	while (waitpid(pid, &status, WNOHANG) == 0)
		gpubpf_session__poll(s, 10);
	if (err)
		return report_no_answer(s, err);
	print("there", there, WORDS);
	print("back", back, WORDS);
	print("both", both, WORDS);
	gpubpf_session__free(s);
	return 0;
}
