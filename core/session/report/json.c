/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the report as JSON; gpubpf-run(1) documents its members. */
#include "report.h"
#include "private.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "launch_times.h"
#include "missed.h"
#include "rows.h"
#include "core/session/stacks/stacks.h"
#include "table.h"

#define SPARSE_FROM 256        /* arrays with more entries are listed without entries of value 0 */
#define MAX_COPIES 4096        /* maximum listed values per key, one per multiprocessor or thread */

struct listing {
	struct gpubpf_session *s;
	uint32_t map;
	const struct btf *btf;
	struct gpubpf_typed_names names;
	struct json_object *entries;
	bool is_hist;
	struct gpubpf_hist_shape shape;
	struct gpubpf_hists hists;
	uint64_t slot[GPUBPF_HIST_SLOTS];
};

static void add_u64(struct json_object *o, const char *name, uint64_t v)
{
	json_object_object_add(o, name, json_object_new_uint64(v));
}

static void add_str(struct json_object *o, const char *name, const char *v)
{
	json_object_object_add(o, name, json_object_new_string(v));
}

static struct json_object *make_json_triple(const uint64_t v[3])
{
	struct json_object *a = json_object_new_array_ext(3);

	for (int i = 0; i < 3; i++)
		json_object_array_add(a, json_object_new_uint64(v[i]));
	return a;
}

/* -- maps -- */

static void add_hist(const struct listing *l, const struct gpubpf_hist_shape *shape, struct json_object *o)
{
	json_object_object_add(o, "histogram", gpubpf_hist_json(shape, l->slot, l->names.wide_as_text));
	json_object_object_add(o, "percentiles", gpubpf_percentiles_json(shape, l->slot, l->names.wide_as_text));
}

static struct json_object *make_typed_json(const struct listing *l, uint32_t type, const void *data, size_t size)
{
	return gpubpf_typed_json(l->btf, type, &l->names, data, size);
}

static struct json_object *list_key(const struct listing *l, const struct gpubpf_entry *entry)
{
	const struct gpubpf_map *map = &gpubpf_session_unit(l->s)->maps[l->map];
	uint32_t index;

	if ((map->type->flags & GPUBPF_MAP_U32KEY) && !map->btf_key) {
		memcpy(&index, entry->key, sizeof(index));
		return json_object_new_uint64(index);
	}
	return make_typed_json(l, map->btf_key, entry->key, map->key_size);
}

/*
 * List the non-zero values of the entry, one per multiprocessor or thread. If they are integers, also list their sum.
 */
static void list_copies(const struct listing *l, const struct gpubpf_entry *entry, struct json_object *o)
{
	const struct gpubpf_map *map = &gpubpf_session_unit(l->s)->maps[l->map];
	struct json_object *values = json_object_new_array();
	uint64_t sum = 0, omitted = 0;
	bool is_signed, ints = gpubpf_btf_is_int(l->btf, map->btf_value, map->value_size, &is_signed) &&
			       !gpubpf_btf_has_meaning(l->btf, map->btf_value);

	for (uint32_t i = 0; i < entry->copies; i++) {
		struct gpubpf_entry one = { .value = (const uint8_t *)entry->value + i * entry->stride,
					    .value_size = map->value_size };
		struct json_object *v;

		if (gpubpf_entry_is_zero(&one))
			continue;
		if (ints)
			sum += gpubpf_int_read(one.value, map->value_size, is_signed);
		if (json_object_array_length(values) == MAX_COPIES) {
			omitted++;
			continue;
		}
		v = json_object_new_object();
		add_u64(v, "copy", i);
		json_object_object_add(v, "value", make_typed_json(l, map->btf_value, one.value, one.value_size));
		json_object_array_add(values, v);
	}
	if (ints)
		json_object_object_add(o, "value", gpubpf_json_int(sum, is_signed, l->names.wide_as_text));
	json_object_object_add(o, "values", values);
	add_u64(o, "copies", entry->copies);
	if (omitted)
		add_u64(o, "values_omitted", omitted);
}

