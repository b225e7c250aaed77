/* SPDX-License-Identifier: Apache-2.0 */
/*
 * adapter AGENT.so DRIVER.so APP [cost]: tests the CUDA adapter. APP uses the fake CUDA driver DRIVER.so in many ways,
 * with the agent loaded. A fake tool makes the twins. The output of APP must be the same as without the agent, and the
 * counts must be exact. With `cost` the test measures the time that the adapter adds to a launch.
 */
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/child.h"
#include "tests/hooks/fake_tool.h"
#include "tests/tap.h"

#define TIMEOUT_S 60
#define HOOK_NS 200 /* limit of the time that the adapter adds to a launch, in nanoseconds */

static const char *agent, *app;
static char *driver;     /* folder of the fake driver */
static const char *fail; /* value of FAKE_CUDA_FAIL for the application; NULL: unset */

struct how {
	const char *how, *scenario, *session;
};

static void become(const void *arg)
{
	const char *preload = getenv("AGENT_TEST_PRELOAD");
	const struct how *h = arg;
	char both[1024];

	setenv("LD_LIBRARY_PATH", driver, 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	if (fail && h->session)
		setenv("FAKE_CUDA_FAIL", fail, 1);
	if (h->session) {
		snprintf(both, sizeof(both), "%s%s%s", preload ? preload : "", preload ? ":" : "", agent);
		setenv("LD_PRELOAD", both, 1);
		setenv("GPUBPF_SESSION", h->session, 1);
	}
	execl(app, app, h->how, h->scenario, NULL);
}

/* Runs the application; if session is NULL, without the agent. */
static void run_app(const char *how, const char *scenario, const char *session, struct child *c)
{
	child_run(c, TIMEOUT_S, become, &(struct how){ how, scenario, session });
	if (session)
		fake_wait_until_handled();
}

static void show(const char *what, const char *text)
{
	char line[2048];

	snprintf(line, sizeof(line), "%.2000s", text);
	for (char *c = line; *c; c++)
		if (*c == '\n')
			*c = '|';
	note("%s: %s", what, line);
}

/* Compares each line "kernel NAME launches L items I" of the application's output with the fake tool's counts. */
static bool counts_match(const struct fake_tool *tool, const char *out)
{
	bool match = true, any = false;
	char name[128];

	for (const char *at = out; (at = strstr(at, "kernel ")); at++) {
		unsigned long long launches, items;
		struct fake_sum s;

		if (sscanf(at, "kernel %127s launches %llu items %llu", name, &launches, &items) != 3)
			continue;
		s = fake_sum(tool, name);
		any = true;
		if (s.launches == launches && s.entries == items)
			continue;
		note("%s: %llu launches, %llu items; counted %llu launches, %llu probed, %llu missed, %llu items; %s",
		     name, launches, items, (unsigned long long)s.launches, (unsigned long long)s.probed,
		     (unsigned long long)s.missed, (unsigned long long)s.entries, s.reason);
		match = false;
	}
	return match && any;
}

static struct child native, probed;

static bool same(void)
{
	if (native.status == probed.status && !strcmp(native.out, probed.out))
		return true;
	note("status %d, without probes %d", probed.status, native.status);
	show("wanted", native.out);
	show("got", probed.out);
	show("standard error", probed.err);
	return false;
}

static struct fake_options options = { .mode = FAKE_PROBE, .pattern = "*", .wait_ms = 20000, .sample = 1 };

/*
 * Output and counts must be exact. FAKE_CUDA_STRICT aborts the application if the agent looks up a missing driver
 * function.
 */
static void exact(const char *how, const char *scenario)
{
	struct fake_tool tool;

	run_app(how, scenario, NULL, &native);
	fake_start(&tool, &options);
	setenv("FAKE_CUDA_STRICT", "1", 1);
	run_app(how, scenario, tool.path, &probed);
	unsetenv("FAKE_CUDA_STRICT");
	ok(same(), "%s, functions by %s: output and status as without probes", scenario, how);
	if (!ok(counts_match(&tool, native.out), "%s, functions by %s: every thread counted", scenario, how)) {
		show("note", tool.seen->last_note);
		show("output", probed.out);
	}
	fake_stop(&tool);
}

/*
 * If a driver call of the agent fails, the application must run as without the agent. A message of the agent, or the
 * reason that the session records for the GPU kernel, must report the failure.
 */
static void survives(const char *scenario, const char *what, const char *how_it_fails, const char *says)
{
	struct fake_tool tool;
	struct fake_sum s;

	run_app("link", scenario, NULL, &native);
	fail = how_it_fails;
	fake_start(&tool, &options);
	run_app("link", scenario, tool.path, &probed);
	fail = NULL;
	ok(same(), "%s: output and status as without probes", what);
	s = fake_sum(&tool, "scale");
	if (!ok(!says || strstr(s.reason, says) || strstr(tool.seen->last_note, says), "%s: told: %s", what,
		says ? says : "nothing"))
		note("reason '%s', note '%s'", s.reason, tool.seen->last_note);
	fake_stop(&tool);
}

/* If the driver lacks a function, the application must run as without the agent, and a message must name the reason. */
static void old_driver(const char *which, const char *says)
{
	char folder[] = "/tmp/gpubpf-old-XXXXXX", from[1024], to[64], *newest = driver;

	snprintf(from, sizeof(from), "%s/libcuda-%s.so.1", driver, which);
	driver = mkdtemp(folder);
	snprintf(to, sizeof(to), "%s/libcuda.so.1", folder);
	ok(driver && !symlink(from, to), "a driver that is %s is there", which);
	survives("basic", which, NULL, says);
	unlink(to);
	rmdir(folder);
	driver = newest;
}

static void says(const char *scenario, const char *what, const char *text)
{
	struct fake_tool tool;

	fake_start(&tool, &options);
	run_app("link", scenario, tool.path, &probed);
	if (!ok(strstr(tool.seen->last_note, text), "%s: what launch numbers are there is told", what))
		show("note", tool.seen->last_note);
	fake_stop(&tool);
}

static void reasons(void)
{
	struct fake_tool tool;
	struct fake_sum s;

	fake_start(&tool, &options);
	run_app("link", "broken-twin", tool.path, &probed);
	s = fake_sum(&tool, "bad");
	ok(s.launches == 3 && !s.probed && s.state == GPUBPF_KERNEL_REFUSED && strstr(s.reason, "INVALID_PTX"),
	   "a twin that the driver does not take is told with its error");
	fake_stop(&tool);
	fake_start(&tool, &options);
	run_app("link", "occupancy", tool.path, &probed);
	s = fake_sum(&tool, "heavy");
	ok(s.launches == 5 && s.probed == 5 && strstr(tool.seen->last_note, "rebuilt with 32 registers"),
	   "for launches that the twin has no room for it is made again with fewer registers, which is told");
	fake_stop(&tool);
	fake_start(&tool, &options);
	run_app("link", "stubborn", tool.path, &probed);
	s = fake_sum(&tool, "stubborn");
	ok(s.launches == 5 && s.probed == 2 && s.missed == 3 && strstr(tool.seen->last_note, "more registers"),
	   "where it has no fewer they are missed, and told");
	fake_stop(&tool);
	fake_start(&tool, &options);
	run_app("link", "squeezed", tool.path, &probed);
	s = fake_sum(&tool, "heavy");
	ok(s.launches == 20 && s.probed == 20,
	   "threads that have room for different numbers: %llu of %llu launches probed", (unsigned long long)s.probed,
	   (unsigned long long)s.launches);
	fake_stop(&tool);
	fake_start(&tool, &options);
	run_app("link", "roomy", tool.path, &probed);
	s = fake_sum(&tool, "counted");
	ok(s.launches == 9 && s.probed == 7 && s.missed == 2 && strstr(tool.seen->last_note, "shared memory"),
	   "where a launch leaves no room for the twin's own shared memory it is missed, and told; what was allowed beyond does no harm");
	fake_stop(&tool);
	fake_start(&tool, &options);
	run_app("link", "older", tool.path, &probed);
	s = fake_sum(&tool, "both");
	ok(s.launches == 2 && s.missed == 2 && s.state == GPUBPF_KERNEL_REFUSED && strstr(s.reason, "MultiDevice") &&
		   strstr(fake_sum(&tool, "other").reason, "cuLaunchGrid"),
	   "launches by older calls are missed, and told");
	fake_stop(&tool);
	says("nodes", "nodes of a graph", "probes in CUDA graphs read");
	says("captured", "a stream that is captured", "probes in CUDA graphs read");
	says("part", "a kernel in two streams", "in several streams");
}

/*
 * One-dimensional launches must use the twin's one-dimensional form if it needs no more registers than the general
 * form. Launches in graphs must use the general form.
 */
static void shaped(void)
{
	struct fake_tool tool;
	struct fake_sum s;

	fake_start(&tool, &options);
	run_app("link", "shapes", tool.path, &probed);
	s = fake_sum(&tool, "shaped");
	ok(s.entries - s.exits == 3 * 128 + 64 + 64, "launches of one dimension run what is for them: %llu threads",
	   (unsigned long long)(s.entries - s.exits));
	s = fake_sum(&tool, "wider");
	ok(s.entries && s.entries == s.exits, "none does that has more registers");
	fake_stop(&tool);
}

static void unloads(const char *slow, const char *what)
{
	struct fake_options o = options;
	struct fake_tool tool;

	o.wait_ms = 0;
	fake_start(&tool, &o);
	setenv(slow, "300", 1);
	run_app("link", "hasty", tool.path, &probed);
	unsetenv(slow);
	ok(same(), "what is unloaded while its twin is %s: output and status as without probes", what);
	ok(fake_sum(&tool, "scale").launches == 80 && tool.seen->twins, "and twins were made");
	fake_stop(&tool);
}

/* The application unloads modules while a thread of the agent loads the twins of their kernels. */
static void hasty(void)
{
	run_app("link", "hasty", NULL, &native);
	unloads("FAKE_CUDA_LINGER", "bound to it");
	unloads("FAKE_CUDA_FIND", "looked up");
}

static void registers(void)
{
	const struct gpubpf_kernel_row *k;
	struct fake_tool tool;

	fake_start(&tool, &options);
	run_app("link", "basic", tool.path, &probed);
	k = tool.table->kernel;
	ok(k->regs_before == 32 && k->regs_after == 40, "registers before and after are on the kernel table");
	fake_stop(&tool);
	fake_start(&tool, &options);
	run_app("link", "thin", tool.path, &probed);
	k = tool.table->kernel;
	ok(k->regs_after == 40 && fake_sum(&tool, "thin").probed == 1,
	   "of 48 where 40 do without memory and more blocks fit, it has 40: %u", k->regs_after);
	ok(k[1].regs_after == 64 && fake_sum(&tool, "spilt").probed == 1,
	   "of 72 where 64 keep 8 bytes in memory and a quarter more blocks fit, it has 64: %u", k[1].regs_after);
	ok(k[2].regs_after == 72 && fake_sum(&tool, "spoilt").probed == 1, "where they keep 16, it has 72: %u",
	   k[2].regs_after);
	fake_stop(&tool);
}

static double cost_of(const char *session)
{
	run_app("link", "cost", session, &probed);
	return strstr(probed.out, "cost ") ? atof(strstr(probed.out, "cost ") + 5) : 1e9;
}

static void cost(void)
{
	struct fake_options o = options;
	struct fake_tool tool;
	double base, unmatched, twin, idle, detached;

	base = cost_of(NULL);
	idle = cost_of("/nowhere");
	o.pattern = "nothing";
	fake_start(&tool, &o);
	unmatched = cost_of(tool.path);
	fake_stop(&tool);
	fake_start(&tool, &options);
	twin = cost_of(tool.path);
	fake_stop(&tool);
	o = options;
	o.fleeting = true;
	fake_start(&tool, &o);
	detached = cost_of(tool.path);
	ok(fake_sum(&tool, "other").probed, "what is detached was attached");
	fake_stop(&tool);
	note("a launch: driver %.0f ns; more: no session %.0f, not matched %.0f, twin %.0f, detached %.0f", base,
	     idle - base, unmatched - base, twin - base, detached - base);
	ok(idle - base <= HOOK_NS && unmatched - base <= HOOK_NS && detached - base <= HOOK_NS,
	   "a launch that nothing matches, or not any more, costs at most %d ns more", HOOK_NS);
}

static void chosen(void)
{
	struct fake_options o = options;
	struct fake_tool tool;
	struct fake_sum s;

	o.pattern = "sc*";
	run_app("link", "reborn", NULL, &native);
	fake_start(&tool, &o);
	run_app("link", "reborn", tool.path, &probed);
	ok(same() && fake_sum(&tool, "scale").probed == 1, "a function that gets a twin's handle is not taken for it");
	fake_stop(&tool);
	o.sample = 3;
	fake_start(&tool, &o);
	run_app("link", "basic", tool.path, &probed);
	s = fake_sum(&tool, "scale");
	ok(s.launches == 20 && s.probed == 7 && s.entries == 7 * 640 && s.last_launch == 18,
	   "every third launch is probed, and knows its number");
	s = fake_sum(&tool, "other");
	ok(s.launches == 1 && !s.probed && s.state == GPUBPF_KERNEL_SEEN, "a kernel that no pattern matches is counted");
	fake_stop(&tool);
}

int main(int argc, char **argv)
{
	static const char *const hows[] = { "link", "dlsym", "proc1", "proc2", "ptsz" };
	static const char *const scenarios[] = { "library",     "contexts", "reload",    "captured", "slowly",
						 "nodes",       "shapes",   "occupancy", "stubborn", "refused",
						 "broken-twin", "threads",  "unload",    "children", "enumerated",
						 "libraries",   "foreign",  "green",     "part",     "detached",
						 "unbalanced",  "older",    "clustered", "carved",   "overwritten" };

	if (argc < 4)
		return 2;
	agent = argv[1];
	driver = dirname(strdup(argv[2]));
	app = argv[3];
	if (argc == 5) {
		cost();
		return done();
	}
	for (size_t i = 0; i < sizeof(hows) / sizeof(*hows); i++)
		exact(hows[i], "basic");
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(*scenarios); i++)
		exact(i % 2 ? "proc2" : "link", scenarios[i]);
	exact("ptsz", "nodes");
	reasons();
	registers();
	shaped();
	hasty();
	chosen();
	survives("closed", "a library that was unloaded with its image", NULL, "was unloaded");
	survives("basic", "no memory for maps", "cuMemCreate:1", NULL);
	survives("basic", "a twin that finds no memory", "twin:1", "OUT_OF_MEMORY");
	survives("basic", "a launch's number that cannot be written", "cuStreamWriteValue64_v2:1",
		 "refused a launch of its twin with error 2");
	survives("basic", "copies that fail", "cuMemcpyHtoDAsync_v2:1:999", "memory for maps");
	old_driver("old", "refused a launch of its twin with error 500");
	old_driver("older", "it has no cuMemCreate");
	return done();
}
