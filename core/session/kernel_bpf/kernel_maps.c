/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Synchronizes a map that Linux kernel programs and GPU programs both use but that cannot be in shared memory. The
 * Linux kernel and the session each have a map of their own. The session copies changes between the two every few
 * milliseconds and before each read. In this folder, side 0 is the session's map in its arenas, and side 1 is the Linux
 * map.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/maps/loader_ops.h"

#define PASS_SHARE 20u                 /* passes take at most 1 / PASS_SHARE of the time */
#define SHORT_PASS_NS 1000000ull            /* each read runs a pass first if the map's pass takes less than this */
#define MIRROR_PERIOD_NS 100000000ull        /* period of copies to mirrors, for devices with their own memory */

/* -- opening -- */

static const struct gpubpf_linux_kind *kind_of(const struct gpubpf_map *map)
{
	if (map->type->flags & GPUBPF_MAP_RING)
		return &gpubpf_linux_ring;
	if (map->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_POP))
		return &gpubpf_linux_queue;
	if (!(map->type->flags & GPUBPF_MAP_KEYED))
		return NULL;
	return gpubpf_map_is_percpu(map) ? &gpubpf_linux_percpu : &gpubpf_linux_keyed;
}

const char *gpubpf_linux_maps_why_never(const struct gpubpf_map *map)
{
	uint32_t flags = map->type->flags;

	if (flags & GPUBPF_MAP_OF_MAPS)
		return "their elements are maps, which either the Linux kernel or the GPU has";
	if (flags & GPUBPF_MAP_PROGS)
		return "their elements are programs, for either the Linux kernel or the GPU";
	if (flags & GPUBPF_MAP_STACKS)
		return "the Linux kernel and the GPU number stacks differently";
	if (flags & GPUBPF_MAP_READ)
		return "only programs for the GPU write their elements";
	if (flags & GPUBPF_MAP_ASKED)
		return "pushed values cannot be read";
	return kind_of(map) ? NULL : "maps of this kind are not synchronized";
}

/*
 * Returns why the session's map cannot be synchronized, or NULL if it can. kernel_pops: Linux kernel programs pop
 * values.
 */
static const char *why_not_synced(const struct gpubpf_session *s, uint32_t index, bool kernel_pops)
{
	const struct gpubpf_map *map = &gpubpf_session_unit(s)->maps[index];

	if (map->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_POP) && gpubpf_linux_queue_is_split(s, index, kernel_pops))
		return GPUBPF_LINUX_BOTH_TAKE;
	return gpubpf_linux_maps_why_never(map);
}

static const struct gpubpf_synced_ops synced_ops;

static int add_synced_map(struct gpubpf_session *s, uint32_t map, int fd, bool kernel_pops)
{
	struct gpubpf_linux_synced_map *c;
	int err;

	if (!gpubpf_kernel_bpf_get(s))
		return -ENOMEM;
	gpubpf_maps_set_synced_ops(s, &synced_ops);
	c = &s->kernel_bpf->map[s->kernel_bpf->nmaps];
	*c = (struct gpubpf_linux_synced_map){ .s = s,
					       .map = map,
					       .fd = fd,
					       .kernel_pops = kernel_pops,
					       .waiting = &s->kernel_bpf->waiting,
					       .kind = kind_of(&gpubpf_session_unit(s)->maps[map]) };
	if (gpubpf_loader_find_reader(s, map))
		c->waiting = &c->own;
	err = c->kind->open(c);
	if (err < 0)
		c->kind->close(c);
	s->kernel_bpf->nmaps += !err;
	return err;
}

const char *gpubpf_linux_maps_add(struct gpubpf_session *s, uint32_t map, int fd, bool kernel_pops)
{
	const char *why = why_not_synced(s, map, kernel_pops);
	int err = why ? 0 : add_synced_map(s, map, fd, kernel_pops);

	if (err < 0)
		why = err == -E2BIG ? "summed values are larger than 1,024 words" : strerror(-err);
	return why;
}

