/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent AGENT.so APP RUNTIMES LACKING|cost: tests the HIP adapter with a fake runtime that fails on request. The
 * application must see the same results as without the agent, and the agent must report the reason. With `cost` it
 * measures the time that the agent adds to a launch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/hooks/fake_tool.h"
#include "tests/tap.h"

#define PAIRS 5
#define ALLOWED_NS 200.0

static const char *agent, *app;

static bool run(const char *folder, const char *fails, const struct fake_tool *tool, const char *mode, char *line,
		size_t size)
{
	char command[4096];
	FILE *f;

	*line = 0;
	snprintf(command, sizeof(command), "GPUBPF_TEST_FAKE_HIP=%s LD_LIBRARY_PATH=%s %s%s GPUBPF_SESSION=%s timeout 60 %s %s",
		 fails, folder, tool ? "LD_PRELOAD=" : "", tool ? agent : "", tool ? tool->path : "", app, mode);
	f = popen(command, "r");
	if (!f || !fgets(line, size, f))
		*line = 0;
	return f && !pclose(f) && *line;
}

/* Runs a session with a probe on every kernel and a runtime that has the failure `fails`. */
static void check(const char *folder, const char *fails, const char *reason, unsigned twins)
{
	bool attached = strcmp(fails, "nothing-attached");
	struct fake_options o = { .mode = FAKE_PROBE, .pattern = attached ? "*" : NULL, .sample = 1, .wait_ms = 60000 };
	struct fake_tool tool;
	struct fake_sum sum;
	char line[256], want[256];

	fake_start(&tool, &o);
	snprintf(want, sizeof(want), "image as it was, launches 3, twins %u, no grid 9, last error 9\n", twins);
	ok(run(folder, fails, &tool, "check", line, sizeof(line)) && !strcmp(line, want), "%s: the application is as it was",
	   fails);
	if (strcmp(line, want))
		note("%s", line);
	fake_wait_until_handled(); /* waits until the tool has read the last message */
	sum = fake_sum(&tool, "tiny");
	ok(sum.probed == twins && (!reason || strstr(sum.reason, reason) || strstr(tool.seen->last_note, reason)),
	   "%s: %llu launches probed, %s", fails, (unsigned long long)sum.probed, reason ? reason : "no complaint");
	if (reason)
		note("%s %s", sum.reason, tool.seen->last_note);
	fake_stop(&tool);
}

static void check_mode(const char *folder, const char *mode, const char *want, const char *what)
{
	struct fake_options o = { .mode = FAKE_PROBE, .pattern = "*", .sample = 1, .wait_ms = 60000 };
	struct fake_tool tool;
	char line[256];

	fake_start(&tool, &o);
	ok(run(folder, "", &tool, mode, line, sizeof(line)) && !strcmp(line, want), "%s", what);
	note("%s", line);
	fake_stop(&tool);
}

/*
 * Attaches and detaches programs while the application runs. A launch must use a twin exactly if a program is attached
 * at that time.
 */