static int list_entry(void *arg, const struct gpubpf_entry *entry)
{
	struct listing *l = arg;
	const struct gpubpf_map *map = &gpubpf_session_unit(l->s)->maps[l->map];
	struct json_object *o;

	if (l->is_hist)
		gpubpf_hist_add_entry(&l->shape, entry, l->slot);
	if ((map->type->flags & GPUBPF_MAP_U32KEY) && map->max_entries > SPARSE_FROM && gpubpf_entry_is_zero(entry))
		return 0;
	o = json_object_new_object();
	if (map->key_size)
		json_object_object_add(o, "key", list_key(l, entry));
	if (map->type->flags & GPUBPF_MAP_COPIES)
		list_copies(l, entry, o);
	else if (gpubpf_map_holds_objects(map))
		add_str(o, "value", gpubpf_entry_object_name(map, entry->value));
	else if (map->type->flags & GPUBPF_MAP_STACKS)
		json_object_object_add(o, "value", gpubpf_stack_json(l->s, gpubpf_stack_by_key(map, entry->key)));
	else
		json_object_object_add(o, "value", make_typed_json(l, map->btf_value, entry->value, map->value_size));
	if (l->hists.n == 1) {
		memset(l->slot, 0, sizeof(l->slot));
		gpubpf_hist_add_copies(&l->hists.shape[0], entry, l->slot);
		add_hist(l, &l->hists.shape[0], o);
	}
	if (entry->arena >= 0) {
		add_u64(o, "process", gpubpf_arena_at(l->s, entry->arena)->process);
		add_u64(o, "device", gpubpf_arena_at(l->s, entry->arena)->device);
		add_str(o, "backend", gpubpf_arena_backend(l->s, (uint32_t)entry->arena));
	}
	json_object_array_add(l->entries, o);
	return 0;
}

static int list_variables(void *arg, const struct gpubpf_entry *entry)
{
	struct listing *l = arg;
	const struct gpubpf_map *map = &gpubpf_session_unit(l->s)->maps[l->map];
	struct gpubpf_variable var;

	for (uint32_t i = 0; gpubpf_variable_at(l->btf, map, i, &var); i++) {
		struct json_object *o = json_object_new_object();

		add_str(o, "key", var.name);
		json_object_object_add(o, "value",
				       make_typed_json(l, var.type, (const char *)entry->value + var.offset, var.size));
		json_object_array_add(l->entries, o);
	}
	return 0;
}

/* List, for each device, the kind of memory that the map is in, and the number of its bytes there. */
static struct json_object *list_places(struct gpubpf_session *s, uint32_t index)
{
	struct json_object *places = json_object_new_array();
	struct gpubpf_map_memory p;

	for (uint32_t at = 0; gpubpf_map_memory_next(s, index, &at, &p);) {
		struct json_object *o = json_object_new_object();

		add_str(o, "name", p.device);
		if (p.backend[0]) {
			add_u64(o, "process", p.process);
			add_u64(o, "device", p.ordinal);
			add_str(o, "backend", p.backend);
		}
		add_str(o, "memory", gpubpf_placement_name(p.where));
		json_object_object_add(o, "live", json_object_new_boolean(p.live));
		add_u64(o, "bytes", p.bytes);
		json_object_array_add(places, o);
	}
	return places;
}

/*
 * Add the factor between the times of probed and unprobed launches. The factor is null if no unprobed launch was
 * measured.
 */
static void add_factor(const struct gpubpf_session *s, struct json_object *o)
{
	uint64_t unprobed;
	double factor = gpubpf_kernel_table_factor(s, &unprobed);

	json_object_object_add(o, "unprobed_factor", factor > 0 ? json_object_new_double(factor) : NULL);
	if (factor > 0)
		json_object_object_add(o, "unprobed_launches", json_object_new_uint64(unprobed));
}

/* Add how many launches the runtime measured for a map, and how many it did not report. */
static void add_measured(const struct gpubpf_session *s, struct json_object *o)
{
	uint64_t lost, measured = gpubpf_launch_times_count(s, &lost);

	json_object_object_add(o, "runtime_launches", json_object_new_uint64(measured));
	json_object_object_add(o, "lost_launches", json_object_new_uint64(lost));
}

/* Add the number of used entries, for a list of maps without entries. */
static void add_used(const struct gpubpf_session *s, uint32_t index, struct json_object *o)
{
	int64_t used = gpubpf_entries_count(s, index);

	if (used >= 0)
		add_u64(o, "used_entries", (uint64_t)used);
}