void gpubpf_linux_maps_close(struct gpubpf_session *s)
{
	struct session_kernel_bpf *k = s->kernel_bpf;

	for (uint32_t i = 0; i < k->nmaps; i++)
		k->map[i].kind->close(&k->map[i]);
	for (uint32_t i = 0; i < k->nmaps; i++)
		gpubpf_linux_records_free(&k->map[i].own);
	gpubpf_linux_records_free(&k->waiting);
	k->nmaps = 0;
}

/* -- passes -- */

static void note_full(struct gpubpf_linux_synced_map *c)
{
	bool kernel = gpubpf_merge_rejected(c->merge, 1), own = gpubpf_merge_rejected(c->merge, 0);

	if (c->full_noted || !(kernel || own))
		return;
	c->full_noted = true;
	gpubpf_session_note(c->s,
			    "map %s is full %s; keys that did not fit exist only in the other map; raise max_entries",
			    gpubpf_linux_get_map(c)->name, kernel ? "on the Linux kernel's side" : "on the GPU's side");
}

int gpubpf_linux_merge(struct gpubpf_linux_synced_map *c)
{
	int err = c->merge ? gpubpf_merge_pass(c->merge) : 0;

	if (c->merge)
		note_full(c);
	return err;
}

static void note_failed_sync(struct gpubpf_linux_synced_map *c, int err)
{
	if (err < 0)
		gpubpf_session_note(c->s, "map %s: changes were not copied between the Linux kernel and the GPU: %s",
				    gpubpf_linux_get_map(c)->name, strerror(-err));
}

static bool reads_clock(const struct gpubpf_session *s, uint32_t map)
{
	for (uint32_t i = 0; i < gpubpf_session_unit(s)->nprogs; i++) {
		const struct gpubpf_facts *facts = gpubpf_session_unit(s)->progs[i].facts;

		if (facts && facts->clock && facts->map_use[map])
			return true;
	}
	return false;
}

/*
 * Warn if GPU programs read a clock and only read the map. Such a program may compare the clock with times that Linux
 * kernel programs wrote into the map. The GPU program sees these times one pass late.
 */
static void warn_stale_clock(struct gpubpf_linux_synced_map *c)
{
	uint32_t use = gpubpf_session_map_use(c->s)[c->map];

	if (c->stale_noted || c->kind != &gpubpf_linux_keyed || !(use & GPUBPF_USE_READ))
		return;
	c->stale_noted = true;
	if (!(use & ~(uint32_t)(GPUBPF_USE_LOOKUP | GPUBPF_USE_READ)) && reads_clock(c->s, c->map))
		gpubpf_session_note(c->s,
				    "map %s: what Linux kernel programs write reaches GPU programs after about %u "
				    "ms; an array with BPF_F_MMAPABLE has no such delay",
				    gpubpf_linux_get_map(c)->name, GPUBPF_LINUX_PASS_NS / 1000000);
}

static void run_pass(struct gpubpf_linux_synced_map *c)
{
	uint64_t began = gpubpf_now_ns();

	if (c->suspended)
		return;
	warn_stale_clock(c);
	note_failed_sync(c, c->kind->pass(c));
	c->ended_ns = gpubpf_now_ns();
	c->pass_ns = c->ended_ns - began;
}

void gpubpf_linux_maps_pass(struct gpubpf_session *s)
{
	uint64_t began = gpubpf_now_ns(), ended;

	if (!s->kernel_bpf)
		return;
	for (uint32_t i = 0; i < s->kernel_bpf->nmaps; i++)
		run_pass(&s->kernel_bpf->map[i]);
	ended = gpubpf_now_ns();
	s->kernel_bpf->next_ns = ended + PASS_SHARE * (ended - began);
	if (s->kernel_bpf->next_ns < began + GPUBPF_LINUX_PASS_NS)
		s->kernel_bpf->next_ns = began + GPUBPF_LINUX_PASS_NS;
}

