/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the results as Markdown: a table with a row per group and a column per device, then failures and skipped cases
 * with their reasons.
 */
#include <string.h>
#include <time.h>

#include "cli/conformance/suite/suite.h"

static void put_heading(const struct suite_run *run, FILE *out)
{
	fputs("| group |", out);
	for (uint32_t i = 0; i < run->ndevices; i++)
		fprintf(out, " %s: %s (%s) |", run->devices[i].caps.backend, run->devices[i].caps.name,
			run->devices[i].caps.driver);
	fputs("\n|---|", out);
	for (uint32_t i = 0; i < run->ndevices; i++)
		fputs("---|", out);
	fputc('\n', out);
}

/* Write the table's row for a group. NULL: the row with the sums over all groups. */
static void put_row(const struct suite_run *run, const char *group, FILE *out)
{
	fprintf(out, "| %s |", group ? group : "all");
	for (uint32_t i = 0; i < run->ndevices; i++) {
		const struct suite_device *d = &run->devices[i];
		uint32_t failed = suite_count(run, d, group, SUITE_FAILED),
			 skipped = suite_count(run, d, group, SUITE_SKIPPED);

		fprintf(out, " %u passed", suite_count(run, d, group, SUITE_PASSED));
		if (failed)
			fprintf(out, ", **%u failed**", failed);
		if (skipped)
			fprintf(out, ", %u skipped", skipped);
		fputs(" |", out);
	}
	fputc('\n', out);
}

void suite_write_markdown(const struct suite_run *run, FILE *out)
{
	time_t now = time(NULL);
	const char *group;
	char date[16];
	struct tm tm;

	strftime(date, sizeof(date), "%Y-%m-%d", gmtime_r(&now, &tm));
	fprintf(out, "gpubpf %s, %s%s\n\n", GPUBPF_VERSION, date, run->verify ? "" : ", programs not proven");
	put_heading(run, out);
	for (uint32_t g = 0; (group = suite_group(&run->suite, g)); g++)
		put_row(run, group, out);
	put_row(run, NULL, out);
	fputc('\n', out);
	for (uint32_t i = 0; i < run->ndevices; i++) {
		suite_put_failures(run, &run->devices[i], "- ", out);
		suite_put_skipped(run, &run->devices[i], "- ", out);
	}
	for (uint32_t i = suite_object(&run->suite, 0); i < run->suite.nobjects && !run->random;
	     i = suite_object(&run->suite, i + 1))
		fprintf(out, "- `%s` %s\n", run->suite.objects[i].sha256, run->suite.objects[i].name);
}
