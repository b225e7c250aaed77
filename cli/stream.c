/* SPDX-License-Identifier: Apache-2.0 */
/* Writes each record and print as a line of JSON when it arrives, to a file or a pipe. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <json-c/json.h>

#include "core/session/report/report.h"

int cli_stream_open(struct cli_stream *st, const struct cli_args *args)
{
	int fd;

	st->path = cli_str(args, OPT_JSONL, NULL);
	st->strings = cli_has(args, OPT_JSON_STRINGS);
	if (!st->path)
		return CLI_OK;
	if (!strcmp(st->path, "-")) {
		st->out = stdout;
		return CLI_OK;
	}
	fd = open(st->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	st->out = fd < 0 ? NULL : cli_clean_open(fd);
	if (st->out)
		return CLI_OK;
	cli_error("%s: cannot write events: %s", st->path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return CLI_RUN_FAILED;
}

static void put(struct cli_stream *st, struct json_object *line)
{
	if (!line)
		return;
	gpubpf_json_line(line, st->out); /* releases the line */
	if (!fflush(st->out) && !ferror(st->out))
		return;
	cli_error("%s: events are no longer written: %s", st->path, strerror(errno));
	cli_stream_close(st);
}

void cli_stream_event(struct cli_stream *st, struct gpubpf_session *s, const struct gpubpf_event *event)
{
	struct gpubpf_report_opts opts = { .sz = sizeof(opts), .json = true, .json_strings = st->strings };

	if (st->out)
		put(st, gpubpf_report_event(s, event, &opts));
}

void cli_stream_print(struct cli_stream *st, const struct gpubpf_print_record *print)
{
	if (st->out)
		put(st, gpubpf_report_print(print));
}

void cli_stream_close(struct cli_stream *st)
{
	if (st->out && st->out != stdout)
		fclose(st->out);
	st->out = NULL;
}
