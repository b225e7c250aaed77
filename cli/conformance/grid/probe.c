/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests a case end to end. A session with the case's object traces the application gpubpf-workload on the device's real
 * runtime. Then the programs' maps are compared with the expectations.
 */
#include "probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conformance/suite/application.h"
#include "core/model/places.h"
#include "core/session/session.h"
#include "core/target.h"
#include "session_reads.h"

/* -- the application -- */

/* Return the kernel that the case names, or the default kernel. */
static const char *kernel_name(const struct suite_case *c, char *buf, size_t size)
{
	const char *name = grid_workload(c, buf, size);

	return name ? name : APPLICATION_KERNEL;
}

static void set_failure(struct suite_result *r, const char *why)
{
	snprintf(r->expected, sizeof(r->expected), "its programs run");
	snprintf(r->got, sizeof(r->got), "%.390s", why);
}

/*
 * If the case names no kernel, attach its programs to the default kernel only. Kernels that the runtime itself launches
 * must not be probed.
 */
static int attach(const struct probed *p)
{
	struct gpubpf_attach_opts to = { .sz = sizeof(to) };
	const struct gpubpf_prog *prog = NULL;
	char name[64];

	if (grid_workload(p->j.c, name, sizeof(name)))
		return 0;
	to.pattern = kernel_name(p->j.c, name, sizeof(name));
	while ((prog = gpubpf_session__next_program(p->s, prog)))
		if (gpubpf_prog__pattern(prog)[0] && !gpubpf_program__attach_opts(prog, &to))
			return -errno;
	return 0;
}

/* Run the session around the application. Returns NULL, or the reason of a failure. */
static const char *run_session(const struct probed *p, const struct application *app, char *buf, size_t size)
{
	const struct suite_run *run = app->run;
	int err = gpubpf_session__add_object(p->s, run->suite.objects[p->j.c->object].path);

	if (!err && run->place)
		err = gpubpf_session__place(p->s, "*", gpubpf_placement_name(run->place));
	if (!err)
		err = gpubpf_session__load(p->s);
	if (!err)
		err = attach(p);
	if (err < 0)
		return gpubpf_session__error(p->s)[0] ? gpubpf_session__error(p->s) : strerror(-err);
	return application_run(p->s, app, buf, size);
}

static void run_form(const struct application *app, uint32_t index, struct suite_result *r)
{
	const struct suite_run *run = app->run;
	const struct suite_case *c = &run->suite.cases[index];
	struct probed p = { .j = { c, r, &session_reads, grid_threads(c, &app->device->caps) } };
	char name[64], text[400];
	const char *why;
	struct gpubpf_session_opts opts = {
		.sz = sizeof(opts),
		.runtime_dir = run->runtime_dir,
		.backend = app->device->caps.backend,
		.ctx = &p,
		.event = session_on_event,
		.print = session_on_print,
		.route = run->route ? run->route->name : NULL,
		.no_attach = !grid_workload(c, name, sizeof(name)),
		.wait_ms = APPLICATION_WAIT_MS,
	};

	p.s = gpubpf_session__new(&opts);
	why = p.s ? run_session(&p, app, text, sizeof(text)) : strerror(errno);
	if (why)
		set_failure(r, why);
	else
		suite_judge(&p.j);
	gpubpf_session__free(p.s);
	free(p.prints);
}

/*
 * Returns true if a target that accepts this form of code supports the place gpu/NAME/. Otherwise stores the reason in
 * why.
 */
static bool supports_place(const struct suite_run *run, const struct gpubpf_device_caps *caps,
			   const struct application_form *form, const char *place, char why[GPUBPF_REFUSAL_SIZE])
{
	const struct gpubpf_target_info *t = NULL;
	uint32_t site = GPUBPF_SITE_ENTRY;

	while (site < GPUBPF_NSITES && strcmp(place, gpubpf_place_kind(site)->name))
		site++;
	snprintf(why, GPUBPF_REFUSAL_SIZE, "there is no place gpu/%.64s/", place);
	while (site < GPUBPF_NSITES && (t = gpubpf_target_next_accepting(form->kind, t)))
		if ((!run->route || t == run->route) && gpubpf_target_supports(t, caps, site, why))
			return true;
	return false;
}