bool gpubpf_linux_maps_is_active(const struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->kernel_bpf && i < s->kernel_bpf->nmaps; i++)
		if (!s->kernel_bpf->map[i].suspended)
			return true;
	return false;
}

void gpubpf_linux_maps_poll(struct gpubpf_session *s)
{
	if (gpubpf_linux_maps_is_active(s) && gpubpf_now_ns() >= s->kernel_bpf->next_ns)
		gpubpf_linux_maps_pass(s);
}

bool gpubpf_linux_maps_need_mirrors(struct gpubpf_session *s)
{
	uint64_t now = gpubpf_now_ns();

	if (!gpubpf_linux_maps_is_active(s) || now < s->kernel_bpf->mirrors_ns)
		return false;
	s->kernel_bpf->mirrors_ns = now + MIRROR_PERIOD_NS;
	return true;
}

/* -- for readers -- */

static struct gpubpf_linux_synced_map *find_synced(const struct gpubpf_session *s, uint32_t map)
{
	struct session_kernel_bpf *maps = s->kernel_bpf;

	for (uint32_t i = 0; maps && i < maps->nmaps; i++)
		if (maps->map[i].map == map)
			return &maps->map[i];
	return NULL;
}

static bool maps_is_synced(const struct gpubpf_session *s, uint32_t map)
{
	const struct gpubpf_linux_synced_map *c = find_synced(s, map);

	return c && !c->suspended;
}

void gpubpf_linux_maps_suspend(struct gpubpf_session *s, uint32_t map, bool suspended)
{
	struct gpubpf_linux_synced_map *c = find_synced(s, map);

	if (c)
		c->suspended = suspended;
}

static bool is_due(const struct gpubpf_linux_synced_map *c)
{
	return c->pass_ns < SHORT_PASS_NS || gpubpf_now_ns() - c->ended_ns >= PASS_SHARE * c->pass_ns;
}

/* Is the session's queue or stack empty? Its readers would see an end, although the Linux kernel's map has values. */
static bool is_empty_queue(const struct gpubpf_linux_synced_map *c)
{
	struct gpubpf_map_view view = gpubpf_arena_view(c->s, 0, c->map);
	uint32_t unused = gpubpf_linux_get_map(c)->max_entries; /* the slot after the values in transit */

	return c->kind == &gpubpf_linux_queue &&
	       gpubpf_map_lookup(&view, NULL, c->in_transit + (size_t)unused * gpubpf_linux_get_map(c)->value_size) ==
		       -ENOENT;
}

void gpubpf_linux_maps_sync(struct gpubpf_session *s, uint32_t map, const void *key)
{
	struct gpubpf_linux_synced_map *c = find_synced(s, map);

	if (!c || c->suspended)
		return;
	if (key && c->kind->sync_key)
		note_failed_sync(c, c->kind->sync_key(c, key));
	else if (is_due(c) || is_empty_queue(c))
		run_pass(c);
}

static int queue_next(const struct gpubpf_session *s, uint32_t map, bool take, void *value)
{
	const struct gpubpf_linux_synced_map *c = find_synced(s, map);

	if (!c || !c->kernel_pops || c->both_pop)
		return -EOPNOTSUPP;
	return take ? gpubpf_linux_map_pop(c->kernel, value) : gpubpf_linux_map_lookup(c->kernel, NULL, value);
}

void gpubpf_linux_queue_reverse(struct gpubpf_session *s, uint32_t map)
{
	struct gpubpf_linux_synced_map *c = find_synced(s, map);

	if (c && c->kind == &gpubpf_linux_queue)
		c->kernel_pops = true;
}

static const struct gpubpf_linux_synced_map *find_percpu(const struct gpubpf_session *s, uint32_t map)
{
	const struct gpubpf_linux_synced_map *c = find_synced(s, map);

	return c && c->kind == &gpubpf_linux_percpu ? c : NULL;
}