static struct json_object *list_map(struct gpubpf_session *s, uint32_t index, const struct gpubpf_report_opts *opts)
{
	const struct gpubpf_map *map = &gpubpf_session_unit(s)->maps[index];
	struct json_object *o = json_object_new_object();
	struct listing l = {
		.s = s,
		.map = index,
		.btf = gpubpf_map_btf(s, index),
		.names = gpubpf_session_names(s, opts),
		.entries = json_object_new_array(),
	};
	struct gpubpf_rows rows;

	l.is_hist = gpubpf_hist_map(s, index, &l.shape);
	gpubpf_map_hists(s, index, &l.hists);

	add_str(o, "name", map->name);
	add_str(o, "type", map->type->name);
	add_u64(o, "key_size", map->key_size);
	add_u64(o, "value_size", map->value_size);
	add_u64(o, "max_entries", map->max_entries);
	json_object_object_add(o, "places", list_places(s, index));
	if (gpubpf_rows_init(&rows, l.btf, map) && gpubpf_rows_has_times(&rows))
		add_factor(s, o);
	if (map->launch_times)
		add_measured(s, o);
	gpubpf_rows_finish(&rows);
	if (opts->no_entries)
		add_used(s, index, o);
	else
		gpubpf_entries_walk(s, index, map->global_data && l.btf && map->btf_value ? list_variables : list_entry,
				    &l);
	json_object_object_add(o, "entries", l.entries);
	if (l.is_hist && !opts->no_entries)
		add_hist(&l, &l.shape, o);
	if (map->type->flags & GPUBPF_MAP_RING)
		add_u64(o, "records", gpubpf_map_records(s, index));
	add_u64(o, "dropped", gpubpf_map__drops(map));
	return o;
}

static struct json_object *list_maps(struct gpubpf_session *s, const struct gpubpf_report_opts *opts)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	struct json_object *maps = json_object_new_array();

	for (uint32_t i = 0; i < unit->nmaps; i++)
		if (gpubpf_report_includes_map(opts, &unit->maps[i]))
			json_object_array_add(maps, list_map(s, i, opts));
	return maps;
}

/* -- kernels, records and costs -- */

/* List the reasons of missed launches with the number of launches, except reasons with no launch. */
static struct json_object *list_missed(const struct gpubpf_missed *missed)
{
	struct json_object *by = json_object_new_object();

	for (uint32_t i = 0; i < GPUBPF_MISSES; i++)
		if (missed->by[i])
			add_u64(by, gpubpf_miss_names[i], missed->by[i]);
	return by;
}

static struct json_object *list_kernels(struct gpubpf_session *s)
{
	struct json_object *kernels = json_object_new_array();

	for (uint32_t i = 0; i < s->report->nstats; i++) {
		const struct gpubpf_kernel_stats *st = &s->report->stats[i];
		struct json_object *o = json_object_new_object();

		add_u64(o, "id", st->id);
		add_str(o, "name", gpubpf_kernel_full_name(s, st->id));
		add_str(o, "backend", st->backend);
		add_u64(o, "launches", st->launches);
		add_u64(o, "probed", st->probed);
		add_u64(o, "missed", st->missed);
		json_object_object_add(o, "missed_by", list_missed(&s->report->missed[i]));
		add_str(o, "outcome", gpubpf_report_outcome(st));
		add_str(o, "reason", gpubpf_report_reason(s, st));
		add_u64(o, "dim", st->dim);
		json_object_object_add(o, "grid", make_json_triple(st->grid));
		json_object_object_add(o, "threads", make_json_triple(st->threads));
		json_object_object_add(o, "block", make_json_triple(st->block));
		add_u64(o, "wait_ns", st->wait_ns);
		add_u64(o, "twin_load_ns", st->twin_load_ns);
		add_u64(o, "registers", st->registers);
		add_u64(o, "twin_registers", st->twin_registers);
		add_str(o, "route", st->route);
		add_str(o, "compiled_by", st->compiled_by);
		json_object_array_add(kernels, o);
	}
	return kernels;
}

