/* SPDX-License-Identifier: Apache-2.0 */
/* Writes each record and print as a line of JSON to a file or a pipe, when the record or print arrives. */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
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

static void close_out(struct cli_stream *st)
{
	if (st->out && st->out != stdout)
		fclose(st->out);
	st->out = NULL;
}

static void put(struct cli_stream *st, struct json_object *line)
{
	if (!line)
		return;
	gpubpf_json_line(line, st->out); /* releases the line */
	if (!fflush(st->out) && !ferror(st->out))
		return;
	cli_error("%s: events are no longer written: %s", st->path, strerror(errno));
	close_out(st);
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

/* -- output of a program text -- */

struct cli_tee {
	struct cli_stream *stream;
	FILE *to, *out; /* out: the stream that writes to both */
	char *line;     /* [size] the start of a line that has not ended yet */
	size_t size;
};

static void put_line(struct cli_stream *st, const char *text, size_t size)
{
	struct json_object *o = json_object_new_object();

	json_object_object_add(o, "output", json_object_new_string_len(text, (int)size));
	put(st, o);
}

/* Keep the text until its line is complete. If memory is exhausted, the text is missing in the line. */
static void keep_text(struct cli_tee *tee, const char *text, size_t size)
{
	char *grown = realloc(tee->line, tee->size + size + 1);

	if (!grown)
		return;
	memcpy(grown + tee->size, text, size);
	tee->line = grown;
	tee->size += size;
}

static ssize_t tee_write(void *cookie, const char *text, size_t size)
{
	struct cli_tee *tee = cookie;
	const char *at = text, *end;

	for (; (end = memchr(at, '\n', size - (at - text))); at = end + 1) {
		keep_text(tee, at, end - at);
		if (tee->stream->out)
			put_line(tee->stream, tee->line, tee->size);
		tee->size = 0;
	}
	keep_text(tee, at, size - (at - text));
	return fwrite(text, 1, size, tee->to) == size && !fflush(tee->to) ? (ssize_t)size : 0;
}

FILE *cli_stream_tee(struct cli_stream *st, FILE *to)
{
	static const cookie_io_functions_t functions = { .write = tee_write };
	struct cli_tee *tee;

	if (!st->out)
		return to;
	tee = st->tee = calloc(1, sizeof(*tee));
	if (!tee)
		return NULL;
	*tee = (struct cli_tee){ .stream = st, .to = to, .out = fopencookie(tee, "w", functions) };
	if (tee->out)
		setvbuf(tee->out, NULL, _IOLBF, 0);
	return tee->out;
}

static void close_tee(struct cli_stream *st)
{
	struct cli_tee *tee = st->tee;

	if (!tee)
		return;
	st->tee = NULL;
	if (tee->out)
		fclose(tee->out);
	if (tee->size && st->out)
		put_line(st, tee->line, tee->size);
	free(tee->line);
	free(tee);
}

void cli_stream_close(struct cli_stream *st)
{
	close_tee(st);
	close_out(st);
}
