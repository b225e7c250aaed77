/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the report as text: tables of kernels and devices, events, drops and costs. text_maps.c writes the maps. */
#include "report.h"
#include "private.h"

#include <string.h>

#include "core/target.h"
#include "shared_reasons.h"
#include "table.h"
#include "text_maps.h"

#define MIN_WAIT_NS 100000000ull /* minimum wait that the report shows without -v */

static void format_size(const uint64_t v[3], uint32_t dim, char *buf, size_t size)
{
	if (!v[0])
		snprintf(buf, size, "-");
	else if (dim <= 1)
		snprintf(buf, size, "%llu", (unsigned long long)v[0]);
	else if (dim == 2)
		snprintf(buf, size, "%llux%llu", (unsigned long long)v[0], (unsigned long long)v[1]);
	else
		snprintf(buf, size, "%llux%llux%llu", (unsigned long long)v[0], (unsigned long long)v[1],
			 (unsigned long long)v[2]);
}

static const char *get_kernel_reason(struct gpubpf_session *s, const struct gpubpf_kernel_stats *st)
{
	const char *reason = gpubpf_report_reason(s, st);

	return st->outcome == GPUBPF_OUTCOME_SEEN && !reason[0] ? "no program has a place in it" : reason;
}

/*
 * Add the cell of the outcome, such as "probed (PTX)". With -v it also has the compiler and the registers. The reason
 * of missed launches follows.
 */
static void put_outcome(struct gpubpf_table *t, const struct gpubpf_kernel_stats *st, const char *reason, bool verbose)
{
	const struct gpubpf_target_info *target = st->probed ? gpubpf_target_find(st->route) : NULL;
	char code[48] = "", by[48] = "", registers[48] = "";

	if (!strcmp(st->route, GPUBPF_ROUTE_RUNTIME))
		snprintf(code, sizeof(code), " (by the runtime's times)");
	if (target)
		snprintf(code, sizeof(code), " (%s)", target->code);
	if (verbose && st->probed && st->compiled_by[0])
		snprintf(by, sizeof(by), " by %s", st->compiled_by);
	if (verbose && st->twin_registers)
		snprintf(registers, sizeof(registers), ", %u registers, %u before", st->twin_registers, st->registers);
	gpubpf_table_cell(t, "%s%s%s%s%s%s", gpubpf_report_outcome(st), code, by, registers, reason[0] ? ": " : "", reason);
}

static void put_kernel(struct gpubpf_table *t, struct gpubpf_session *s, const struct gpubpf_kernel_stats *st,
		       const char *reason, bool mixed, const struct gpubpf_report_opts *opts)
{
	char threads[64], block[64];

	format_size(st->threads, st->dim, threads, sizeof(threads));
	format_size(st->block, st->dim, block, sizeof(block));
	gpubpf_table_cell(t, "%s", gpubpf_kernel_display_name(s, st->id, opts->demangle));
	if (mixed)
		gpubpf_table_cell(t, "%s", st->backend);
	gpubpf_table_cell(t, "%llu", (unsigned long long)st->launches);
	gpubpf_table_cell(t, "%llu", (unsigned long long)st->probed);
	gpubpf_table_cell(t, "%llu", (unsigned long long)st->missed);
	gpubpf_table_cell(t, "%s", threads);
	gpubpf_table_cell(t, "%s", block);
	put_outcome(t, st, reason, opts->verbose);
}

static void show_kernels(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	bool mixed = gpubpf_report_has_several_runtimes(s);
	struct gpubpf_shared_reasons reasons;
	struct gpubpf_table t;

	if (mixed)
		gpubpf_table_init(&t, "KERNEL", "BACKEND", "LAUNCHES", "PROBED", "MISSED", "THREADS", "BLOCK",
				  "OUTCOME", NULL);
	else
		gpubpf_table_init(&t, "KERNEL", "LAUNCHES", "PROBED", "MISSED", "THREADS", "BLOCK", "OUTCOME", NULL);
	gpubpf_shared_reasons_init(&reasons, s, get_kernel_reason);
	for (uint32_t i = 0; i < s->report->nstats; i++)
		put_kernel(&t, s, &s->report->stats[i],
			   gpubpf_shared_reasons_has(&reasons, i) ? "" : get_kernel_reason(s, &s->report->stats[i]),
			   mixed, opts);
	fprintf(out, "kernels\n");
	if (s->report->nstats)
		gpubpf_table_print(&t, out);
	else
		fprintf(out, "  (none was launched)\n");
	gpubpf_shared_reasons_print(&reasons, s, opts->demangle, out);
	gpubpf_shared_reasons_finish(&reasons);
	gpubpf_table_finish(&t);
}

static void show_devices(const struct gpubpf_session *s, FILE *out)
{
	const struct gpubpf_listed_device *d;
	struct gpubpf_table t;

	gpubpf_table_init(&t, "DEVICE", "PROCESS", "BACKEND", "NAME", NULL);
	for (uint32_t i = 0; (d = gpubpf_session_listed_device(s, i)); i++) {
		gpubpf_table_cell(&t, "%u", d->ordinal);
		gpubpf_table_cell(&t, "%u", d->process);
		gpubpf_table_cell(&t, "%s", d->backend);
		gpubpf_table_cell(&t, "%s", d->name);
	}
	fprintf(out, "devices\n");
	gpubpf_table_print(&t, out);
	gpubpf_table_finish(&t);
}