static void check_attach(const char *folder)
{
	static const char *const patterns[] = { NULL, "*", NULL, "t*y", "*", NULL, "nothing", "*" };
	struct fake_options o = { .mode = FAKE_PROBE, .sample = 1, .wait_ms = 60000 };
	unsigned launches = 0, twins = 0, got[2] = { 0, 0 };
	char fifo[128], command[4096], line[256];
	struct fake_tool tool;
	bool good = true;
	FILE *app_out, *app_in;

	fake_start(&tool, &o);
	snprintf(fifo, sizeof(fifo), "%s/fifo", tool.folder);
	snprintf(command, sizeof(command), "LD_LIBRARY_PATH=%s LD_PRELOAD=%s GPUBPF_SESSION=%s timeout 60 %s obey <%s", folder,
		 agent, tool.path, app, fifo);
	if (mkfifo(fifo, 0600) || !(app_out = popen(command, "r")) || !(app_in = fopen(fifo, "w"))) {
		ok(false, "an application that is told what to launch");
		return;
	}
	fake_attach(&tool, "tiny");
	for (int i = 0; i < 2000 && good && !twins; i++) { /* launches do not wait for the attach, so this loop does */
		good = fprintf(app_in, "1\n") > 0 && !fflush(app_in) && fgets(line, sizeof(line), app_out) &&
		       sscanf(line, "launches %u, twins %u", &launches, &twins) == 2;
		usleep(1000);
	}
	for (int round = 0; round < 100 && good; round++) {
		const char *pattern = patterns[round % 8];

		fake_attach(&tool, pattern);
		launches += 1 + round % 3;
		twins += pattern && strcmp(pattern, "nothing") ? 1 + round % 3 : 0;
		good = fprintf(app_in, "%d\n", 1 + round % 3) > 0 && !fflush(app_in) && fgets(line, sizeof(line), app_out) &&
		       sscanf(line, "launches %u, twins %u", &got[0], &got[1]) == 2 && got[0] == launches &&
		       got[1] == twins;
	}
	fclose(app_in);
	ok(good && !pclose(app_out) && fake_sum(&tool, "tiny").probed == twins,
	   "attached and detached while it runs: %u of %u launches had a twin, %u were to", got[1], got[0], twins);
	ok(tool.seen->twins == 1, "and one twin was made for all");
	unlink(fifo);
	fake_stop(&tool);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Returns the median of the time in nanoseconds that the agent adds to a launch. */
static double added(const char *folder, struct fake_tool *tool, const char *pattern)
{
	double d[PAIRS];
	char bare[64], with[64];

	for (int i = 0; i < PAIRS; i++) {
		fake_attach(tool, pattern);
		d[i] = run(folder, "", NULL, "launch", bare, sizeof(bare)) &&
		       run(folder, "", tool, "launch", with, sizeof(with)) ? atof(with) - atof(bare) : 1e9;
	}
	qsort(d, PAIRS, sizeof(*d), compare);
	return d[PAIRS / 2];
}

static void cost(const char *folder, const char *what, const char *pattern, bool fleeting)
{
	struct fake_options o = { .mode = FAKE_PROBE, .pattern = pattern, .sample = 1, .wait_ms = 60000,
				  .fleeting = fleeting };
	struct fake_tool tool;
	double ns;

	fake_start(&tool, &o);
	ns = added(folder, &tool, pattern);
	ok(ns <= ALLOWED_NS && !fake_sum(&tool, "tiny").probed == !pattern, "%s: %.0f ns added to a launch, at most %.0f",
	   what, ns, ALLOWED_NS);
	fake_stop(&tool);
}

int main(int argc, char **argv)
{
	char line[256];

	if (argc != 5)
		return 2;
	agent = argv[1];
	app = argv[2];
	if (!strcmp(argv[4], "cost")) {
		cost(argv[3], "nothing-attached", NULL, false);
		cost(argv[3], "a twin", "*", false);
		cost(argv[3], "detached", "*", true);
		return done();
	}
	ok(run(argv[3], "", NULL, "check", line, sizeof(line)), "the application runs without us");
	check(argv[3], "nothing-attached", NULL, 0);
	check(argv[3], "nothing", NULL, 3);
	check(argv[3], "memory", "memory for maps", 0);
	check(argv[3], "full", "more than half of the 0.0 MiB that are free on the device", 0);
	check(argv[3], "untold", NULL, 3);
	check(argv[3], "load", "refused the twin", 0);
	check_mode(argv[3], "churn", "twins 32, modules left 0, grown by little\n",
		   "modules loaded and unloaded: nothing stays");
	check_mode(argv[3], "resets", "twins 4, lost 0\n", "a device that is reset takes nothing of ours along");
	check_mode(argv[3], "race", "twins 200, modules left 0\n", "four threads load, launch and unload");
	check_mode(argv[3], "ways", "per thread 2, 0, 2, cooperative 3, twins 6, on devices 5 and 1\n",
		   "per-thread streams, cooperative launches, a pointer to a launch, two devices");
	check_attach(argv[3]);
	check(argv[4], "lacking", "lacks hipMemcpyHtoD", 0);
	return done();
}
