/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the results as JUnit XML for continuous integration, with one test suite per device. */
#include "cli/conformance/suite/suite.h"

static void put(const char *text, FILE *out)
{
	for (; *text; text++)
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		case '"':
			fputs("&quot;", out);
			break;
		default:
			fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
		}
}

static void put_case(const struct suite_run *run, uint32_t i, const struct suite_result *r, FILE *out)
{
	const struct suite_case *c = &run->suite.cases[i];

	fprintf(out, "    <testcase classname=\"%s\" name=\"", c->group);
	put(c->name, out);
	fputs(r->state == SUITE_PASSED ? "\"/>\n" : "\">\n", out);
	if (r->state == SUITE_PASSED)
		return;
	fputs(r->state == SUITE_SKIPPED ? "      <skipped message=\"" : "      <failure message=\"", out);
	if (r->state == SUITE_FAILED) {
		put(run->suite.objects[c->object].name, out);
		fputs(": expected ", out);
		put(r->expected, out);
		fputs(", got ", out);
	}
	put(r->got, out);
	fputs("\"/>\n    </testcase>\n", out);
}

void suite_write_junit(const struct suite_run *run, FILE *out)
{
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n", out);
	for (uint32_t d = 0; d < run->ndevices; d++) {
		const struct suite_device *device = &run->devices[d];

		fprintf(out, "  <testsuite name=\"%s ", device->caps.backend);
		put(device->caps.name, out);
		fprintf(out, "\" tests=\"%u\" failures=\"%u\" skipped=\"%u\">\n", run->suite.ncases,
			suite_count(run, device, NULL, SUITE_FAILED), suite_count(run, device, NULL, SUITE_SKIPPED));
		for (uint32_t i = 0; i < run->suite.ncases; i++)
			put_case(run, i, &device->results[i], out);
		fputs("  </testsuite>\n", out);
	}
	fputs("</testsuites>\n", out);
}
