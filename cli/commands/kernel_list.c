/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gpubpf kernel list: runs an application, or attaches to a running process. Lists the kernels that it launches, and
 * whether each can be probed.
 */
#include "cli/cli.h"

#include <errno.h>
#include <json-c/json.h>
#include <string.h>

#include "core/session/twins/called_functions.h"
#include "core/session/report/report.h"
#include "core/session/report/shared_reasons.h"
#include "core/session/report/table.h"
#include "core/target.h"

static void put_size(struct gpubpf_table *t, const uint64_t v[3], uint32_t dim)
{
	if (!v[0])
		gpubpf_table_cell(t, "-");
	else if (dim <= 1)
		gpubpf_table_cell(t, "%llu", (unsigned long long)v[0]);
	else if (dim == 2)
		gpubpf_table_cell(t, "%llux%llu", (unsigned long long)v[0], (unsigned long long)v[1]);
	else
		gpubpf_table_cell(t, "%llux%llux%llu", (unsigned long long)v[0], (unsigned long long)v[1],
				  (unsigned long long)v[2]);
}

/* List the functions that kernels call, which gpu/call/ programs can name. */
static void write_functions(struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_kernel_stats st = { .sz = sizeof(st) };
	struct gpubpf_table t;
	char name[256];

	gpubpf_table_init(&t, "FUNCTION", "CALLED BY", NULL);
	for (size_t i = 0; !gpubpf_session__kernel(s, i, &st); i++)
		for (const char *at = gpubpf_report_functions(s, st.name);
		     (at = gpubpf_calls_next(at, name, sizeof(name)));) {
			gpubpf_table_cell(&t, "%s", name);
			gpubpf_table_cell(&t, "%s", st.name);
		}
	if (gpubpf_table_rows(&t))
		gpubpf_table_print(&t, out);
	gpubpf_table_finish(&t);
}

/* Print which operands programs can read, for example "arg, result". */
static void put_operands(struct gpubpf_table *t, uint32_t operands)
{
	char text[200] = "";

	for (uint32_t i = 0; i < GPUBPF_NOPERANDS; i++)
		if (operands >> i & 1)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", text[0] ? ", " : "",
				 gpubpf_operand_name(i));
	gpubpf_table_cell(t, "%s", text);
}

static void put_place(struct gpubpf_table *t, const struct gpubpf_place *place, const char *kernel)
{
	const struct gpubpf_place_kind *kind = gpubpf_place_kind(place->kind);
	bool of_kernel = kind->where != GPUBPF_WHERE_FUNCTION;

	gpubpf_table_cell(t, "gpu/%s/", kind->name);
	gpubpf_table_cell(t, "%s", of_kernel ? kernel : place->function);
	gpubpf_table_cell(t, "%s", of_kernel && place->function[0] ? place->function : kernel);
	gpubpf_table_cell(t, "%u", place->id);
	gpubpf_table_cell(t, "%s", place->name[0] ? place->name : "-");
	if (place->line)
		gpubpf_table_cell(t, "%u", place->line);
	else
		gpubpf_table_cell(t, "-");
	if (place->free)
		gpubpf_table_cell(t, "%u", place->free);
	else
		gpubpf_table_cell(t, "-");
	put_operands(t, place->operands);
}

static void write_places(struct gpubpf_session *s, FILE *out, bool demangle)
{
	struct gpubpf_kernel_stats st = { .sz = sizeof(st) };
	struct gpubpf_table t;
	uint32_t n;

	gpubpf_table_init(&t, "PLACE", "OF", "IN", "ID", "NAME", "LINE", "FREE", "GIVES", NULL);
	for (size_t i = 0; !gpubpf_session__kernel(s, i, &st); i++) {
		const struct gpubpf_place *places = gpubpf_report_places(s, st.name, &n);

		for (uint32_t k = 0; k < n; k++)
			put_place(&t, &places[k], gpubpf_kernel_display_name(s, st.id, demangle));
	}
	if (gpubpf_table_rows(&t))
		gpubpf_table_print(&t, out);
	gpubpf_table_finish(&t);
}

static void write_signatures(struct gpubpf_session *s, FILE *out, bool demangle)
{
	struct gpubpf_kernel_stats st = { .sz = sizeof(st) };

	fprintf(out, "signatures\n");
	for (size_t i = 0; !gpubpf_session__kernel(s, i, &st); i++) {
		const struct gpubpf_signature *signature = gpubpf_kernel_signature(s, st.id);
		const char *name = gpubpf_kernel_display_name(s, st.id, demangle);

		fprintf(out, "  ");
		if (signature)
			gpubpf_signature_print(signature, name, out);
		else
			fprintf(out, "%s: not known", name);
		fprintf(out, "\n");
	}
}

/* report options that select the map of the ready probe kerneltime */
static const struct gpubpf_report_opts times = { .sz = sizeof(times), .maps_only = true, .map = "kerneltime" };

