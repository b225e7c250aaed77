/* SPDX-License-Identifier: Apache-2.0 */
/*
 * agent AGENT.so pocl|intel all|failures|device APP...: runs ordinary applications with the agent and a simulated tool.
 * The application's output and exit status must not change, whatever the tool does, and the counts must be exact.
 *
 * AGENT.so may be a list for OPENCL_LAYERS; the agent is the last and topmost layer. `device` runs only the cases that
 * depend on the device. `failures` runs most faults of a tool, but not the bounds on waiting times. `all` runs
 * everything.
 */
#include "fake_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/child.h"
#include "tests/tap.h"

#define TIMEOUT_S 120
#define WAIT_MS 2000

static const char *agent, *device;
static bool failures, waits;

struct how {
	const char *app, *session;
	bool unread;               /* standard error is a pipe without a reader */
};

static void unread_errors(void)
{
	int ends[2];

	if (pipe(ends) < 0)
		_exit(1);
	dup2(ends[1], 2);
	close(ends[0]);
	close(ends[1]);
	signal(SIGPIPE, SIG_DFL);
}

static void become(const void *arg)
{
	const char *preload = getenv("AGENT_TEST_PRELOAD");
	const struct how *how = arg;

	if (how->unread)
		unread_errors();
	if (how->session) {
		setenv("OPENCL_LAYERS", agent, 1);
		setenv("GPUBPF_SESSION", how->session, 1);
		if (preload)
			setenv("LD_PRELOAD", preload, 1);
	}
	execl(how->app, how->app, NULL);
}

/* Run the application. If session is NULL, the application runs without the agent. */
static void run_app(const char *app, const char *session, struct child *c)
{
	child_run(c, TIMEOUT_S, become, &(struct how){ app, session });
}

static const char *base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Compare each line "kernel NAME launches L items I" of the application with the tool's counts. */
static bool counts_match(const struct fake_tool *tool, const char *out, bool probed)
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
		if (s.launches == launches && (!probed || (s.probed == launches && !s.missed &&
		     s.entries == items && s.exits == items)))
			continue;
		note("%s: %llu launches, %llu items; counted %llu launches, %llu probed, %llu missed, %llu in, "
		     "%llu out; %s", name, launches, items, (unsigned long long)s.launches,
		     (unsigned long long)s.probed, (unsigned long long)s.missed, (unsigned long long)s.entries,
		     (unsigned long long)s.exits, s.reason);
		match = false;
	}
	return match && any;
}

/* Print text of several lines as TAP notes. */
static void note_text(const char *what, const char *text, size_t max)
{
	char line[4096];
	size_t n = strnlen(text, max < sizeof(line) ? max : sizeof(line) - 1);

	for (size_t i = 0; i < n; i++)
		line[i] = text[i] == '\n' ? '|' : text[i];
	line[n] = 0;
	note("%s: %s", what, line);
}

static void show(const struct child *r)
{
	note("status %d", r->status);
	note_text("standard error", r->err, 4000);
}

static bool same(const struct child *a, const struct child *b)
{
	size_t at;

	if (a->status == b->status && !strcmp(a->out, b->out))
		return true;
	for (at = 0; a->out[at] && a->out[at] == b->out[at];)
		at++;
	at = at > 40 ? at - 40 : 0;
	note_text("wanted", a->out + at, 100);
	note_text("got", b->out + at, 100);
	show(b);
	return false;
}

static struct child native, probed; /* too large for the stack */

