/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests one-thread programs end to end. A session attaches several programs to the entry of the application's kernel.
 * Each program has its own map with its memory and its result. If a set of programs fails, each half is tried again. So
 * if a compiler or a runtime fails for one program, only that program fails.
 */
#include "cli/conformance/grid/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conformance/suite/application.h"
#include "core/model/diag.h"
#include "core/session/session.h"
#include "raw.h"
#include "emit.h"

#define MAX_INSNS 2048

struct case_set {
	struct application *app;
	struct conformance_case **cases;
	uint32_t n;
};

/* Add the cases to the session as one unit. Returns 0, or -errno with a diagnostic. */
static int load_cases(struct gpubpf_session *s, const struct case_set *p, struct gpubpf_diag *diag)
{
	struct gpubpf_loaded *loaded = calloc(1, sizeof(*loaded));
	int err = -ENOMEM;

	if (loaded && (loaded->objects = calloc(1, sizeof(*loaded->objects)))) {
		loaded->nobjects = 1;
		err = conformance_unit(p->cases, p->n, p->app->kernel, &loaded->unit, diag);
	}
	if (err < 0) {
		gpubpf_loaded_destroy(loaded);
		return err;
	}
	return gpubpf_session_adopt_unit(s, loaded, diag);
}

static void read_result(const struct gpubpf_session *s, uint32_t i, struct conformance_case *c)
{
	const struct gpubpf_map *map = &gpubpf_session_unit(s)->maps[i];
	struct gpubpf_run *run = malloc(map->value_size);
	uint32_t key = 0;
	char text[200];
	const char *error = NULL;
	int err = run ? gpubpf_map__lookup_elem(map, &key, sizeof(key), run, map->value_size, 0) : -ENOMEM;

	if (!err)
		error = conformance_ended(run, text, sizeof(text));
	if (err < 0)
		conformance_fail(c, "%s", strerror(-err));
	else if (error)
		conformance_fail(c, "%s", error);
	else
		c->r0 = run->r0;
	c->done = !c->error[0];
	free(run);
}

/* Run the programs of a set in one session. Returns false on failure, with the reason in `why`. */
static bool run_together(const struct case_set *p, char *why, size_t size)
{
	const struct suite_run *run = p->app->run;
	struct gpubpf_session_opts opts = {
		.sz = sizeof(opts),
		.runtime_dir = run->runtime_dir,
		.backend = p->app->device->caps.backend,
		.route = run->route->name,
		.wait_ms = APPLICATION_WAIT_MS,
	};
	struct gpubpf_session *s = gpubpf_session__new(&opts);
	const char *failed = strerror(errno);
	struct gpubpf_diag diag;
	int err;

	gpubpf_diag_init(&diag);
	if (s) {
		gpubpf_session_set_raw(s, run->verify ? GPUBPF_RAW_PROVEN : GPUBPF_RAW_CHECKED);
		err = load_cases(s, p, &diag);
		failed = !err ? application_run(s, p->app, why, size) : diag.code ? diag.what : strerror(-err);
	}
	for (uint32_t i = 0; s && !failed && i < p->n; i++)
		read_result(s, i, p->cases[i]);
	if (failed && failed != why)
		snprintf(why, size, "%s", failed);
	gpubpf_session__free(s);
	return !failed;
}

static void run_set(const struct case_set *p)
{
	struct case_set half = *p;
	char why[512];

	if (run_together(p, why, sizeof(why)))
		return;
	if (p->n == 1) {
		conformance_fail(p->cases[0], "%s", why);
		return;
	}
	half.n = p->n / 2;
	run_set(&half);
	half.cases += half.n;
	half.n = p->n - half.n;
	run_set(&half);
}

/* Fill the set with the next cases, beginning with cases[*at]. Advance *at. */
static void next_set(struct case_set *p, struct conformance_case *cases, size_t n, size_t *at)
{
	uint32_t insns = 0;

	for (p->n = 0; *at < n && p->n < CONFORMANCE_TOGETHER; ++*at) {
		struct conformance_case *c = &cases[*at];

		if (c->error[0])
			continue;
		insns += c->unit.progs->ninsns;
		if (p->n && insns > MAX_INSNS)
			return;
		p->cases[p->n++] = c;
	}
}

void probe_raw_run(const struct suite_run *run, const struct suite_device *device, struct conformance_case *cases, size_t n)
{
	char path[APPLICATION_PATH];
	struct application app = { run, device, path, .kernel = APPLICATION_KERNEL,
				   .launch = { 3, { 1, 1, 1 }, { 1, 1, 1 } } };
	const struct application_form *form = NULL;
	struct conformance_case *together[CONFORMANCE_TOGETHER];
	struct case_set case_set = { &app, together, 0 };
	bool taken = false;

	while ((form = application_next(run, &device->caps, taken, form, path))) {
		taken = true;
		app.kind = form->kind;
		for (size_t at = 0; next_set(&case_set, cases, n, &at), case_set.n;)
			run_set(&case_set);
	}
}
