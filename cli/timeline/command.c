/* SPDX-License-Identifier: Apache-2.0 */
/* gpubpf timeline: records calls of the GPU runtime and kernels into a trace that Perfetto shows. */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect.h"
#include "draw.h"
#include "flight.h"
#include "gpubpf/gpubpf.h"
#include "objects.h"
#include "ring.h"

struct recording {
	const char *path;
	struct timeline_sink sink;
	struct timeline_output out;
	struct timeline *t;
	struct collect *collect;
	struct drawing *drawing;    /* NULL: without --draw */
	bool has_stacks, is_flight; /* is_flight: --ring was passed */
	struct flight flight;
};

static int load(const struct cli_trace *trace, struct gpubpf_session *s)
{
	const struct recording *r = trace->ctx;

	return r->has_stacks ?
		       gpubpf_session__add_object_mem(s, "timeline", timeline_object_stacks, timeline_object_stacks_size) :
		       gpubpf_session__add_object_mem(s, "timeline", timeline_object_calls, timeline_object_calls_size);
}

static void take_event(struct cli_trace *trace, struct gpubpf_session *s, const struct gpubpf_event *event)
{
	struct recording *r = trace->ctx;

	collect_event(r->collect, s, event);
}

static void check_triggers(struct recording *r)
{
	const char *text = collect_long_span(r->collect);

	if (text)
		flight_write(&r->flight, text);
	if (flight_was_signalled())
		flight_write(&r->flight, "signal SIGUSR1 arrived");
}

static void tick(struct cli_trace *trace, struct gpubpf_session *s)
{
	struct recording *r = trace->ctx;

	collect_tick(r->collect, s);
	if (r->is_flight)
		check_triggers(r);
}

static void close_recording(struct recording *r)
{
	drawing_destroy(r->drawing);
	if (r->out.state)
		r->out.format->close(&r->out);
	collect_destroy(r->collect);
	timeline_destroy(r->t);
	timeline_names_destroy(r->out.names);
	if (r->sink.fd >= 0)
		close(r->sink.fd);
	ring_destroy(r->sink.ring);
	free(r);
}

/* Returns the format of --format, or the format that the file's name suggests. NULL: there is no such format. */
static const struct timeline_format *choose_format(const struct cli_args *args)
{
	const char *path = cli_str(args, OPT_OUTPUT, ""), *name = cli_str(args, OPT_FORMAT, NULL);
	const struct timeline_format *formats[] = { &timeline_perfetto, &timeline_chrome };
	size_t length = strlen(path);

	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t suffix = strlen(formats[i]->suffix);

		if (name ? !strcmp(name, formats[i]->name) :
			   length > suffix && !strcmp(path + length - suffix, formats[i]->suffix))
			return formats[i];
	}
	if (name)
		cli_error("--format %s is unknown; use perfetto or chrome", name);
	return name ? NULL : &timeline_perfetto;
}