static void exact(const char *app, const struct child *want)
{
	struct fake_options o = { .mode = FAKE_PROBE, .pattern = "*", .wait_ms = 600000, .sample = 1 };
	struct fake_tool tool;

	fake_start(&tool, &o);
	run_app(app, tool.path, &probed);
	ok(same(want, &probed), "%s on %s: output and status as without probes", base(app), device);
	if (!ok(counts_match(&tool, want->out, true), "%s on %s: every work-item counted", base(app), device))
		note_text(tool.seen->last_note, probed.err, 4000);
	for (int i = 0; i < 12000 && tool.seen->pulled_gone < tool.seen->requests_for_missing; i++)
		usleep(5000); /* the tool may read the messages after the application has ended */
	ok(tool.seen->pulled_gone == tool.seen->requests_for_missing, "%s on %s: %u PULLs for a device that is gone are answered",
	   base(app), device, tool.seen->requests_for_missing);
	fake_stop(&tool);
}

/* Check that the application runs as it does without a tool. says is a part of the line that must tell the user why. */
static void survives(const char *app, const struct child *want, const struct fake_options *o, const char *what,
		     const char *says)
{
	struct fake_tool tool;
	bool said;

	fake_start(&tool, o);
	run_app(app, tool.path, &probed);
	ok(same(want, &probed), "%s: output and status as without probes", what);
	said = !says || strstr(probed.err, says) || strstr(tool.seen->last_note, says) ||
	       strstr(fake_sum(&tool, "scale").reason, says);
	if (!ok(said, "%s: one line says what happened", what))
		note_text(tool.seen->last_note, probed.err, 4000);
	fake_stop(&tool);
}

/*
 * --wait limits the waiting time of the whole application: of its 24 twins it waits only for the first. The limit in
 * the test is far from one wait and from 24 waits, because a busy machine is slow.
 */
static void test_single_wait(const char *app, const struct child *want, enum fake_mode mode, const char *what)
{
	struct fake_options o = { .mode = mode, .pattern = "*", .wait_ms = WAIT_MS, .sample = 1 };
	struct fake_tool tool;

	fake_start(&tool, &o);
	run_app(app, tool.path, &probed);
	ok(same(want, &probed), "%s, %s: output and status as without probes", base(app), what);
	ok(probed.seconds < 4 * want->seconds + 15 * WAIT_MS / 1e3, "%s, %s: %.1f s by itself, %.1f s with at most %.1f s of waits",
	   base(app), what, want->seconds, probed.seconds, WAIT_MS / 1e3);
	fake_stop(&tool);
}

static void stranger(const char *app, const struct child *want)
{
	struct fake_options o = { .mode = FAKE_PROBE, .pattern = "*", .wait_ms = 1000, .sample = 1, .other_user = true };
	struct fake_tool tool;

	if (geteuid()) {
		skip("a session of another user", "needs root");
		return;
	}
	fake_start(&tool, &o);
	run_app(app, tool.path, &probed);
	ok(same(want, &probed) && !tool.seen->hellos && strstr(probed.err, "another user's process listens there"),
	   "who listens as another user is told nothing");
	fake_stop(&tool);
}

static const struct bad_tool {
	enum fake_mode mode;
	uint32_t wait_ms, delay_ms;
	bool device;               /* true if the result depends on the device */
	const char *what, *says;
} bad_tools[] = {
	{ FAKE_REFUSE, 60000, 0, false, "a tool that refuses", "refused for the test" },
	{ FAKE_DIE, 60000, 0, false, "a tool killed while a twin is made", "the session is over" },
	{ FAKE_DIE_LATER, 60000, 0, true, "a tool killed after a twin was given", NULL },
	{ FAKE_STALL, 60000, 0, false, "a tool that never greets", "cannot join the session at " },
	{ FAKE_WRONG_TWIN, 60000, 0, false, "twins with other parameters", "arguments" },
	{ FAKE_NO_BINARY, 60000, 0, true, "a twin that is no binary", "refused the twin's binary" },
	{ FAKE_NO_ARENA, 60000, 0, true, "no memory for maps", "no memory today" },
	{ FAKE_SILENT, 300, 0, false, "a tool that never answers", NULL },
	{ FAKE_SLOW, 0, 50, false, "a tool that is not waited for", NULL },
};

