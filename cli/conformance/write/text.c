/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the results for a terminal: the table, then failed cases with reasons, then the tested objects. */
#include <string.h>

#include "core/session/report/table.h"
#include "cli/conformance/suite/suite.h"

#define MAX_NAMED 4 /* maximum number of cases that are named for one reason; JSON lists all */

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

void suite_put_failures(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out)
{
	for (uint32_t i = 0; i < run->suite.ncases; i++) {
		const struct suite_case *c = &run->suite.cases[i];
		const struct suite_result *r = &d->results[i];

		if (r->state == SUITE_FAILED)
			fprintf(out, "%sfailed on %s, %s: %s: %s/%s\n  expected: %s\n  got:      %s\n", before,
				d->caps.backend, d->caps.name, run->suite.objects[c->object].name, c->group, c->name,
				r->expected, r->got);
	}
}

/* Print how many random programs ran, and with which seeds. */
static void put_random(const struct suite_run *run, const struct suite_device *d, FILE *out)
{
	for (uint32_t i = 0; i < run->suite.ncases; i++)
		if (run->random && d->results[i].state == SUITE_PASSED)
			fprintf(out, "ran on %s, %s: %s\n", d->caps.backend, d->caps.name, d->results[i].got);
}

static bool has_skip_reason(const struct suite_device *d, uint32_t i, const char *why)
{
	return d->results[i].state == SUITE_SKIPPED && !strcmp(d->results[i].got, why);
}

/* Print how many cases have the same reason as case `first`, and the names of up to MAX_NAMED of them. */
static void put_reason(const struct suite_run *run, const struct suite_device *d, uint32_t first, FILE *out)
{
	const char *why = d->results[first].got;
	uint32_t n = 0, shown = 0;

	for (uint32_t i = first; i < run->suite.ncases; i++)
		n += has_skip_reason(d, i, why);
	fprintf(out, "skipped on %s, %s: %u (", d->caps.backend, d->caps.name, n);
	for (uint32_t i = first; i < run->suite.ncases && shown < MAX_NAMED; i++)
		if (has_skip_reason(d, i, why))
			fprintf(out, "%s%s/%s", shown++ ? ", " : "", run->suite.cases[i].group, run->suite.cases[i].name);
	fprintf(out, "%s): %s\n", n > shown ? ", ..." : "", why);
}

void suite_put_skipped(const struct suite_run *run, const struct suite_device *d, const char *before, FILE *out)
{
	for (uint32_t i = 0; i < run->suite.ncases; i++) {
		bool printed = d->results[i].state != SUITE_SKIPPED;

		for (uint32_t j = 0; j < i && !printed; j++)
			printed = has_skip_reason(d, j, d->results[i].got);
		if (!printed) {
			fputs(before, out);
			put_reason(run, d, i, out);
		}
	}
}

void suite_write_text(const struct suite_run *run, FILE *out)
{
	put_matrix(run, out);
	for (uint32_t i = 0; i < run->ndevices; i++) {
		suite_put_failures(run, &run->devices[i], "", out);
		suite_put_skipped(run, &run->devices[i], "", out);
		put_random(run, &run->devices[i], out);
	}
	for (uint32_t i = 0; i < run->nmissing; i++)
		fprintf(out, "not here: %s: %s\n", run->missing[i].backend, run->missing[i].why);
	for (uint32_t i = suite_object(&run->suite, 0); i < run->suite.nobjects && !run->random;
	     i = suite_object(&run->suite, i + 1))
		fprintf(out, "%s  %s\n", run->suite.objects[i].sha256, run->suite.objects[i].name);
}
