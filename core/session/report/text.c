/* SPDX-License-Identifier: Apache-2.0 */
/* The report as text: tables of kernels and devices, events, drops and costs. text_maps.c has the maps. */
#include "report.h"

#include "core/target.h"
#include "table.h"
#include "text_maps.h"

static void size_text(const uint64_t v[3], uint32_t dim, char *buf, size_t size)
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

static void show_kernels(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	bool mixed = gpubpf_report_has_several_runtimes(s);
	struct gpubpf_table t;

	if (mixed)
		gpubpf_table_init(&t, "KERNEL", "BACKEND", "LAUNCHES", "PROBED", "MISSED", "THREADS", "BLOCK",
				  "OUTCOME", NULL);
	else
		gpubpf_table_init(&t, "KERNEL", "LAUNCHES", "PROBED", "MISSED", "THREADS", "BLOCK", "OUTCOME", NULL);
	for (uint32_t i = 0; i < s->nstats; i++) {
		const struct gpubpf_kernel_stats *st = &s->stats[i];
		const char *reason = gpubpf_report_reason(s, st);
		char threads[64], block[64], registers[48] = "", by[48] = "";
		const char *route = gpubpf_target_has_alternative(st->route) && st->probed ? st->route : "";

		if (st->probed && st->compiled_by[0])
			snprintf(by, sizeof(by), " by %s", st->compiled_by);
		if (st->twin_registers)
			snprintf(registers, sizeof(registers), ", %u registers, %u before", st->twin_registers,
				 st->registers);
		if (st->outcome == GPUBPF_OUTCOME_SEEN && !reason[0])
			reason = "no program has a place in it";
		size_text(st->threads, st->dim, threads, sizeof(threads));
		size_text(st->block, st->dim, block, sizeof(block));
		gpubpf_table_cell(&t, "%s", gpubpf_kernel_display_name(s, st->id, opts->demangle));
		if (mixed)
			gpubpf_table_cell(&t, "%s", st->backend);
		gpubpf_table_cell(&t, "%llu", (unsigned long long)st->launches);
		gpubpf_table_cell(&t, "%llu", (unsigned long long)st->probed);
		gpubpf_table_cell(&t, "%llu", (unsigned long long)st->missed);
		gpubpf_table_cell(&t, "%s", threads);
		gpubpf_table_cell(&t, "%s", block);
		gpubpf_table_cell(&t, "%s%s%s%s%s%s%s", gpubpf_report_outcome(st), route[0] ? " as " : "", route, by,
				  registers, reason[0] ? ": " : "", reason);
	}
	fprintf(out, "kernels\n");
	if (s->nstats)
		gpubpf_table_print(&t, out);
	else
		fprintf(out, "  (none was launched)\n");
	gpubpf_table_finish(&t);
}

static void show_devices(const struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_table t;

	gpubpf_table_init(&t, "DEVICE", "PROCESS", "BACKEND", "NAME", NULL);
	for (uint32_t i = 0; i < s->nlisted; i++) {
		gpubpf_table_cell(&t, "%u", s->listed[i].ordinal);
		gpubpf_table_cell(&t, "%u", s->listed[i].process);
		gpubpf_table_cell(&t, "%s", s->listed[i].backend);
		gpubpf_table_cell(&t, "%s", s->listed[i].name);
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

	fprintf(out, "  %s: ", s->loaded->unit.maps[k->map].name);
	if (!type) {
		gpubpf_event_bytes(k->data, k->data ? k->size : 0, out);
		return;
	}
	fprintf(out, "%s\n", gpubpf_text_value(gpubpf_map_btf(s, k->map), &names, type, k->data, k->size));
}

/* Show the records of maps. Prints were shown while the programs ran. */
static void show_events(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	uint64_t shown = 0, records = 0;

	for (uint32_t m = 0; m < s->loaded->unit.nmaps; m++)
		records += s->map_records[m];
	for (uint64_t i = 0; i < s->nstored; i++) {
		if (s->stored[i].map < 0)
			continue;
		if (!shown++)
			fprintf(out, "events\n");
		show_event(s, &s->stored[i], out, opts);
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
		fprintf(out, "times: within %s of CLOCK_MONOTONIC, as measured\n", gpubpf_duration(error, text));
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
		fprintf(out, "; of these %llu look-ups by threads without room (--threads gives more)",
			(unsigned long long)threads);
	fprintf(out, "\n");
}

/* Print the time that the session spent on twins, then the time that programs waited, with its parts. */
static void show_cost(const struct gpubpf_session *s, FILE *out)
{
	struct gpubpf_cost_stats c = { .sz = sizeof(c) };
	char a[24], b[24], d[24], e[24], f[24];

	gpubpf_session__cost(s, &c);
	fprintf(out,
		"cost: load %s, verify %s, lower %s, vendor build %s, queue %s (%u twin%s, %u cached, %u ahead, %u refused)",
		gpubpf_duration(c.load_ns, a), gpubpf_duration(c.verify_ns, b), gpubpf_duration(c.lower_ns, d),
		gpubpf_duration(c.build_ns, e), gpubpf_duration(c.queue_ns, f), c.twins, c.twins == 1 ? "" : "s",
		c.cached, c.ahead, c.refused);
	fprintf(out, "; launch hook %s\n", c.hook_ns ? gpubpf_duration(c.hook_ns, a) : "was not called");
	fprintf(out, "programs waited %s:", gpubpf_duration(c.wait_ns, a));
	fprintf(out, " asking %s, for answers %s, loading twins %s,", gpubpf_duration(c.wait_ask_ns, b),
		gpubpf_duration(c.wait_answer_ns, d), gpubpf_duration(c.wait_load_ns, e));
	fprintf(out, " for other threads %s, else %s\n", gpubpf_duration(c.wait_others_ns, a),
		gpubpf_duration(c.wait_rest_ns, b));
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
	if (s->nlisted > 1)
		show_devices(s, out);
	show_drops(s, out);
	show_clock(s, out);
	show_cost(s, out);
	return 0;
}
