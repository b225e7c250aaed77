/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the prints and records of probes from rings, while kernels run. */
#include "core/session/session.h"

#include <stdlib.h>
#include <string.h>

#include "core/session/base/loader_ops.h"
#include "synced.h"

struct reading {
	struct gpubpf_session *s;
	uint32_t arena;
	int map; /* index of the ring in the unit, -1: the print ring */
	bool last;
	struct sys_object *loader; /* the loader that also reads the records; NULL: none */
};

/* Store a record for the report, up to the limit; NULL: it was not stored. */
static struct gpubpf_stored_record *store_record(struct gpubpf_session *s, const struct gpubpf_stored_record *record)
{
	struct gpubpf_stored_record *grown;

	s->nrecords++;
	if (s->nstored >= s->opts.max_events)
		return NULL;
	if (!(s->nstored & (s->nstored - 1))) {
		grown = realloc(s->stored, (s->nstored ? s->nstored * 2 : 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		s->stored = grown;
	}
	s->stored[s->nstored] = *record;
	return &s->stored[s->nstored++];
}

/* Is the content of records needed? Otherwise the session only counts them. */
static bool needs_records(const struct gpubpf_session *s)
{
	return s->opts.event || s->nstored < s->opts.max_events;
}

bool gpubpf_map_is_internal(const struct gpubpf_map *map)
{
	return !strncmp(map->name, "__", 2);
}

/* Describe a record's origin; arena -1 is the Linux kernel. */
static struct gpubpf_stored_record describe_record(const struct gpubpf_session *s, int map, int arena, uint32_t copy,
						   uint64_t time_ns)
{
	struct gpubpf_stored_record record = { .map = map, .copy = copy, .time_ns = time_ns, .backend = GPUBPF_LINUX_BACKEND };

	if (arena < 0)
		return record;
	record.process = s->arenas[arena].process;
	record.device = s->arenas[arena].device;
	record.backend = gpubpf_arena_backend(s, (uint32_t)arena);
	return record;
}

static void deliver_record(struct gpubpf_session *s, const struct gpubpf_stored_record *record, const void *data,
			   uint32_t size)
{
	struct gpubpf_event event = {
		.map = &s->loaded->unit.maps[record->map],
		.data = data,
		.size = size,
		.copy = record->copy,
		.process = record->process,
		.device = record->device,
		.backend = record->backend,
		.time_ns = record->time_ns,
	};
	bool hidden = gpubpf_map_is_internal(event.map);
	struct gpubpf_stored_record *kept = hidden ? NULL : store_record(s, record);

	s->map_records[record->map] += !hidden;
	if (kept && (kept->data = malloc(size ? size : 1))) {
		memcpy(kept->data, data, size);
		kept->size = size;
	}
	if (s->opts.event)
		s->opts.event(s->opts.ctx, &event);
}

void gpubpf_reader_deliver(struct gpubpf_session *s, const struct gpubpf_linux_record *r)
{
	struct gpubpf_stored_record record = describe_record(s, (int)r->map, r->arena, r->copy, r->time);

	deliver_record(s, &record, r->data, r->size);
}

static int on_record(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct reading *rd = arg;
	struct gpubpf_stored_record record;

	if (gpubpf_linux_rings_queue(rd->s, (uint32_t)rd->map, (int)rd->arena, copy, data, size))
		return rd->loader ? !gpubpf_linux_rings_has_room(rd->s, (uint32_t)rd->map) : !needs_records(rd->s);
	record = describe_record(rd->s, rd->map, (int)rd->arena, copy, 0);
	deliver_record(rd->s, &record, data, size);
	if (rd->loader)
		return !rd->s->loader_ops->deliver_record(rd->s, rd->loader, copy, data, size);
	return !needs_records(rd->s);
}

static const char *prog_name(const struct gpubpf_session *s, uint32_t prog)
{
	return prog < s->loaded->unit.nprogs ? s->loaded->unit.progs[prog].name : "";
}

static void deliver_print(const struct reading *rd, const struct gpubpf_print *p)
{
	struct gpubpf_print_record record = {
		.text = p->text,
		.prog = prog_name(rd->s, p->prog),
		.kernel = gpubpf_kernel_full_name(rd->s, p->kernel),
		.launch = p->launch,
		.process = rd->s->arenas[rd->arena].process,
		.device = rd->s->arenas[rd->arena].device,
		.backend = gpubpf_arena_backend(rd->s, rd->arena),
	};

	memcpy(record.block, p->block, sizeof(record.block));
	memcpy(record.thread, p->thread, sizeof(record.thread));
	rd->s->opts.print(rd->s->opts.ctx, &record);
}

static int on_print(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct reading *rd = arg;
	struct gpubpf_session_arena *a = &rd->s->arenas[rd->arena];
	struct gpubpf_stored_record record = describe_record(rd->s, rd->map, (int)rd->arena, copy, 0), *kept;
	struct gpubpf_print print;

	if (gpubpf_print_decode(a->base, &rd->s->loaded->unit, &a->layout, data, size, &print) < 0)
		return 0;
	for (char *c = print.text; *c; c++)
		if ((unsigned char)*c < ' ' && *c != '\t' && *c != '\n')
			*c = '?';
	kept = store_record(rd->s, &record);
	if (kept && (kept->print = malloc(sizeof(print))))
		*kept->print = print;
	if (rd->s->opts.print)
		deliver_print(rd, &print);
	return 0;
}

static uint64_t read_ring(struct reading *rd, const struct gpubpf_map_view *view, gpubpf_record_fn fn)
{
	int64_t n = rd->last ? gpubpf_ring_drain(view, fn, rd) : gpubpf_ring_read(view, fn, rd);

	if (n < 0)
		gpubpf_session_note(rd->s, "ring %s: the program overwrote its control words, so it was reset",
				    rd->map < 0 ? "of prints" : view->map->name);
	return n > 0 ? n : 0;
}

static uint64_t count_ring(struct reading *rd, const struct gpubpf_map_view *view)
{
	uint64_t n = read_ring(rd, view, NULL);

	rd->s->nrecords += n;
	rd->s->map_records[rd->map] += n;
	return n;
}

static uint64_t read_arena(struct gpubpf_session *s, uint32_t arena, bool last)
{
	struct gpubpf_unit *unit = &s->loaded->unit;
	struct reading rd = { s, arena, -1, last };
	uint64_t n = 0;

	for (uint32_t m = 0; m < unit->nmaps; m++) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, arena, m);

		rd.map = m;
		if (!(unit->maps[m].type->flags & GPUBPF_MAP_RING))
			continue;
		rd.loader = gpubpf_loader_find_reader(s, m);
		if (rd.loader && (!s->loader_ops->has_room(s, rd.loader) || !gpubpf_linux_rings_has_room(s, m)))
			continue;
		if (rd.loader || needs_records(s))
			n += read_ring(&rd, &view, on_record);
		if (!rd.loader && !needs_records(s))
			n += count_ring(&rd, &view);
	}
	if (s->arenas[arena].layout.print_ring) {
		struct gpubpf_session_arena *a = &s->arenas[arena];
		struct gpubpf_map_view view = { .arena = a->base, .layout = &a->layout.prints };

		rd.map = -1;
		n += read_ring(&rd, &view, on_print);
	}
	return n;
}

uint64_t gpubpf_reader_run(struct gpubpf_session *s, bool last)
{
	uint64_t n = 0;

	for (uint32_t i = 0; s->has_rings && i < s->narenas; i++)
		n += read_arena(s, i, last);
	n += gpubpf_linux_rings_deliver(s, last);
	gpubpf_loaders_wake(s);
	return n;
}