static struct recording *open_recording(const struct cli_args *args, const struct timeline_format *format)
{
	struct recording *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->path = cli_str(args, OPT_OUTPUT, NULL);
	r->has_stacks = cli_has(args, OPT_STACKS);
	r->is_flight = cli_has(args, OPT_RING);
	r->sink.fd = r->is_flight ? -1 : open(r->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (r->sink.fd < 0 && !r->is_flight) {
		cli_error("%s: %s; choose another file with -o", r->path, strerror(errno));
		free(r);
		return NULL;
	}
	r->out = (struct timeline_output){ .format = format, .names = timeline_names_create(), .sink = &r->sink };
	if (r->out.names && !r->out.format->open(&r->out) && (r->t = timeline_create(&r->out)))
		r->collect = collect_create(r->t, r->out.names);
	if (r->collect && cli_has(args, OPT_DRAW))
		r->drawing = drawing_create(&r->out);
	if (r->collect && !r->drawing == !cli_has(args, OPT_DRAW))
		return r;
	cli_error("timeline: out of memory");
	close_recording(r);
	return NULL;
}

static void write_summary(const struct recording *r, FILE *out)
{
	const struct timeline_counts *t = timeline_counted(r->t);
	const struct collect_counts *c = collect_counted(r->collect);

	fprintf(out,
		"timeline: %s: %" PRIu64 " spans of %" PRIu32 " processes, %" PRIu32 " threads and %" PRIu32
		" queues; %" PRIu64 " kernels; %" PRIu64 " bytes\n",
		r->path, t->spans, c->processes, c->threads, c->queues, c->kernels, r->sink.bytes);
	if (c->lost)
		fprintf(out,
			"timeline: %" PRIu64 " records were lost, because their buffers were full; the trace shows when\n",
			c->lost);
	if (c->invalid)
		fprintf(out, "timeline: %" PRIu64 " records were invalid and are not in the trace\n", c->invalid);
	if (c->incomplete)
		fprintf(out,
			"timeline: %" PRIu64 " launches did not end before the recording; they are not in the trace\n",
			c->incomplete);
}

static void write_drawing(const struct recording *r, const char *path, FILE *out)
{
	int err = r->drawing ? drawing_write(r->drawing, path) : 0;

	if (err < 0)
		cli_error("%s: %s; choose another file with --draw", path, strerror(-err));
	else if (r->drawing)
		fprintf(out, "timeline: %s: picture\n", path);
}

/* The death of the application is a trigger. */
static void write_last(const struct cli_trace *trace, struct recording *r)
{
	bool killed = trace->ended && !trace->attach && WIFSIGNALED(trace->status);
	char why[80];

	check_triggers(r);
	snprintf(why, sizeof(why), "signal %d ended the application", killed ? WTERMSIG(trace->status) : 0);
	if (killed)
		flight_write(&r->flight, why);
	else if (!r->flight.nfiles)
		cli_note("no trigger occurred, so %s was not written", r->path);
}

/* Write the rest of the trace, and print the summary as the report. */
static int write_trace(struct cli_trace *trace, struct gpubpf_session *s, FILE *out)
{
	struct recording *r = trace->ctx;

	collect_finish(r->collect, s);
	if (r->is_flight) {
		write_last(trace, r);
	} else {
		r->out.format->close(&r->out);
		timeline_sink_flush(&r->sink);
	}
	if (r->sink.error) {
		cli_error("%s: %s; the trace is incomplete", r->path, strerror(-r->sink.error));
		return 0;
	}
	write_summary(r, out);
	write_drawing(r, cli_str(trace->args, OPT_DRAW, NULL), out);
	return 0;
}

static int check_arguments(const struct cli_args *args)
{
	bool attaches = cli_has(args, OPT_PID);

	if (!cli_has(args, OPT_OUTPUT)) {
		cli_error("timeline: no file for the trace; use -o FILE, as in gpubpf timeline -o trace.pftrace -- ./app");
		return CLI_USAGE;
	}
	if (attaches && args->nrest) {
		cli_error("timeline: -p PID and an application cannot be combined; remove one of them");
		return CLI_USAGE;
	}
	if (cli_has(args, OPT_OVER) && !cli_has(args, OPT_RING)) {
		cli_error("timeline: --over needs --ring SIZE, which keeps the newest bytes until a trigger");
		return CLI_USAGE;
	}
	if (!attaches && !args->nrest) {
		cli_error("timeline: no application; pass it after --, as in ... -- ./app, or use -p PID");
		return CLI_USAGE;
	}
	return CLI_OK;
}

static int begin_flight(struct recording *r, const struct cli_args *args)
{
	uint64_t over_ms = 0;
	int status;

	if (!r->out.format->restart) {
		cli_error("timeline: --ring keeps Perfetto's format only; remove --format");
		return CLI_USAGE;
	}
	r->flight = (struct flight){ .path = r->path, .t = r->t, .sink = &r->sink };
	status = flight_begin(&r->flight, cli_str(args, OPT_RING, ""));
	if (status != CLI_OK)
		return status;
	if (!cli_ms(args, OPT_OVER, &over_ms))
		return CLI_USAGE;
	if (cli_has(args, OPT_OVER))
		collect_set_limit(r->collect, over_ms * 1000000);
	timeline_restart(r->t);
	return CLI_OK;
}

int gpubpf_cmd_timeline(const struct cli_args *args)
{
	struct cli_trace trace = { .args = args, .text = write_trace, .load = load, .event = take_event, .tick = tick };
	const struct timeline_format *format = choose_format(args);
	int status = format ? check_arguments(args) : CLI_USAGE;
	struct recording *r;

	if (status != CLI_OK)
		return status;
	r = trace.ctx = open_recording(args, format);
	if (!r)
		return CLI_RUN_FAILED;
	status = r->is_flight ? begin_flight(r, args) : CLI_OK;
	if (status != CLI_OK) {
		close_recording(r);
		return status;
	}
	status = cli_has(args, OPT_PID) ? cli_attach_run(&trace) : cli_trace_run(&trace);
	if (status == CLI_OK && r->sink.error)
		status = CLI_RUN_FAILED;
	close_recording(r);
	return status;
}
