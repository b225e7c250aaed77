/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a case by gpubpf_prog__test_run() on the device's real runtime, and compares maps, data and result. */
#include "direct.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/conformance/suite/application.h"
#include "core/session/session.h"
#include "session_reads.h"

bool grid_is_run(const struct suite_case *c)
{
	char line[8];

	return grid_line(c, "run", &(const char *){ NULL }, line, sizeof(line));
}

int grid_run_init(const struct suite_case *c, struct grid_run *run)
{
	char line[32];
	const char *text = grid_line(c, "data", &(const char *){ NULL }, line, sizeof(line));

	*run = (struct grid_run){ .nwords = text ? (uint32_t)strtoul(text, NULL, 10) / 8 : 0 };
	run->words = calloc(run->nwords + 1, sizeof(*run->words));
	for (uint32_t i = 0; run->words && i < run->nwords; i++)
		run->words[i] = i;
	return run->words ? 0 : -ENOMEM;
}

void grid_run_finish(struct grid_run *run)
{
	free(run->words);
}

static int launch(const struct probed *p, const struct suite_run *run, const struct suite_device *device,
		  struct grid_run *data)
{
	const struct gpubpf_prog *prog = gpubpf_session__next_program(p->s, NULL);
	struct gpubpf_test_run_opts o = {
		.sz = sizeof(o),
		.backend = device->caps.backend,
		.device = run->device,
		.device_index = device->index,
		.data_in = data->words,
		.data_out = data->words,
		.data_size_in = 8ull * data->nwords,
		.data_size_out = 8ull * data->nwords,
	};
	struct grid_launch l;
	int err;

	grid_launch_of(p->j.c, &device->caps, &l);
	memcpy(o.grid, l.grid, sizeof(o.grid));
	memcpy(o.block, l.block, sizeof(o.block));
	o.repeat = l.times;
	err = gpubpf_prog__test_run(prog, &o);
	data->result = o.retval;
	return err;
}

/* Returns NULL, or the reason of a failure. */
static const char *run_session(const struct probed *p, const struct suite_run *run, const struct suite_device *device,
			       struct grid_run *data)
{
	int err = gpubpf_session__add_object(p->s, run->suite.objects[p->j.c->object].path);

	if (!err && run->place)
		err = gpubpf_session__place(p->s, "*", gpubpf_placement_name(run->place));
	if (!err)
		err = gpubpf_session__load(p->s);
	if (!err)
		err = gpubpf_session__start(p->s);
	if (!err)
		err = launch(p, run, device, data);
	if (!err)
		err = gpubpf_session__stop(p->s);
	if (err < 0)
		return gpubpf_session__error(p->s)[0] ? gpubpf_session__error(p->s) : strerror(-err);
	return NULL;
}

void direct_run(const struct suite_run *run, const struct suite_device *device, uint32_t index, struct suite_result *r)
{
	const struct suite_case *c = &run->suite.cases[index];
	struct grid_run data;
	struct probed p = { .j = { c, r, &session_reads, grid_threads(c, &device->caps), &data } };
	struct gpubpf_session_opts opts = {
		.sz = sizeof(opts),
		.runtime_dir = run->runtime_dir,
		.ctx = &p,
		.event = session_on_event,
		.print = session_on_print,
		.no_attach = true,
		.no_kernel = true,
		.wait_ms = APPLICATION_WAIT_MS,
	};
	const char *why = "out of memory";

	if (grid_run_init(c, &data) == 0) {
		p.s = gpubpf_session__new(&opts);
		why = p.s ? run_session(&p, run, device, &data) : strerror(errno);
	}
	snprintf(r->expected, sizeof(r->expected), "its program runs");
	if (why)
		snprintf(r->got, sizeof(r->got), "%.390s", why);
	else
		suite_judge(&p.j);
	gpubpf_session__free(p.s);
	free(p.prints);
	grid_run_finish(&data);
}