static struct json_object *list_print(const struct gpubpf_session *s, const struct gpubpf_stored_record *k)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	struct json_object *o = json_object_new_object();

	add_str(o, "text", k->print->text);
	add_str(o, "prog", k->print->prog < unit->nprogs ? unit->progs[k->print->prog].name : "");
	add_str(o, "kernel", gpubpf_kernel_full_name(s, k->print->kernel));
	add_u64(o, "launch", k->print->launch);
	json_object_object_add(o, "block", make_json_triple(k->print->block));
	json_object_object_add(o, "thread", make_json_triple(k->print->thread));
	return o;
}

static struct json_object *list_event(struct gpubpf_session *s, const struct gpubpf_stored_record *k,
				      const struct gpubpf_report_opts *opts)
{
	struct gpubpf_typed_names names = gpubpf_session_names(s, opts);
	struct json_object *o = json_object_new_object();

	add_str(o, "map", gpubpf_session_unit(s)->maps[k->map].name);
	add_u64(o, "copy", k->copy);
	add_u64(o, "size", k->size);
	json_object_object_add(o, "value",
			       gpubpf_typed_json(gpubpf_map_btf(s, k->map), gpubpf_event_type(s, k->map, k->size),
						 &names, k->data, k->size));
	if (k->time_ns) {
		add_u64(o, "time_ns", k->time_ns);
		add_str(o, "backend", k->backend);
	}
	return o;
}

static void add_owner(struct json_object *o, uint32_t process, uint32_t device, const char *backend)
{
	add_u64(o, "process", process);
	add_u64(o, "device", device);
	add_str(o, "backend", backend);
}

struct json_object *gpubpf_report_event(struct gpubpf_session *s, const struct gpubpf_event *event,
					const struct gpubpf_report_opts *opts)
{
	const struct gpubpf_stored_record k = {
		.map = event->map - gpubpf_session_unit(s)->maps,
		.copy = event->copy,
		.size = event->size,
		.data = (void *)event->data,
		.time_ns = event->time_ns,
		.backend = event->backend,
	};
	struct json_object *o = list_event(s, &k, opts);

	add_owner(o, event->process, event->device, event->backend);
	return o;
}

struct json_object *gpubpf_report_print(const struct gpubpf_print_record *p)
{
	struct json_object *o = json_object_new_object();

	add_str(o, "text", p->text);
	add_str(o, "prog", p->prog);
	add_str(o, "kernel", p->kernel);
	add_u64(o, "launch", p->launch);
	json_object_object_add(o, "block", make_json_triple(p->block));
	json_object_object_add(o, "thread", make_json_triple(p->thread));
	add_owner(o, p->process, p->device, p->backend);
	return o;
}

static void list_records(struct gpubpf_session *s, struct json_object *root, const struct gpubpf_report_opts *opts)
{
	struct json_object *events = json_object_new_array(), *prints = json_object_new_array();

	const struct gpubpf_stored_record *k;

	for (uint64_t i = 0; (k = gpubpf_stored_record_at(s, i)); i++) {
		if (k->map < 0 && k->print)
			json_object_array_add(prints, list_print(s, k));
		else if (k->map >= 0 && k->data)
			json_object_array_add(events, list_event(s, k, opts));
	}
	json_object_object_add(root, "events", events);
	json_object_object_add(root, "prints", prints);
	add_u64(root, "records", gpubpf_session_records(s));
}

static struct json_object *list_cost(const struct gpubpf_session *s)
{
	struct gpubpf_cost_stats c = { .sz = sizeof(c) };
	struct json_object *o = json_object_new_object();

	gpubpf_session__cost(s, &c);
	add_u64(o, "load_ns", c.load_ns);
	add_u64(o, "verify_ns", c.verify_ns);
	add_u64(o, "lower_ns", c.lower_ns);
	add_u64(o, "build_ns", c.build_ns);
	add_u64(o, "twin_load_ns", c.twin_load_ns);
	add_u64(o, "wait_ns", c.wait_ns);
	add_u64(o, "queue_ns", c.queue_ns);
	add_u64(o, "wait_ask_ns", c.wait_ask_ns);
	add_u64(o, "wait_answer_ns", c.wait_answer_ns);
	add_u64(o, "wait_load_ns", c.wait_load_ns);
	add_u64(o, "wait_others_ns", c.wait_others_ns);
	add_u64(o, "wait_rest_ns", c.wait_rest_ns);
	add_u64(o, "hook_ns", c.hook_ns);
	add_u64(o, "drained_bytes", c.drained_bytes);
	add_u64(o, "drain_ns", c.drain_ns);
	add_u64(o, "twins", c.twins);
	add_u64(o, "cached", c.cached);
	add_u64(o, "ahead", c.ahead);
	add_u64(o, "refused", c.refused);
	return o;
}

