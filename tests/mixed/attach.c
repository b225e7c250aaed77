/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attach BUILD OBJECT APP ROUNDS WHAT...: libgpubpf attaches and detaches programs while an application runs. No launch
 * waits for this: until the next twin is ready, launches use the previous one. The maps must hold the counts of each
 * link's launches. Once a change is visible, they must hold the counts of every launch.
 *
 * See tests/mixed/runtimes.c for APP and WHAT; the WHAT "graph" must be the only one. Environment variables:
 *
 * `GPUBPF_TEST_GPU`: CUDA runs on a real GPU.
 * `GPUBPF_TEST_JOINS`: an object that joins while the application runs.
 * `GPUBPF_TEST_LAYER`: an OpenCL layer below the agent that simulates separate memory (tests/hooks/discrete_layer.c).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "gpubpf/gpubpf.h"
#include "tests/tap.h"

#define THREADS 256 /* per launch */
#define TIMEOUT_S 300 /* seconds; twins are ready earlier, even if the compiler runs with sanitizers */

extern char **environ;

static struct {
	struct gpubpf_session *s;
	pid_t pid;
	int to, from;
	int kernels;               /* launches per round */
	uint64_t launches;         /* rounds */
	bool copied;               /* a device has its own copy of the maps */
	/* the CUDA driver is the fake one (tests/backends/cuda/fake), which runs no BPF programs */
	bool fake;
	uint64_t wanted[2];        /* expected values of the map counts */
	bool kept;                 /* true after a note that graphs keep their attachments */
	uint64_t events, prints;   /* records and prints of the object that joins */
} t;

static const char *build, *object, *app;
static char **what, folder[] = "/tmp/gpubpf-attach-XXXXXX";

static const struct gpubpf_prog *program(const char *name)
{
	const struct gpubpf_prog *prog = NULL;

	while ((prog = gpubpf_session__next_program(t.s, prog)) && strcmp(gpubpf_prog__name(prog), name))
		;
	return prog;
}

static uint64_t value_of(const char *name, uint32_t key)
{
	struct gpubpf_map *map = gpubpf_session__find_map_by_name(t.s, name);
	uint64_t value = 0;

	gpubpf_map__lookup_elem(map, &key, sizeof(key), &value, sizeof(value), 0);
	return value;
}

static uint64_t counted(uint32_t key)
{
	return value_of("counts", key);
}

/*
 * Read a line from the application while serving the session. Returns false on time-out, or if the application has
 * ended.
 */
static bool hear(void)
{
	time_t until = time(NULL) + TIMEOUT_S;
	char c = 0;

	while (c != '\n' && time(NULL) < until) {
		struct pollfd fds[2] = { { t.from, POLLIN, 0 }, { gpubpf_session__fd(t.s), POLLIN, 0 } };

		poll(fds, 2, 100);
		gpubpf_session__poll(t.s, 0);
		if (fds[0].revents && read(t.from, &c, 1) != 1)
			return false;
	}
	return c == '\n';
}

/* Let the application launch some rounds. Adds their threads to the expected counts of the attached programs. */
static bool step(int rounds, bool entered, bool left)
{
	bool good = dprintf(t.to, "%d\n", rounds) > 0 && hear();

	t.launches += rounds;
	t.wanted[0] += entered ? (uint64_t)rounds * t.kernels * THREADS : 0;
	t.wanted[1] += left ? (uint64_t)rounds * t.kernels * THREADS : 0;
	return good;
}

/*
 * Let the application launch rounds until all launches of a round run the link's program or, if on is false, until none
 * does. Adds the launches of the link to the expected count `key` of its program.
 */
static bool wait_for_link(struct gpubpf_link *link, bool on, uint32_t key)
{
	time_t until = time(NULL) + TIMEOUT_S;
	uint64_t before, had;

	do {
		before = gpubpf_link__launches(link);
		if (!step(1, false, false))
			return false;
		had = gpubpf_link__launches(link) - before;
		t.wanted[key] += had * THREADS;
		gpubpf_session__poll(t.s, 5);
	} while (had != (on ? (uint64_t)t.kernels : 0) && time(NULL) < until);
	return had == (on ? (uint64_t)t.kernels : 0);
}

