/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the members that describe the run to the session's JSON document (report.schema.json, gpubpf-run(1)). */
#include "cli.h"

#include <json-c/json.h>
#include <string.h>
#include <sys/wait.h>

#include <bpf/libbpf.h>

#include "core/session/report/report.h"

static void add_str(struct json_object *o, const char *name, const char *v)
{
	json_object_object_add(o, name, json_object_new_string(v));
}

static void add_time(struct json_object *o, const char *name, const struct timespec *when)
{
	char text[48], day[32];
	struct tm tm;

	gmtime_r(&when->tv_sec, &tm);
	strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text, sizeof(text), "%s.%03ldZ", day, when->tv_nsec / 1000000);
	add_str(o, name, text);
}

static struct json_object *make_refusal(const struct gpubpf_diag *d)
{
	struct json_object *o = json_object_new_object();
	char place[420];

	snprintf(place, sizeof(place), "%s%s%s", d->where, d->where[0] && d->file[0] ? ", " : "", d->file);
	if (d->file[0])
		snprintf(place + strlen(place), sizeof(place) - strlen(place), ":%u", d->line);
	add_str(o, "rule", gpubpf_error_name(d->code));
	add_str(o, "meaning", gpubpf_error_rule(d->code));
	add_str(o, "what", d->what);
	add_str(o, "place", place);
	add_str(o, "remedy", d->remedy[0] ? d->remedy : gpubpf_error_remedy(d->code));
	if (d->pc != GPUBPF_NOPC)
		json_object_object_add(o, "instruction", json_object_new_uint64(d->pc));
	if (d->source[0])
		add_str(o, "source", d->source);
	return o;
}

static struct json_object *make_failure(const struct cli_trace *trace)
{
	enum gpubpf_error code = trace->failed == CLI_USAGE ? GPUBPF_E_USAGE : GPUBPF_E_SYSTEM;
	struct json_object *o = json_object_new_object();

	add_str(o, "rule", gpubpf_error_name(code));
	add_str(o, "meaning", gpubpf_error_rule(code));
	add_str(o, "what", trace->failure.text);
	add_str(o, "place", "");
	add_str(o, "remedy", gpubpf_error_remedy(code));
	return o;
}

static struct json_object *make_errors(const struct cli_trace *trace, const struct gpubpf_session *s)
{
	struct json_object *list = json_object_new_array();

	if (s && gpubpf_session_refusal(s))
		json_object_array_add(list, make_refusal(gpubpf_session_refusal(s)));
	else if (trace->failure.diag.code != GPUBPF_OK)
		json_object_array_add(list, make_refusal(&trace->failure.diag));
	else if (trace->failure.text[0])
		json_object_array_add(list, make_failure(trace));
	return list;
}

static struct json_object *make_objects(const struct gpubpf_session *s)
{
	struct json_object *list = json_object_new_array();

	for (uint32_t i = 0; s && gpubpf_session_loaded(s) && i < gpubpf_session_loaded(s)->nobjects; i++) {
		struct json_object *o = json_object_new_object();

		add_str(o, "path", gpubpf_session_loaded(s)->objects[i].path);
		add_str(o, "sha256", gpubpf_session_loaded(s)->objects[i].sha256);
		json_object_array_add(list, o);
	}
	return list;
}

static struct json_object *make_command(const struct cli_args *args)
{
	struct json_object *list = json_object_new_array();

	for (int i = 0; i < args->nrest; i++)
		json_object_array_add(list, json_object_new_string(args->rest[i]));
	return list;
}

static struct json_object *make_versions(void)
{
	struct json_object *o = json_object_new_object();

	add_str(o, "gpubpf", gpubpf_version_string());
	add_str(o, "libbpf", libbpf_version_string());
	return o;
}

/*
 * Add "exit_status" and "signal". The status is null while the application runs or if a signal ended it; the signal is
 * null in all other cases.
 */
static void add_status(struct json_object *o, const struct cli_trace *trace)
{
	struct json_object *status = NULL, *by = NULL;

	if (trace->failed)
		status = json_object_new_int(trace->failed);
	else if (trace->ended && WIFSIGNALED(trace->status))
		by = json_object_new_int(WTERMSIG(trace->status));
	else if (trace->ended)
		status = json_object_new_int(WEXITSTATUS(trace->status));
	json_object_object_add(o, "exit_status", status);
	json_object_object_add(o, "signal", by);
}

struct json_object *cli_document(const struct cli_trace *trace, const struct gpubpf_session *s)
{
	struct json_object *o = json_object_new_object();
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	json_object_object_add(o, "schema", json_object_new_int(GPUBPF_REPORT_SCHEMA));
	json_object_object_add(o, "versions", make_versions());
	json_object_object_add(o, "command", make_command(trace->args));
	add_time(o, "start", &trace->started);
	add_time(o, "end", &now);
	add_status(o, trace);
	json_object_object_add(o, "errors", make_errors(trace, s));
	json_object_object_add(o, "objects", make_objects(s));
	return o;
}

void cli_failure_document(const struct cli_trace *trace, const struct gpubpf_session *s, FILE *out)
{
	struct json_object *document = cli_document(trace, s);

	json_object_object_add(document, "kernels", json_object_new_array());
	json_object_object_add(document, "maps", json_object_new_array());
	json_object_object_add(document, "notes", json_object_new_array());
	gpubpf_json_write(document, out);
}