static int write_times(struct gpubpf_session *s, FILE *out, bool demangle)
{
	struct gpubpf_report_opts opts = times;

	opts.demangle = demangle;
	return gpubpf_session__report(s, out, &opts);
}

/*
 * Return why the kernel cannot be probed. If it can be probed, return why a preferred form of its code is not used, or
 * "".
 */
static const char *find_reason(struct gpubpf_session *s, const struct gpubpf_kernel_stats *st)
{
	const char *reason = gpubpf_report_reason(s, st), *instead;

	if (reason[0])
		return reason;
	gpubpf_report_route(s, st->name, &instead);
	return instead;
}

/*
 * Print the form of code that will be probed, and the reason. If `shared` is set, omit the reason: a line below the
 * table states it once for all kernels.
 */
static void put_reason(struct gpubpf_table *t, struct gpubpf_session *s, const struct gpubpf_kernel_stats *st, bool shared)
{
	const char *reason = shared ? "" : find_reason(s, st), *instead,
		   *route = gpubpf_report_route(s, st->name, &instead);

	if (gpubpf_report_reason(s, st)[0] || !route[0])
		gpubpf_table_cell(t, "%s", reason);
	else
		gpubpf_table_cell(t, "as %s%s%s", gpubpf_target_find(route)->code, reason[0] ? ": " : "", reason);
}

static void write_kernels(struct gpubpf_session *s, FILE *out, bool demangle)
{
	struct gpubpf_kernel_stats st = { .sz = sizeof(st) };
	struct gpubpf_shared_reasons reasons = { 0 };
	struct gpubpf_table t;

	gpubpf_table_init(&t, "KERNEL", "LAUNCHES", "THREADS", "BLOCK", "PROBE", "REASON", NULL);
	for (size_t i = 0; !gpubpf_session__kernel(s, i, &st); i++) {
		const char *reason = gpubpf_report_reason(s, gpubpf_kernel_stats_at(s, i));

		if (!i)
			gpubpf_shared_reasons_init(&reasons, s, find_reason);
		gpubpf_table_cell(&t, "%s", gpubpf_kernel_display_name(s, st.id, demangle));
		gpubpf_table_cell(&t, "%llu", (unsigned long long)st.launches);
		put_size(&t, st.threads, st.dim);
		put_size(&t, st.block, st.dim);
		gpubpf_table_cell(&t, "%s", !reason[0] ? "yes" : gpubpf_report_entry_only(s, st.name) ? "entry" : "no");
		put_reason(&t, s, gpubpf_kernel_stats_at(s, i), gpubpf_shared_reasons_has(&reasons, i));
	}
	if (gpubpf_table_rows(&t))
		gpubpf_table_print(&t, out);
	gpubpf_shared_reasons_print(&reasons, s, demangle, out);
	gpubpf_shared_reasons_finish(&reasons);
	gpubpf_table_finish(&t);
}

static int write_text(struct cli_trace *trace, struct gpubpf_session *s, FILE *out)
{
	bool demangle = cli_has(trace->args, OPT_DEMANGLE);

	write_kernels(s, out, demangle);
	if (cli_has(trace->args, OPT_TIMES) && write_times(s, out, demangle) < 0)
		return -EIO;
	write_functions(s, out);
	if (cli_has(trace->args, OPT_SIGNATURES))
		write_signatures(s, out, demangle);
	if (cli_has(trace->args, OPT_PLACES))
		write_places(s, out, demangle);
	return fflush(out) ? -EIO : 0;
}

static struct json_object *make_functions_json(struct gpubpf_session *s, const char *kernel)
{
	const char *at = gpubpf_report_functions(s, kernel);
	struct json_object *a = json_object_new_array();
	char name[256];

	while ((at = gpubpf_calls_next(at, name, sizeof(name))))
		json_object_array_add(a, json_object_new_string(name));
	return a;
}

/* Return the kernel's parameters as JSON; null if they are unknown. */
static struct json_object *make_parameters_json(struct gpubpf_session *s, uint64_t id)
{
	const struct gpubpf_signature *signature = gpubpf_kernel_signature(s, id);
	struct json_object *a = signature ? json_object_new_array() : NULL;
	const struct gpubpf_typed_param *p;
	uint32_t n;

	p = gpubpf_signature_params(signature, &n);
	for (uint32_t i = 0; i < n; i++) {
		struct json_object *o = json_object_new_object();

		json_object_object_add(o, "name", json_object_new_string(p[i].name));
		json_object_object_add(o, "type", json_object_new_string(p[i].type));
		json_object_object_add(o, "size", json_object_new_uint64(p[i].size));
		json_object_array_add(a, o);
	}
	return a;
}

static struct json_object *make_places_json(struct gpubpf_session *s, const char *kernel)
{
	struct json_object *a = json_object_new_array();
	const struct gpubpf_place *place;
	uint32_t n;