/* Like wait_for_link(), while another link stays attached. Every launch must run the program of that link. */
static bool wait_beside(struct gpubpf_link *link, bool on, uint32_t key, struct gpubpf_link *stays)
{
	uint64_t launches = t.launches, before = gpubpf_link__launches(stays);
	bool good = wait_for_link(link, on, key);

	launches = (t.launches - launches) * t.kernels;
	t.wanted[!key] += launches * THREADS;
	if (gpubpf_link__launches(stays) - before == launches)
		return good;
	note("of %llu launches %llu had the program that stays", (unsigned long long)launches,
	     (unsigned long long)(gpubpf_link__launches(stays) - before));
	return false;
}

/* Run another tool, whose request makes the agent copy maps of devices with separate memory. */
static void refresh(void)
{
	char tool[512];
	pid_t pid;

	snprintf(tool, sizeof(tool), "%s/gpubpf", build);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (!freopen("/dev/null", "w", stdout))
			_exit(1);
		execl(tool, tool, "map", "dump", "-S", gpubpf_session__path(t.s), (char *)NULL);
		_exit(1);
	}
	while (!waitpid(pid, NULL, WNOHANG))
		gpubpf_session__poll(t.s, 2);
}

static bool exact(const char *when)
{
	if (t.copied && kill(t.pid, 0) == 0)
		refresh();
	for (int i = 0; i < 50 * TIMEOUT_S; i++) {
		if (counted(0) == t.wanted[0] && counted(1) == t.wanted[1])
			return true;
		gpubpf_session__poll(t.s, 20);
	}
	note("%s: %llu and %llu are counted, %llu and %llu were launched", when, (unsigned long long)counted(0),
	     (unsigned long long)counted(1), (unsigned long long)t.wanted[0], (unsigned long long)t.wanted[1]);
	return false;
}

static void on_note(void *ctx, const char *text)
{
	t.kept |= strstr(text, "that were recorded earlier still run the old set") != NULL;
	note("%s", text);
}

static void on_event(void *ctx, const struct gpubpf_event *event)
{
	t.events += !strcmp(gpubpf_map__name(event->map), "launches") && event->size == 8 && *(const uint64_t *)event->data == 42;
}

static void on_print(void *ctx, const struct gpubpf_print_record *record)
{
	t.prints += !strcmp(record->text, "launched by 42") && !strcmp(record->prog, "joined");
}

/* Put the layer first into OPENCL_LAYERS, so that it is below the agent. */
static void put_layer(char **env)
{
	const char *layer = getenv("GPUBPF_TEST_LAYER"), *name = "OPENCL_LAYERS=";
	char *own;

	for (; layer && *env; env++)
		if (!strncmp(*env, name, strlen(name)) && asprintf(&own, "%s%s:%s", name, layer, *env + strlen(name)) > 0)
			*env = own;
}

static bool begin(bool no_wait)
{
	struct gpubpf_session_opts opts = { .sz = sizeof(opts), .no_attach = true, .no_wait = no_wait,
					    .wait_ms = TIMEOUT_S * 1000, .note = on_note, .event = on_event,
					    .print = on_print, .runtime_dir = folder };
	char workers[512], agent[512], **env;
	int in[2], out[2];

	snprintf(workers, sizeof(workers), "%s/core/worker", build);
	snprintf(agent, sizeof(agent), "%s/hooks/libgpubpf-agent.so", build);
	opts.worker_dir = workers;
	opts.agent = agent;
	memset(t.wanted, 0, sizeof(t.wanted));
	t.s = gpubpf_session__new(&opts);
	if (!t.s || gpubpf_session__add_object(t.s, object) || gpubpf_session__load(t.s) || gpubpf_session__start(t.s) ||
	    gpubpf_session__environ(t.s, environ, &env) || pipe(in) || pipe(out))
		return ok(false, "a session: %s", t.s ? gpubpf_session__error(t.s) : strerror(errno));
	t.pid = fork();
	if (!t.pid) {
		put_layer(env);
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execve(app, what, env);
		_exit(99);
	}
	free(env);
	close(in[0]);
	close(out[1]);
	t.to = in[1];
	t.from = out[0];
	return hear();
}

/* End the application's input and wait for its end. Returns its wait status. */
static int end(void)
{
	int status = 0;

	close(t.to);
	while (!waitpid(t.pid, &status, WNOHANG))
		gpubpf_session__poll(t.s, 10);
	close(t.from);
	return status;
}