static struct json_object *list_devices(const struct gpubpf_session *s)
{
	struct json_object *devices = json_object_new_array();
	struct gpubpf_device_launches *launches;
	const struct gpubpf_listed_device *d;
	uint32_t n = 0;

	while (gpubpf_session_listed_device(s, n))
		n++;
	launches = gpubpf_kernel_table_by_device(s, n);
	for (uint32_t i = 0; launches && i < n; i++) {
		struct json_object *o = json_object_new_object();

		d = gpubpf_session_listed_device(s, i);

		add_u64(o, "process", d->process);
		add_u64(o, "device", d->ordinal);
		add_str(o, "backend", d->backend);
		add_str(o, "name", d->name);
		add_u64(o, "pid", d->pid);
		add_str(o, "program", d->program);
		add_u64(o, "launches", launches[i].launches);
		add_u64(o, "probed", launches[i].probed);
		json_object_array_add(devices, o);
	}
	free(launches);
	return devices;
}

static struct json_object *list_programs(const struct gpubpf_session *s)
{
	const struct gpubpf_unit *unit = gpubpf_session_unit(s);
	struct json_object *programs = json_object_new_array();

	for (uint32_t i = 0; i < unit->nprogs; i++) {
		struct json_object *o = json_object_new_object();

		add_str(o, "name", unit->progs[i].name);
		add_str(o, "section", unit->progs[i].section);
		add_str(o, "pattern", unit->progs[i].pattern);
		json_object_object_add(o, "matched",
				       json_object_new_boolean(gpubpf_report_is_matched(s, &unit->progs[i])));
		json_object_array_add(programs, o);
	}
	return programs;
}

static struct json_object *list_notes(const struct gpubpf_session *s)
{
	struct json_object *notes = json_object_new_array();

	for (uint32_t i = 0; gpubpf_session_note_at(s, i); i++)
		json_object_array_add(notes, json_object_new_string(gpubpf_session_note_at(s, i)));
	return notes;
}

int gpubpf_report_add_json(struct gpubpf_session *s, struct json_object *root, const struct gpubpf_report_opts *opts)
{
	if (!root)
		return -ENOMEM;
	if (!opts->maps_only)
		json_object_object_add(root, "kernels", list_kernels(s));
	json_object_object_add(root, "maps", list_maps(s, opts));
	if (opts->maps_only)
		return 0;
	list_records(s, root, opts);
	json_object_object_add(root, "programs", list_programs(s));
	add_u64(root, "dropped", gpubpf_report_drops(s));
	if (gpubpf_report_clock_error(s))
		add_u64(root, "clock_error_ns", gpubpf_report_clock_error(s));
	add_u64(root, "processes", gpubpf_session__processes(s));
	add_u64(root, "devices", gpubpf_session__devices(s));
	json_object_object_add(root, "device_list", list_devices(s));
	json_object_object_add(root, "cost", list_cost(s));
	json_object_object_add(root, "notes", list_notes(s));
	return 0;
}

int gpubpf_report_json(struct gpubpf_session *s, FILE *out, const struct gpubpf_report_opts *opts)
{
	struct json_object *root = json_object_new_object();
	int err;

	if (root)
		json_object_object_add(root, "schema", json_object_new_int(GPUBPF_REPORT_SCHEMA));
	if (root && s->report->moment != GPUBPF_MOMENT_UNKNOWN)
		json_object_object_add(root, "snapshot",
				       json_object_new_boolean(s->report->moment == GPUBPF_MOMENT_SNAPSHOT));
	err = gpubpf_report_add_json(s, root, opts);
	if (!err)
		gpubpf_json_write(root, out);
	return err;
}
