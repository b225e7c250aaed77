/* SPDX-License-Identifier: Apache-2.0 */
/* Reads records and the output of bpf_printk() from rings while GPU kernels run. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

#include "loader_ops.h"
#include "synced.h"

struct reading {
	struct gpubpf_session *s;
	uint32_t arena;
	int map; /* index of the ring in the unit; -1: the ring of printed texts */
	bool last;
	struct sys_object *loader; /* the loader that also receives the records; NULL: none */
};

/* Store a record for the report. Returns NULL if the limit is reached or memory is short. */
static struct gpubpf_stored_record *store_record(struct gpubpf_session *s, const struct gpubpf_stored_record *record)
{
	struct gpubpf_stored_record *grown;

	s->maps->nrecords++;
	if (s->maps->nstored >= s->opts.max_events)
		return NULL;
	if (!(s->maps->nstored & (s->maps->nstored - 1))) {
		grown = realloc(s->maps->stored, (s->maps->nstored ? s->maps->nstored * 2 : 1) * sizeof(*grown));
		if (!grown)
			return NULL;
		s->maps->stored = grown;
	}
	s->maps->stored[s->maps->nstored] = *record;
	return &s->maps->stored[s->maps->nstored++];
}

/* Returns true if the content of records is needed. Otherwise the session only counts records. */
static bool needs_records(const struct gpubpf_session *s)
{
	return s->opts.event || s->maps->nstored < s->opts.max_events;
}

bool gpubpf_map_is_internal(const struct gpubpf_map *map)
{
	return !strncmp(map->name, "__", 2);
}

/* Describe the origin of a record. Arena -1 stands for the Linux kernel. */
static struct gpubpf_stored_record describe_record(const struct gpubpf_session *s, int map, int arena, uint32_t copy,
						   uint64_t time_ns)
{
	struct gpubpf_stored_record record = { .map = map, .copy = copy, .time_ns = time_ns, .backend = GPUBPF_LINUX_BACKEND };

	if (arena < 0)
		return record;
	record.process = s->maps->arenas[arena].process;
	record.device = s->maps->arenas[arena].device;
	record.backend = gpubpf_arena_backend(s, (uint32_t)arena);
	return record;
}

static void deliver_record(struct gpubpf_session *s, const struct gpubpf_stored_record *record, const void *data,
			   uint32_t size)
{
	struct gpubpf_event event = {
		.map = &gpubpf_session_unit(s)->maps[record->map],
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

	s->maps->records[record->map] += !hidden;
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
		return !gpubpf_loader_deliver(rd->s, rd->loader, copy, data, size);
	return !needs_records(rd->s);
}

static const char *prog_name(const struct gpubpf_session *s, uint32_t prog)
{
	return prog < gpubpf_session_unit(s)->nprogs ? gpubpf_session_unit(s)->progs[prog].name : "";
}

static void deliver_print(const struct reading *rd, const struct gpubpf_print *p)
{
	struct gpubpf_print_record record = {
		.text = p->text,
		.prog = prog_name(rd->s, p->prog),
		.kernel = gpubpf_kernel_full_name(rd->s, p->kernel),
		.launch = p->launch,
		.process = rd->s->maps->arenas[rd->arena].process,
		.device = rd->s->maps->arenas[rd->arena].device,
		.backend = gpubpf_arena_backend(rd->s, rd->arena),
	};

	memcpy(record.block, p->block, sizeof(record.block));
	memcpy(record.thread, p->thread, sizeof(record.thread));
	rd->s->opts.print(rd->s->opts.ctx, &record);
}

static int on_print(void *arg, uint32_t copy, const void *data, uint32_t size)
{
	struct reading *rd = arg;
	struct gpubpf_session_arena *a = &rd->s->maps->arenas[rd->arena];
	struct gpubpf_stored_record record = describe_record(rd->s, rd->map, (int)rd->arena, copy, 0), *kept;
	struct gpubpf_print print;

	if (gpubpf_print_decode(a->base, gpubpf_session_unit(rd->s), &a->layout, data, size, &print) < 0)
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
		gpubpf_session_note(rd->s, "ring %s: reset, because a program overwrote its control words",
				    rd->map < 0 ? "of prints" : view->map->name);
	return n > 0 ? n : 0;
}

static uint64_t count_ring(struct reading *rd, const struct gpubpf_map_view *view)
{
	uint64_t n = read_ring(rd, view, NULL);

	rd->s->maps->nrecords += n;
	rd->s->maps->records[rd->map] += n;
	return n;
}

static uint64_t read_arena(struct gpubpf_session *s, uint32_t arena, bool last)
{
	struct gpubpf_unit *unit = gpubpf_session_unit(s);
	struct reading rd = { s, arena, -1, last };
	uint64_t n = 0;

	for (uint32_t m = 0; m < unit->nmaps; m++) {
		struct gpubpf_map_view view = gpubpf_arena_view(s, arena, m);

		rd.map = m;
		if (!(unit->maps[m].type->flags & GPUBPF_MAP_RING))
			continue;
		rd.loader = gpubpf_loader_find_reader(s, m);
		if (rd.loader && (!gpubpf_loader_has_room(s, rd.loader) || !gpubpf_linux_rings_has_room(s, m)))
			continue;
		if (rd.loader || needs_records(s))
			n += read_ring(&rd, &view, on_record);
		if (!rd.loader && !needs_records(s))
			n += count_ring(&rd, &view);
	}
	if (s->maps->arenas[arena].layout.print_ring) {
		struct gpubpf_session_arena *a = &s->maps->arenas[arena];
		struct gpubpf_map_view view = { .arena = a->base, .layout = &a->layout.prints };

		rd.map = -1;
		n += read_ring(&rd, &view, on_print);
	}
	return n;
}

uint64_t gpubpf_reader_run(struct gpubpf_session *s, bool last)
{
	uint64_t n = 0;

	for (uint32_t i = 0; gpubpf_session_has_rings(s) && i < s->maps->narenas; i++)
		n += read_arena(s, i, last);
	n += gpubpf_linux_rings_deliver(s, last);
	gpubpf_loaders_wake(s);
	return n;
}