static void test_errors(void)
{
	struct gpubpf_attach_opts none = { .sz = sizeof(none), .pattern = "" }, unset = { .sz = 0 };
	const struct gpubpf_prog *prog = program("entered");
	struct gpubpf_link *link = gpubpf_program__attach(prog);

	ok(link && gpubpf_session__next_link(t.s, NULL) == link && !gpubpf_session__next_link(t.s, link),
	   "a link is among those that are attached");
	ok(gpubpf_link__program(link) == prog, "it knows its program");
	ok(!gpubpf_program__attach(prog) && errno == EEXIST, "twice to the same kernels: EEXIST");
	ok(!gpubpf_program__attach_opts(prog, &none) && errno == EINVAL, "no pattern: EINVAL");
	ok(!gpubpf_program__attach_opts(prog, &unset) && errno == EINVAL, "options of no size: EINVAL");
	ok(!gpubpf_link__detach(link) && gpubpf_link__detach(link) == -ENOENT, "detached twice: -ENOENT");
	ok(!gpubpf_session__next_link(t.s, NULL), "nothing is attached");
	ok(!gpubpf_link__destroy(link) && !gpubpf_link__destroy(NULL), "destroy takes what is detached, and NULL");
	ok(gpubpf_program__attach(prog) == link && !gpubpf_link__destroy(link), "attached again it is the same link");
}

static bool one_round(int i)
{
	struct gpubpf_link *entered = gpubpf_program__attach(program("entered")), *left;
	bool good = entered && wait_for_link(entered, true, 0) && step(1 + i % 3, true, false);

	/* the fake driver counts every launch of a twin in the first element, whichever program is attached */
	if (t.fake) {
		good = good && exact("attached") && !gpubpf_link__detach(entered) && step(2, false, false);
		return good && exact("detached");
	}
	left = gpubpf_program__attach(program("left"));
	good = good && left && wait_beside(left, true, 1, entered) && step(2, true, true);
	good = good && !gpubpf_link__detach(entered) && wait_beside(entered, false, 0, left) && step(1, false, true);
	good = good && exact("one detached of two") && !gpubpf_link__detach(left) && step(2, false, false);
	return good && exact("detached");
}

static void test_rounds(int rounds)
{
	struct gpubpf_link *link;
	int i = 0;

	ok(step(3, false, false) && exact("nothing attached"), "nothing is attached, nothing is counted");
	while (i < rounds && one_round(i))
		i++;
	ok(i == rounds, "%d rounds of attach and detach: each launch is counted when it should be", i);
	link = gpubpf_program__attach(program("entered"));
	ok(gpubpf_link__launches(link) * THREADS == t.wanted[0], "the link tells of its launches: %llu",
	   (unsigned long long)gpubpf_link__launches(link));
	gpubpf_link__destroy(link);
}

/* Attach one program to a kernel through several patterns: it must run once per thread. */
static void test_several(void)
{
	static const char *const patterns[] = { "*", "add_opencl", "add_c*", "no_such_kernel" };
	struct gpubpf_link *links[4];
	bool good = true;

	for (int i = 0; i < 4; i++) {
		struct gpubpf_attach_opts opts = { .sz = sizeof(opts), .pattern = patterns[i] };

		links[i] = gpubpf_program__attach_opts(program("entered"), &opts);
		good &= links[i] != NULL;
	}
	ok(good && wait_for_link(links[0], true, 0) && step(2, true, false) && exact("four patterns"),
	   "four patterns of one program: it runs once");
	for (int i = 0; i < 4; i++)
		gpubpf_link__destroy(links[i]);
	ok(step(2, false, false) && exact("none of four"), "detached, all of them");
}

static uint64_t blocks(void)
{
	struct gpubpf_map *map = gpubpf_session__find_map_by_name(t.s, "blocks");
	uint64_t key, sum = 0, value, *last = NULL;

	while (!gpubpf_map__get_next_key(map, last, &key, sizeof(key))) {
		last = &key;
		if (!gpubpf_map__lookup_elem(map, &key, sizeof(key), &value, sizeof(value), 0))
			sum += value;
	}
	return sum;
}