/*
 * Returns true if the device, with kernels in this form of code, fulfils a requirement of a case. The requirement is
 * ALLOCATIONS, SM_ID, names, masks, lines, constants, arguments or gpu/PLACE.
 */
static bool provides(const struct suite_run *run, const struct gpubpf_device_caps *caps,
		     const struct application_form *form, const char *what, char why[GPUBPF_REFUSAL_SIZE])
{
	const struct {
		const char *name;
		bool provides;
	} known[] = {
		{ "names", form->names },
		{ "masks", form->masks },
		{ "lines", form->lines },
		{ "constants", form->constants },
		{ "arguments", form->arguments },
		{ "ALLOCATIONS", caps->bits & GPUBPF_CAP_ALLOCATIONS },
		{ "SM_ID", caps->bits & GPUBPF_CAP_SM_ID },
	};

	if (!strncmp(what, "gpu/", 4))
		return supports_place(run, caps, form, what + 4, why);
	snprintf(why, GPUBPF_REFUSAL_SIZE, "the device, or the form of its kernels' code, does not provide %.64s", what);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(what, known[i].name))
			return known[i].provides;
	return false;
}

/* Returns true if a requirement of the case is not fulfilled. Such a case is skipped. */
static bool lacks_requirement(const struct suite_run *run, const struct suite_case *c,
			      const struct gpubpf_device_caps *caps, const struct application_form *form,
			      char why[GPUBPF_REFUSAL_SIZE])
{
	const char *at = NULL, *what;
	char line[64];

	while ((what = grid_line(c, "needs", &at, line, sizeof(line))))
		if (!provides(run, caps, form, what, why))
			return true;
	why[0] = '\0';
	return false;
}

/*
 * Run the case. If it has the line "sub-groups" and the code is OpenCL C, run it once for each sub-group size of the
 * device. Otherwise run it once, without a required sub-group size.
 */
static void run_sizes(struct application *app, uint32_t index, struct suite_result *r)
{
	char line[8], text[sizeof(r->got)];
	bool has_sizes = app->kind == GPUBPF_IMAGE_OPENCL_C && grid_line(&app->run->suite.cases[index], "sub-groups",
									 &(const char *){ NULL }, line, sizeof(line));
	uint32_t left = has_sizes ? app->device->caps.sub_groups : 0;

	do {
		app->sub_group = left & -left;
		r->state = SUITE_FAILED;
		run_form(app, index, r);
		if (r->state != SUITE_PASSED && app->sub_group) {
			snprintf(text, sizeof(text), "%s", r->got);
			snprintf(r->got, sizeof(r->got), "sub-groups of %u: %.360s", app->sub_group, text);
		}
		left &= left - 1;
	} while (left && r->state == SUITE_PASSED);
}

void probe_run(const struct suite_run *run, const struct suite_device *device, uint32_t index, struct suite_result *r)
{
	char path[APPLICATION_PATH], kernel[64], text[400], lacking[GPUBPF_REFUSAL_SIZE] = "";
	const struct suite_case *c = &run->suite.cases[index];
	struct application app = { run, device, path, .kernel = kernel_name(c, kernel, sizeof(kernel)) };
	const struct application_form *form = NULL;
	bool taken = false;

	grid_launch_of(c, &device->caps, &app.launch);
	while ((form = application_next(run, &device->caps, taken, form, path))) {
		if (lacks_requirement(run, c, &device->caps, form, lacking))
			continue;
		taken = true;
		app.kind = form->kind;
		run_sizes(&app, index, r);
		if (r->state == SUITE_PASSED)
			continue;
		snprintf(text, sizeof(text), "%.380s", r->got);
		snprintf(r->got, sizeof(r->got), "%s: %.350s", strrchr(path, '/') + 1, text);
		return;
	}
	if (taken)
		return;
	r->state = SUITE_SKIPPED;
	if (lacking[0])
		snprintf(r->got, sizeof(r->got), "%s", lacking);
	else
		application_none(run, &device->caps, r->got, sizeof(r->got));
}