	place = gpubpf_report_places(s, kernel, &n);
	for (; n; n--, place++) {
		struct json_object *o = json_object_new_object(), *gives = json_object_new_array();

		for (uint32_t k = 0; k < GPUBPF_NOPERANDS; k++)
			if (place->operands >> k & 1)
				json_object_array_add(gives, json_object_new_string(gpubpf_operand_name(k)));
		json_object_object_add(o, "place", json_object_new_string(gpubpf_place_kind(place->kind)->name));
		json_object_object_add(o, "function", json_object_new_string(place->function));
		json_object_object_add(o, "id", json_object_new_uint64(place->id));
		if (gpubpf_place_has_name(place->kind))
			json_object_object_add(o, "name", json_object_new_string(place->name));
		json_object_object_add(o, "line", json_object_new_uint64(place->line));
		json_object_object_add(o, "free", json_object_new_uint64(place->free));
		json_object_object_add(o, "gives", gives);
		json_object_array_add(a, o);
	}
	return a;
}

static struct json_object *make_triple_json(const uint64_t v[3])
{
	struct json_object *a = json_object_new_array();

	for (int i = 0; i < 3; i++)
		json_object_array_add(a, json_object_new_uint64(v[i]));
	return a;
}

static int add_json(struct cli_trace *trace, struct gpubpf_session *s, struct json_object *document)
{
	struct gpubpf_kernel_stats st = { .sz = sizeof(st) };
	struct json_object *list = json_object_new_array(), *notes = json_object_new_array();

	for (size_t i = 0; !gpubpf_session__kernel(s, i, &st); i++) {
		struct json_object *o = json_object_new_object();
		const char *reason = gpubpf_report_reason(s, gpubpf_kernel_stats_at(s, i));
		bool entry_only = gpubpf_report_entry_only(s, st.name);
		const char *instead, *route = gpubpf_report_route(s, st.name, &instead);

		json_object_object_add(o, "id", json_object_new_uint64(st.id));
		json_object_object_add(o, "name", json_object_new_string(gpubpf_kernel_full_name(s, st.id)));
		json_object_object_add(o, "launches", json_object_new_uint64(st.launches));
		json_object_object_add(o, "dim", json_object_new_uint64(st.dim));
		json_object_object_add(o, "grid", make_triple_json(st.grid));
		json_object_object_add(o, "threads", make_triple_json(st.threads));
		json_object_object_add(o, "block", make_triple_json(st.block));
		json_object_object_add(o, "probe", json_object_new_boolean(!reason[0] || entry_only));
		json_object_object_add(o, "entry_only", json_object_new_boolean(entry_only));
		json_object_object_add(o, "reason", json_object_new_string(reason));
		json_object_object_add(o, "route", json_object_new_string(route));
		json_object_object_add(o, "instead", json_object_new_string(instead));
		json_object_object_add(o, "functions", make_functions_json(s, st.name));
		if (cli_has(trace->args, OPT_SIGNATURES))
			json_object_object_add(o, "parameters", make_parameters_json(s, st.id));
		if (cli_has(trace->args, OPT_PLACES))
			json_object_object_add(o, "places", make_places_json(s, st.name));
		json_object_array_add(list, o);
	}
	for (uint32_t i = 0; gpubpf_session_note_at(s, i); i++)
		json_object_array_add(notes, json_object_new_string(gpubpf_session_note_at(s, i)));
	json_object_object_add(document, "kernels", list);
	json_object_object_add(document, "notes", notes);
	return cli_has(trace->args, OPT_TIMES) ? gpubpf_report_document(s, document, &times) : 0;
}

int gpubpf_cmd_kernel_list(const struct cli_args *args)
{
	struct cli_trace trace = { .args = args, .inspect = true, .text = write_text, .json = add_json };
	const char *running = cli_str(args, OPT_OF_PID, NULL);
	pid_t pid[2] = { 0 };

	if (running && !cli_pid(running, &pid[0])) {
		cli_error("--pid %s: must be the id of one process, as in --pid 1234", running);
		return CLI_USAGE;
	}
	if (!args->nrest == !running) {
		cli_error("kernel list: %s", running ? "--pid and a program exclude each other; use one of them" :
						       "no program; pass it after --, as in gpubpf kernel list -- ./app, "
						       "or use -p PID for a running process");
		return CLI_USAGE;
	}
	if (running)
		trace.attach = pid;
	if (cli_has(args, OPT_TIMES) && cli_has(args, OPT_PLACES)) {
		cli_error("kernel list: --times probes kernels, and --places only inspects them; use one of them");
		return CLI_USAGE;
	}
	if (cli_has(args, OPT_TIMES)) {
		trace.inspect = false;
		trace.probe = "kerneltime";
	}
	return cli_trace_run(&trace);
}