static size_t cpus_size(const struct gpubpf_session *s, uint32_t map)
{
	const struct gpubpf_linux_synced_map *c = find_percpu(s, map);

	return c ? gpubpf_linux_map_user_size(c->kernel) : 0;
}

static int cpus_lookup(const struct gpubpf_session *s, uint32_t map, const void *key, void *values)
{
	const struct gpubpf_linux_synced_map *c = find_percpu(s, map);

	return c ? gpubpf_linux_map_lookup(c->kernel, key, values) : 0;
}

static int cpus_update(const struct gpubpf_session *s, uint32_t map, const void *key, const void *values)
{
	const struct gpubpf_linux_synced_map *c = find_percpu(s, map);

	return c ? gpubpf_linux_map_update(c->kernel, key, values, BPF_ANY) : 0;
}

static int cpus_delete(const struct gpubpf_session *s, uint32_t map, const void *key)
{
	const struct gpubpf_linux_synced_map *c = find_percpu(s, map);

	return c ? gpubpf_linux_map_delete(c->kernel, key) : 0;
}

static bool rings_queue(struct gpubpf_session *s, uint32_t map, int arena, uint32_t copy, const void *data, uint32_t size)
{
	struct gpubpf_linux_synced_map *c = find_synced(s, map);

	if (!c || c->suspended)
		return false;
	gpubpf_linux_record_add(c, arena, copy, data, size);
	return true;
}

static uint64_t rings_deliver(struct gpubpf_session *s, bool all)
{
	uint64_t n = 0, until = all ? UINT64_MAX : gpubpf_now_ns() - GPUBPF_LINUX_RECORD_WAIT_NS;

	for (uint32_t i = 0; s->kernel_bpf && i < s->kernel_bpf->nmaps; i++) {
		struct gpubpf_linux_synced_map *c = &s->kernel_bpf->map[i];
		struct sys_object *reader = c->waiting == &c->own ? gpubpf_loader_find_reader(s, c->map) : NULL;

		if (!c->suspended && gpubpf_linux_records_has_room(c->waiting))
			gpubpf_linux_ring_read(c);
		if (c->own.n)
			n += gpubpf_linux_records_deliver(s, &c->own, reader, until);
	}
	return s->kernel_bpf ? n + gpubpf_linux_records_deliver(s, &s->kernel_bpf->waiting, NULL, until) : 0;
}

static bool rings_has_room(const struct gpubpf_session *s, uint32_t map)
{
	const struct gpubpf_linux_synced_map *c = find_synced(s, map);

	return !c || c->waiting != &c->own || gpubpf_linux_records_has_room(c->waiting);
}

void gpubpf_linux_rings_flush(struct gpubpf_session *s)
{
	uint64_t began = gpubpf_now_ns();

	gpubpf_reader_run(s, false);
	for (uint32_t i = 0; s->kernel_bpf && i < s->kernel_bpf->nmaps; i++) {
		struct gpubpf_linux_synced_map *c = &s->kernel_bpf->map[i];

		if (c->own.n)
			gpubpf_linux_records_deliver(s, &c->own, gpubpf_loader_find_reader(s, c->map), began);
	}
	gpubpf_loaders_wake(s);
}

static uint64_t rings_lost(const struct gpubpf_session *s, uint32_t map)
{
	const struct gpubpf_linux_synced_map *c = find_synced(s, map);

	return c ? c->lost : 0;
}

static const struct gpubpf_synced_ops synced_ops = {
	.maps_is_synced = maps_is_synced,
	.queue_next = queue_next,
	.cpus_size = cpus_size,
	.cpus_lookup = cpus_lookup,
	.cpus_update = cpus_update,
	.cpus_delete = cpus_delete,
	.rings_queue = rings_queue,
	.rings_deliver = rings_deliver,
	.rings_has_room = rings_has_room,
	.rings_lost = rings_lost,
};
