/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for the tables of processes and sessions. */
#include "processes.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <json-c/json.h>

#include "core/model/text/utf8.h"
#include "core/session/report/table.h"

#define DAY_SECONDS 86400

/* Returns the width of the terminal, or SIZE_MAX if standard output is no terminal. */
static size_t get_terminal_columns(void)
{
	struct winsize size;

	if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_col)
		return SIZE_MAX;
	return size.ws_col;
}

/* Returns the bytes of the line that fit into the columns. A character counts as one column. */
static size_t count_fitting_bytes(const char *line, size_t n, size_t columns)
{
	size_t at = 0;
	uint32_t code;

	for (; at < n && columns; columns--) {
		int bytes = gpubpf_utf8_next(line + at, n - at, &code);

		at += bytes > 0 ? bytes : 1;
	}
	return at;
}

void cli_print_clipped(const char *text, FILE *out)
{
	size_t columns = get_terminal_columns();

	while (*text) {
		size_t n = strcspn(text, "\n");

		fprintf(out, "%.*s\n", (int)count_fitting_bytes(text, n, columns), text);
		text += text[n] ? n + 1 : n;
	}
}

void cli_user_name(uid_t user, char *name, size_t size)
{
	const struct passwd *entry = user == (uid_t)-1 ? NULL : getpwuid(user);

	if (user == (uid_t)-1)
		snprintf(name, size, "-");
	else if (entry)
		snprintf(name, size, "%s", entry->pw_name);
	else
		snprintf(name, size, "%u", user);
}

void cli_short_time(time_t when, char *text, size_t size)
{
	time_t age = time(NULL) - when;
	struct tm tm;

	localtime_r(&when, &tm);
	strftime(text, size, age < DAY_SECONDS ? "%H:%M:%S" : "%Y-%m-%d", &tm);
}

void cli_add_time(struct json_object *o, const char *name, time_t when)
{
	char text[40];
	struct tm tm;

	gmtime_r(&when, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_object_object_add(o, name, json_object_new_string(text));
}

void cli_print_table(struct gpubpf_table *table)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out) {
		gpubpf_table_print(table, out);
		fclose(out);
		cli_print_clipped(text, stdout);
	}
	free(text);
}
