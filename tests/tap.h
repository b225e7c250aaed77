/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Test Anything Protocol for gpubpf's C tests: each call of ok() is one test. done() prints the plan and returns
 * main's exit status.
 */
#ifndef GPUBPF_TESTS_TAP_H
#define GPUBPF_TESTS_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused))
static bool ok(bool cond, const char *name, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, name);
	vsnprintf(text, sizeof(text), name, ap);
	va_end(ap);
	for (char *c = text; *c; c++)
		if (*c == '\n' || *c == '#')
			*c = *c == '#' ? '%' : ' '; /* a test must be one line, and # would start a directive */
	printf("%sok %d - %s\n", cond ? "" : "not ", ++tap_count, text);
	fflush(stdout);
	tap_failed += !cond;
	return cond;
}

/* Report a test that cannot run here, with the reason. */
__attribute__((format(printf, 2, 3), unused))
static void skip(const char *name, const char *reason, ...)
{
	va_list ap;

	va_start(ap, reason);
	printf("ok %d - %s # SKIP ", ++tap_count, name);
	vprintf(reason, ap);
	putchar('\n');
	va_end(ap);
	fflush(stdout);
}

/* Print a line that explains a failure. */
__attribute__((format(printf, 1, 2), unused))
static void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	printf("# ");
	vprintf(fmt, ap);
	putchar('\n');
	va_end(ap);
}

/*
 * Record that programs at a place worked with a target. If all tests of the process pass, done() writes a file for each
 * such place to the folder GPUBPF_TEST_RAN. SUPPORT.md's table is made from these files.
 */
static char tap_ran[64][40];

__attribute__((unused))
static void ran(const char *target, const char *place)
{
	for (size_t i = 0; i < sizeof(tap_ran) / sizeof(*tap_ran); i++) {
		if (!tap_ran[i][0])
			snprintf(tap_ran[i], sizeof(tap_ran[i]), "%s %s", target, place);
		if (!strncmp(tap_ran[i], target, strlen(target)) && !strcmp(tap_ran[i] + strlen(target) + 1, place))
			return;
	}
}

static void tap_report_ran(void)
{
	const char *folder = getenv("GPUBPF_TEST_RAN");
	char path[4096];
	FILE *f;

	if (!folder || tap_failed)
		return;
	mkdir(folder, 0777);
	for (size_t i = 0; i < sizeof(tap_ran) / sizeof(*tap_ran) && tap_ran[i][0]; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, tap_ran[i]);
		f = fopen(path, "w");
		if (f)
			fclose(f);
	}
}

__attribute__((unused))
static int done(void)
{
	tap_report_ran();
	printf("1..%d\n", tap_count);
	return tap_failed != 0;
}

#endif