static void show_event(struct gpubpf_session *s, const struct gpubpf_stored_record *k, FILE *out,
		       const struct gpubpf_report_opts *opts)
{
	struct gpubpf_typed_names names = gpubpf_session_names(s, opts);
	uint32_t type = k->data ? gpubpf_event_type(s, k->map, k->size) : 0;

	fprintf(out, "  %s: ", gpubpf_session_unit(s)->maps[k->map].name);
	if (!type) {
		gpubpf_event_bytes(k->data, k->data ? k->size : 0, out);
		return;
	}
	fprintf(out, "%s\n", gpubpf_text_value(gpubpf_map_btf(s, k->map), &names, type, k->data, k->size));
}

/* Show the records of rings. Printed texts were already shown while the application ran. */
static void show_events(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	const struct gpubpf_stored_record *record;
	uint64_t shown = 0, records = 0;

	for (uint32_t m = 0; m < gpubpf_session_unit(s)->nmaps; m++)
		records += gpubpf_map_records(s, m);
	for (uint64_t i = 0; (record = gpubpf_stored_record_at(s, i)); i++) {
		if (record->map < 0)
			continue;
		if (!shown++)
			fprintf(out, "events\n");
		show_event(s, record, out, opts);
	}
	if (records > shown)
		fprintf(out, "%s  ... and %llu more records (--events raises the limit)\n", shown ? "" : "events\n",
			(unsigned long long)(records - shown));
}

static void show_clock(const struct gpubpf_session *s, FILE *out)
{
	uint64_t error = gpubpf_report_clock_error(s);
	char text[24];

	if (error)
		fprintf(out, "times: within %s of CLOCK_MONOTONIC (measured)\n", gpubpf_duration(error, text));
}

static void show_drops(const struct gpubpf_session *s, FILE *out)
{
	uint64_t prints = gpubpf_report_print_drops(s), threads = gpubpf_report_thread_drops(s);
	const struct gpubpf_map *map = NULL;

	fprintf(out, "dropped: %llu", (unsigned long long)gpubpf_report_drops(s));
	while ((map = gpubpf_session__next_map(s, map)))
		if (gpubpf_map__drops(map))
			fprintf(out, ", %s %llu", map->name, (unsigned long long)gpubpf_map__drops(map));
	if (prints)
		fprintf(out, ", prints %llu", (unsigned long long)prints);
	if (threads)
		fprintf(out, "; %llu of these are look-ups by threads beyond the limit (raise --threads)",
			(unsigned long long)threads);
	fprintf(out, "\n");
}

/* Print how long the application waited, if the wait is long enough for a user to notice. */
static void show_wait(const struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_cost_stats c = { .sz = sizeof(c) };
	char text[24];

	gpubpf_session__cost(s, &c);
	if (c.wait_ns >= MIN_WAIT_NS)
		fprintf(out, "the program waited %s for twins (probed copies) of its kernels\n",
			gpubpf_duration(c.wait_ns, text));
}

/*
 * Print the time that the session spent on twins, and the time that applications waited for twins, split into its
 * parts.
 */
static void show_cost(const struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_cost_stats c = { .sz = sizeof(c) };
	char a[24], b[24], d[24], e[24], f[24];

	gpubpf_session__cost(s, &c);
	fprintf(out, "twins: %u built, %u from the cache, %u built in advance, %u refused\n", c.twins, c.cached,
		c.ahead, c.refused);
	fprintf(out, "session: load %s, verify %s, lower %s, vendor's compiler %s, queue %s\n",
		gpubpf_duration(c.load_ns, a), gpubpf_duration(c.verify_ns, b), gpubpf_duration(c.lower_ns, d),
		gpubpf_duration(c.build_ns, e), gpubpf_duration(c.queue_ns, f));
	fprintf(out, "programs waited %s:", gpubpf_duration(c.wait_ns, a));
	fprintf(out, " sending images %s, for answers %s, loading twins %s,", gpubpf_duration(c.wait_ask_ns, b),
		gpubpf_duration(c.wait_answer_ns, d), gpubpf_duration(c.wait_load_ns, e));
	fprintf(out, " for other threads %s, other %s\n", gpubpf_duration(c.wait_others_ns, a),
		gpubpf_duration(c.wait_rest_ns, b));
	if (c.hook_ns)
		fprintf(out, "launch hook: %s per launch\n", gpubpf_duration(c.hook_ns, a));
}

int gpubpf_report_text(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	int err;

	if (!opts->maps_only)
		show_kernels(s, out, opts);
	err = gpubpf_text_maps(s, out, opts);
	if (opts->maps_only || err < 0)
		return err;
	show_events(s, out, opts);
	if (gpubpf_session_listed_device(s, 1))
		show_devices(s, out);
	show_drops(s, out);
	show_clock(s, out);
	if (opts->verbose)
		show_cost(s, out);
	else
		show_wait(s, out);
	return 0;
}