static void try_bad_tools(const char *app, const struct child *want)
{
	for (size_t i = 0; i < sizeof(bad_tools) / sizeof(bad_tools[0]); i++) {
		const struct bad_tool *bad = &bad_tools[i];
		struct fake_options o = { .mode = bad->mode, .pattern = "*", .wait_ms = bad->wait_ms, .delay_ms = bad->delay_ms,
					  .sample = 1 };

		if (failures || bad->device)
			survives(app, want, &o, bad->what, bad->says);
	}
}

/* A message that no process reads must not block or kill the application. */
static void nobody_listens(const char *app, const struct child *want)
{
	child_run(&probed, TIMEOUT_S, become, &(struct how){ app, "/nonexistent", true });
	ok(same(want, &probed), "no session, and nobody who reads standard error: output and status as without probes");
}

static void hostile_tools(const char *app, const struct child *want)
{
	struct fake_options o = { .mode = FAKE_HOSTILE, .pattern = "*", .wait_ms = 500, .sample = 1 };
	bool all = true;
	struct fake_tool tool;

	for (o.seed = 1; o.seed <= 12; o.seed++) {
		fake_start(&tool, &o);
		run_app(app, tool.path, &probed);
		if (!same(want, &probed)) {
			note("seed %u", o.seed);
			all = false;
		}
		fake_stop(&tool);
	}
	ok(all, "12 tools that send what the protocol does not allow: output and status as without probes");
}

/*
 * Test sampling with an application that launches its first kernel 20 times (tests/backends/spirv/opencl/apps/basic.c).
 */
static void chosen_launches(const char *app)
{
	struct fake_options o = { .mode = FAKE_PROBE, .pattern = "sc*", .wait_ms = 600000, .sample = 3 };
	struct fake_tool tool;
	struct fake_sum s, add;

	fake_start(&tool, &o);
	run_app(app, tool.path, &probed);
	s = fake_sum(&tool, "scale");
	add = fake_sum(&tool, "add");
	ok(s.launches == 20 && s.probed == 7 && s.entries == 7 * 4096 && s.last_launch == 18 &&
	   s.missed_by[GPUBPF_MISS_SAMPLED] == 13,
	   "every third launch is probed, and knows its number");
	ok(add.launches == 1 && !add.probed && add.state == GPUBPF_KERNEL_SEEN && add.missed_by[GPUBPF_MISS_UNATTACHED] == 1,
	   "a kernel that no pattern matches is counted and runs as it was");
	fake_stop(&tool);
	o.sample = 1;
	o.first = 5;
	fake_start(&tool, &o);
	run_app(app, tool.path, &probed);
	s = fake_sum(&tool, "scale");
	ok(s.launches == 20 && s.probed == 5 && s.entries == 5 * 4096 && s.missed == 15 &&
	   s.missed_by[GPUBPF_MISS_FIRST] == 15, "the first five are probed, and the others are left out by --first");
	fake_stop(&tool);
}

static void idle(const char *app, const struct child *want)
{
	struct fake_options o = { .mode = FAKE_PROBE, .sample = 1 };
	struct fake_tool tool;

	fake_start(&tool, &o);
	run_app(app, tool.path, &probed);
	ok(same(want, &probed) && counts_match(&tool, want->out, false) && !tool.seen->twins,
	   "nothing attached: launches are counted, no twin is asked for");
	fake_stop(&tool);
	o.mode = FAKE_LIST;
	o.pattern = "*";
	o.wait_ms = 60000;
	fake_start(&tool, &o);
	run_app(app, tool.path, &probed);
	ok(same(want, &probed) && fake_sum(&tool, "scale").state == GPUBPF_KERNEL_SEEN,
	   "a kernel that could be probed is only listed");
	fake_stop(&tool);
}