/*
 * Returns true if the joined object has the expected counts. The driver of tests/backends/cuda/fake runs no programs:
 * it counts in the first value of each array that the twin's code names.
 */
static bool joined_has(uint64_t entered, uint64_t left)
{
	return value_of("later", 0) == entered && value_of("joins.data", 0) == 1000 + entered &&
	       (t.fake || (value_of("later", 1) == left && blocks() == entered && t.events * THREADS == entered &&
			   t.prints * THREADS == entered));
}

/*
 * Wait until both objects have the expected counts. The agent copies a device's maps one after the other, so some are
 * late.
 */
static bool joined_exact(const char *when, uint64_t entered, uint64_t left)
{
	bool good = exact(when), has = false;

	for (int i = 0; good && !(has = joined_has(entered, left)) && i < 50 * TIMEOUT_S; i++)
		gpubpf_session__poll(t.s, 20);
	if (has)
		return true;
	note("%s: later %llu %llu, begun %llu, blocks %llu, events %llu, prints %llu; of %llu %llu", when,
	     (unsigned long long)value_of("later", 0), (unsigned long long)value_of("later", 1),
	     (unsigned long long)value_of("joins.data", 0), (unsigned long long)blocks(), (unsigned long long)t.events,
	     (unsigned long long)t.prints, (unsigned long long)entered, (unsigned long long)left);
	return false;
}

/*
 * Like wait_beside(), for a link of the joined object while a link of the first object stays. Adds its launches to
 * *sum.
 */
static bool join_beside(struct gpubpf_link *link, bool on, uint64_t *sum, struct gpubpf_link *first)
{
	uint64_t wanted = t.wanted[1];
	bool good = wait_beside(link, on, 1, first);

	*sum += t.wanted[1] - wanted;
	t.wanted[1] = wanted;
	return good;
}

static bool join_alone(struct gpubpf_link *link, uint64_t *sum)
{
	uint64_t wanted = t.wanted[1];
	bool good = wait_for_link(link, true, 1);

	*sum += t.wanted[1] - wanted;
	t.wanted[1] = wanted;
	return good;
}

/* An object joins between launches that run a program of the first object. */
static void test_joins(const char *joins, int rounds)
{
	struct gpubpf_link *first = gpubpf_program__attach(program("entered")), *in, *out;
	uint64_t entered = 0, left = 0, setting = 42, before;
	bool good = wait_for_link(first, true, 0) && step(1, true, false) && exact("before");
	uint32_t key = 0;
	int i = 0;

	ok(good && gpubpf_session__add_object(t.s, "/nonexistent.bpf.o") < 0 && gpubpf_session__add_object(t.s, app) < 0 &&
	   !program("joined") && step(1, true, false) && exact("refused"), "what is no object is refused, and nothing changes");
	ok(!gpubpf_session__add_object(t.s, joins) && program("joined") && step(1, true, false) &&
	   joined_exact("joined", 0, 0), "an object joins; nobody sees it: %s", gpubpf_session__error(t.s));
	ok(!gpubpf_session__add_object(t.s, joins) && !gpubpf_session__add_object(t.s, object), "twice it is the same");
	gpubpf_map__update_elem(gpubpf_session__find_map_by_name(t.s, "settings"), &key, sizeof(key), &setting,
				sizeof(setting), 0);
	for (good = true; i < rounds && good; i++) {
		in = gpubpf_program__attach(program("joined"));
		good = in && join_beside(in, true, &entered, first) && step(1 + i % 2, true, false);
		entered += (1 + i % 2) * (uint64_t)t.kernels * THREADS;
		if (!t.fake) {
			before = gpubpf_link__launches(in);
			out = gpubpf_program__attach(program("joined_left"));
			good = good && out && join_beside(out, true, &left, first) && step(1, true, false) && !gpubpf_link__detach(out) &&
			       join_beside(out, false, &left, first);
			left += (uint64_t)t.kernels * THREADS;
			entered += (gpubpf_link__launches(in) - before) * THREADS;
		}
		good = good && !gpubpf_link__detach(in) && join_beside(in, false, &entered, first) && step(1, true, false) &&
		       joined_exact("detached", entered, left);
	}
	ok(good, "%d rounds of attach and detach of its programs, beside the first one's", i);
	gpubpf_link__destroy(first);
	before = gpubpf_link__launches(first); /* the detached program runs until the twin without it is ready */
	in = gpubpf_program__attach(program("joined"));
	good = in && join_alone(in, &entered);
	t.wanted[0] += (gpubpf_link__launches(first) - before) * THREADS;
	ok(good && step(1, false, false) &&
	   joined_exact("alone", entered + (uint64_t)t.kernels * THREADS, left), "and alone");
	gpubpf_link__destroy(in);
}

