/* SPDX-License-Identifier: Apache-2.0 */
/* For the reader at a terminal: the matrix, then what failed and why, then what was run. */
#include <string.h>

#include "core/session/table.h"
#include "suite.h"

static void put_matrix(const struct suite_run *run, FILE *out)
{
	struct gpubpf_table t;
	const char *group;

	gpubpf_table_init(&t, "GROUP", "BACKEND", "DEVICE", "PASSED", "FAILED", "SKIPPED", NULL);
	for (uint32_t g = 0; (group = suite_group(&run->suite, g)); g++)
		for (uint32_t i = 0; i < run->ndevices; i++) {
			const struct suite_device *d = &run->devices[i];

			gpubpf_table_cell(&t, "%s", group);
			gpubpf_table_cell(&t, "%s", d->caps.backend);
			gpubpf_table_cell(&t, "%.60s", d->caps.name);
			gpubpf_table_cell(&t, "%u", suite_count(run, d, group, SUITE_PASSED));
			gpubpf_table_cell(&t, "%u", suite_count(run, d, group, SUITE_FAILED));
			gpubpf_table_cell(&t, "%u", suite_count(run, d, group, SUITE_SKIPPED));
		}
	gpubpf_table_print(&t, out);
	gpubpf_table_finish(&t);
}

static void put_failures(const struct suite_run *run, const struct suite_device *d, FILE *out)
{
	for (uint32_t i = 0; i < run->suite.ncases; i++) {
		const struct suite_case *c = &run->suite.cases[i];
		const struct suite_result *r = &d->results[i];

		if (r->state == SUITE_FAILED)
			fprintf(out, "failed on %s, %s: %s: %s/%s\n  expected: %s\n  got:      %s\n", d->caps.backend,
				d->caps.name, run->suite.objects[c->object].name, c->group, c->name, r->expected, r->got);
	}
}

/* How many random programs, and which. */
static void put_random(const struct suite_run *run, const struct suite_device *d, FILE *out)
{
	for (uint32_t i = 0; i < run->suite.ncases; i++)
		if (run->random && d->results[i].state == SUITE_PASSED)
			fprintf(out, "ran on %s, %s: %s\n", d->caps.backend, d->caps.name, d->results[i].got);
}

/* Each reason once. */
static void put_skipped(const struct suite_run *run, const struct suite_device *d, FILE *out)
{
	for (uint32_t i = 0; i < run->suite.ncases; i++) {
		uint32_t before = 0, n = 0;

		if (d->results[i].state != SUITE_SKIPPED)
			continue;
		for (uint32_t j = 0; j < run->suite.ncases; j++)
			if (d->results[j].state == SUITE_SKIPPED && !strcmp(d->results[j].got, d->results[i].got)) {
				before += j < i;
				n++;
			}
		if (!before)
			fprintf(out, "skipped on %s, %s: %u: %s\n", d->caps.backend, d->caps.name, n, d->results[i].got);
	}
}

void suite_write_text(const struct suite_run *run, FILE *out)
{
	put_matrix(run, out);
	for (uint32_t i = 0; i < run->ndevices; i++) {
		put_failures(run, &run->devices[i], out);
		put_skipped(run, &run->devices[i], out);
		put_random(run, &run->devices[i], out);
	}
	for (uint32_t i = 0; i < run->nmissing; i++)
		fprintf(out, "not here: %s: %s\n", run->missing[i].backend, run->missing[i].why);
	for (uint32_t i = suite_object(&run->suite, 0); i < run->suite.nobjects && !run->random; i = suite_object(&run->suite, i + 1))
		fprintf(out, "%s  %s\n", run->suite.objects[i].sha256, run->suite.objects[i].name);
}