static void missed_launches(const char *app)
{
	struct fake_options o = { .mode = FAKE_SILENT, .pattern = "*", .wait_ms = 100, .sample = 1 };
	struct fake_tool tool;
	struct fake_sum s;

	fake_start(&tool, &o);
	run_app(app, tool.path, &probed);
	s = fake_sum(&tool, "scale");
	ok(s.launches == 20 && s.missed_by[GPUBPF_MISS_LATE] == 20 && s.missed == 20 && s.state == GPUBPF_KERNEL_WAITING,
	   "launches that the twin came too late for are counted as missed");
	fake_stop(&tool);
}

/* The application has several kernels, but the kernel table has no free row for any of them. */
static void full_table(const char *app, const struct child *want)
{
	struct fake_options o = { .mode = FAKE_PROBE, .pattern = "*", .wait_ms = 600000, .sample = 1 };
	struct fake_tool tool;

	fake_start(&tool, &o);
	tool.table->nkernels = GPUBPF_KERNEL_TABLE_ROWS;
	run_app(app, tool.path, &probed);
	fake_wait_until_handled();
	ok(same(want, &probed) && tool.table->nkernels >= GPUBPF_KERNEL_TABLE_ROWS + 2 && tool.seen->full_notes == 1,
	   "more kernels than the table has rows: output as without probes, and %u of %u said so", tool.seen->full_notes,
	   tool.table->nkernels - GPUBPF_KERNEL_TABLE_ROWS);
	fake_stop(&tool);
}

/* Select the device. The ICD loader finds Debian's PoCL itself; Intel's CPU runtime may be installed in any folder. */
static bool choose_device(const char *name)
{
	const char *icd = getenv("GPUBPF_TEST_INTEL");

	device = name;
	if (strcmp(name, "intel")) { /* name is pocl, or for a run by hand a part of the name of a device or platform */
		setenv("GPUBPF_TEST_DEVICE", strcmp(name, "pocl") ? name : "Portable", 1);
		return true;
	}
	if (!icd || access(icd, R_OK))
		return false;
	setenv("OCL_ICD_VENDORS", icd, 1);
	setenv("GPUBPF_TEST_DEVICE", "Intel", 1);
	return true;
}

/*
 * Run the application without the agent, as the reference for all later runs. Some runtimes crash at times, so there
 * are three attempts.
 */
static void run_native(const char *app)
{
	for (int i = 0; i < 3; i++) {
		run_app(app, NULL, &native);
		if (!WIFSIGNALED(native.status))
			return;
		note("%s by itself died of signal %d", base(app), WTERMSIG(native.status));
	}
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 2;
	agent = argv[1];
	waits = !strcmp(argv[3], "all");
	failures = waits || !strcmp(argv[3], "failures");
	if (!choose_device(argv[2])) {
		skip("the agent on Intel's CPU runtime", "GPUBPF_TEST_INTEL names no libintelocl.so");
		return done();
	}
	for (int i = 4; i < argc; i++) {
		run_native(argv[i]);
		if (WIFEXITED(native.status) && WEXITSTATUS(native.status) == 77) {
			skip(base(argv[i]), "%s", strtok(native.err, "\n"));
			continue;
		}
		if (!ok(WIFEXITED(native.status) && WEXITSTATUS(native.status) != 1, "%s on %s runs by itself", base(argv[i]), device)) {
			show(&native);
			continue;
		}
		exact(argv[i], &native);
		if (waits && strstr(argv[i], "cl-programs")) {
			test_single_wait(argv[i], &native, FAKE_SILENT, "a tool that never answers");
			test_single_wait(argv[i], &native, FAKE_STOPPED, "a tool that is stopped");
			test_single_wait(argv[i], &native, FAKE_STOPPED_EARLY, "a tool that is stopped early");
		}
		if (i > 4)
			continue;
		try_bad_tools(argv[i], &native);
		if (!failures)
			continue;
		stranger(argv[i], &native);
		idle(argv[i], &native);
		chosen_launches(argv[i]);
		missed_launches(argv[i]);
		full_table(argv[i], &native);
		nobody_listens(argv[i], &native);
		hostile_tools(argv[i], &native);
	}
	return done();
}