/*
 * With no_wait, launches before the twin is ready are missed. A link that was detached meanwhile must not count later.
 */
static void test_hasty(void)
{
	struct gpubpf_kernel_stats stats = { .sz = sizeof(stats) };
	struct gpubpf_link *link;
	uint64_t probed = 0;
	bool good = true;
	time_t until;

	for (int i = 0; i < 10 && good; i++) {
		link = gpubpf_program__attach(program("entered"));
		good = step(1, false, false) && !gpubpf_link__detach(link);
		probed = gpubpf_link__launches(link);
		good = good && step(3, false, false) && gpubpf_link__launches(link) == probed;
	}
	ok(good, "detached while its twin is made: no launch has it");
	link = gpubpf_program__attach(program("entered"));
	until = time(NULL) + TIMEOUT_S;
	while (time(NULL) < until && good && gpubpf_link__launches(link) < probed + 5 * t.kernels) {
		good = step(1, false, false);
		gpubpf_session__poll(t.s, 10);
	}
	t.wanted[0] = gpubpf_link__launches(link) * THREADS;
	ok(good && gpubpf_link__launches(link) >= probed + 5 * t.kernels && exact("made at last"),
	   "made at last, it counts: %llu launches", (unsigned long long)gpubpf_link__launches(link));
	good = !gpubpf_session__kernel(t.s, 0, &stats) && stats.probed + stats.missed <= stats.launches;
	ok(good, "launches are probed, missed or neither");
	gpubpf_link__destroy(link);
}

/* A round launches the kernel directly, and through a graph that was captured while a program was attached. */
static void test_graph(void)
{
	struct gpubpf_link *link = gpubpf_program__attach(program("entered"));

	ok(link && step(1, true, false) && (t.wanted[0] += THREADS) && exact("captured") && !t.kept,
	   "a launch and that of a graph are counted");
	ok(!gpubpf_link__detach(link) && step(2, false, false) && (t.wanted[0] += 2 * THREADS) && exact("detached"),
	   "detached, the graph alone counts on");
	ok(t.kept, "which is told");
}

int main(int argc, char **argv)
{
	int rounds, status;

	if (argc < 6 || !mkdtemp(folder))
		return 2;
	build = argv[1];
	object = argv[2];
	app = argv[3];
	rounds = atoi(argv[4]);
	what = argv + 3;
	what[1] = "-";
	t.kernels = argc - 5 - !strcmp(argv[5], "fork");
	t.copied = getenv("GPUBPF_TEST_LAYER");
	for (int i = 5; i < argc; i++) {
		bool cuda = !strcmp(argv[i], "cuda") || !strcmp(argv[i], "graph");

		t.fake |= cuda && !getenv("GPUBPF_TEST_GPU");
		t.copied |= cuda || !strncmp(argv[i], "hip:", 4) || !strncmp(argv[i], "level_zero:", 11);
	}
	if (!begin(false)) {
		if (WEXITSTATUS(end()) == 77)
			skip("attach", "the device is not there");
		else
			ok(false, "the program begins");
		return done();
	}
	if (!strcmp(argv[5], "graph")) {
		test_graph();
	} else {
		test_errors();
		test_rounds(rounds);
		test_several();
		if (getenv("GPUBPF_TEST_JOINS"))
			test_joins(getenv("GPUBPF_TEST_JOINS"), rounds < 20 ? rounds : 20);
	}
	status = end();
	ok(WIFEXITED(status) && !WEXITSTATUS(status), "the program ends as it would have");
	ok(exact("ended"), "maps stay readable");
	gpubpf_session__free(t.s);
	if (!strcmp(argv[5], "graph"))
		return rmdir(folder), done();
	if (begin(true)) {
		test_hasty();
		end();
	}
	gpubpf_session__free(t.s);
	rmdir(folder);
	return done();
}
