/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program built with the header of version 0.1 (copied to api-0.1/) runs with the current library. The library still
 * has the symbols, the members keep their offsets, and the library writes nothing past the structs of 0.1.
 */
#include <errno.h>
#include <gpubpf/gpubpf.h>
#include <stdlib.h>
#include <string.h>

#include "tests/core/session/layout.h"
#include "tests/core/session/own_dir.h"
#include "tests/tap.h"

#define BEYOND 256 /* number of bytes after a struct that must not change */

static void on_note(void *ctx, const char *text)
{
	++*(unsigned *)ctx;
}

static void test_layout(void)
{
	ok(layout_then_count == layout_now_count, "both headers were asked for the same members");
	for (size_t i = 0; i < layout_then_count; i++) {
		const struct layout *then = &layout_then[i], *now = &layout_now[i];

		ok(then->offset == now->offset && then->size == now->size, "%s is where it was, as large as it was",
		   then->member);
	}
}

static bool untouched(const unsigned char *beyond)
{
	for (size_t i = 0; i < BEYOND; i++)
		if (beyond[i] != 0xa5)
			return false;
	return true;
}

static void test_stats(struct gpubpf_session *s)
{
	struct {
		struct gpubpf_cost_stats stats;
		unsigned char beyond[BEYOND];
	} cost;
	struct {
		struct gpubpf_kernel_stats stats;
		unsigned char beyond[BEYOND];
	} kernel;

	memset(&cost, 0xa5, sizeof(cost));
	memset(&kernel, 0xa5, sizeof(kernel));
	cost.stats.sz = sizeof(cost.stats);
	kernel.stats.sz = sizeof(kernel.stats);
	ok(!gpubpf_session__cost(s, &cost.stats) && cost.stats.verify_ns > 0 && cost.stats.drain_ns == 0, "cost");
	ok(cost.stats.sz == sizeof(cost.stats) && untouched(cost.beyond), "cost writes 0.1's members alone");
	ok(gpubpf_session__kernel(s, 0, &kernel.stats) == -ENOENT && untouched(kernel.beyond), "no kernel was launched");
}

static void test_report(struct gpubpf_session *s)
{
	struct gpubpf_report_opts opts = { .sz = sizeof(opts), .json = true, .no_entries = true };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	ok(!gpubpf_session__report(s, out, &opts), "report: %s", gpubpf_session__error(s));
	fclose(out);
	ok(strstr(text, "\"kernels\"") && strstr(text, "\"maps\""), "it holds kernels and maps");
	free(text);
}

static void test_run(const char *object)
{
	unsigned notes = 0;
	struct gpubpf_session_opts opts = { .sz = sizeof(opts), .wait_ms = 5000, .note = on_note, .ctx = &notes };
	struct gpubpf_session *s = gpubpf_session__new(&opts);
	char *base[] = { "HOME=/", NULL }, **env = NULL;

	if (!ok(s && !gpubpf_session__add_object(s, object) && !gpubpf_session__load(s), "load: %s",
		s ? gpubpf_session__error(s) : "no session"))
		return;
	ok(gpubpf_prog__max_cost(gpubpf_session__next_program(s, NULL)) > 0, "a program has a proven cost");
	ok(gpubpf_map__max_entries(gpubpf_session__next_map(s, NULL)) > 0, "a map has entries");
	ok(!gpubpf_session__start(s) && gpubpf_session__fd(s) >= 0, "start: %s", gpubpf_session__error(s));
	ok(gpubpf_session__environ(s, base, &env) == 0 || gpubpf_session__environ(s, base, &env) == -ENOENT,
	   "an environment, or no agent is installed");
	free(env);
	ok(gpubpf_session__poll(s, 0) == 0 && !gpubpf_session__enable(s, false), "poll and enable");
	test_stats(s);
	test_report(s);
	ok(!gpubpf_session__stop(s) && notes == 0, "stop");
	gpubpf_session__free(s);
}

int main(int argc, char **argv)
{
	own_dir_make();
	test_layout();
	test_run(argc > 1 ? argv[1] : "");
	return done();
}
