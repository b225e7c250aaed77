/* SPDX-License-Identifier: Apache-2.0 */
#include "cli.h"

#include <stdarg.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/text/nearest.h"

static void print_line(const char *fmt, va_list ap)
{
	char text[4608];

	vsnprintf(text, sizeof(text), fmt, ap);
	/* one write(2) per line, because the application may write to standard error at the same time */
	fprintf(stderr, "gpubpf: %s\n", text);
}

static struct cli_failure *stored_failure;

void cli_capture_error(struct cli_failure *failure)
{
	stored_failure = failure;
}

void cli_error(const char *fmt, ...)
{
	va_list ap;

	if (stored_failure && !stored_failure->text[0]) {
		va_start(ap, fmt);
		vsnprintf(stored_failure->text, sizeof(stored_failure->text), fmt, ap);
		va_end(ap);
	}
	va_start(ap, fmt);
	print_line(fmt, ap);
	va_end(ap);
}

void cli_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	print_line(fmt, ap);
	va_end(ap);
}

void cli_diag(const struct gpubpf_diag *diag)
{
	char text[4096];

	gpubpf_diag_format(diag, text, sizeof(text));
	cli_diag_as(diag, text);
}

void cli_diag_as(const struct gpubpf_diag *diag, const char *text)
{
	if (stored_failure && !stored_failure->text[0])
		stored_failure->diag = *diag;
	cli_error("%s", text);
}

const char *cli_nearest(const char *name, const char *const *names, size_t n)
{
	size_t least = strlen(name) / 3 + 2;
	const char *nearest = NULL;

	for (size_t i = 0; i < n; i++) {
		size_t d = gpubpf_distance(name, names[i]);

		if (d >= least)
			continue;
		least = d;
		nearest = names[i];
	}
	return nearest;
}
