/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: assigns offsets to the maps of an arena, and decides how many copies each map has.
 * Before: maps as their objects define them, of any size.
 * After: every offset is below the arena's size, and no product of numbers in a layout exceeds this size.
 * Requires: the facts of the programs (map_use), which determine whether maps have copies.
 */
#include "impl.h"

#include <assert.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "core/model/facts.h"

#define DEFAULT_SIZE (1ull << 30)
#define DEFAULT_THREADS (1u << 20)
#define MIN_THREADS 1024u           /* minimum of threads in per-thread maps; layouts with fewer are refused */
#define COPIES_BUDGET (64ull << 20)
#define MAX_SMALL_BYTES 64u                   /* limit for arrays whose copies share cache lines with others */
#define PERF_BYTES (4ull << 20)
#define MIN_PERF_BYTES (64ull << 10)
#define MAX_ENTRIES 0x7ffffffeu
#define MAX_ENTRY_HEAD_BYTES 32               /* limit of the bytes that a kind adds to each entry */
#define MAX_ASKED_ENTRY_BYTES 8               /* limit of the bytes per entry in a kind that stores no values */
#define MAX_REPLICAS 65536u
#define MAX_SIZE (1ull << 36)       /* limit of an arena's size in bytes, on which maps/kinds/ring.h relies */

/*
 * Returns the flag for copies that readers merge, or 0. Readers sum the copies if programs on devices only add to the
 * values, and all adds have the same width. Readers take the maximum if programs only take maxima.
 */
static uint32_t merge_flag(const struct gpubpf_map *map, uint32_t use)
{
	const uint32_t other = GPUBPF_USE_READ | GPUBPF_USE_WRITE | GPUBPF_USE_DELETE | GPUBPF_USE_RMW |
			       GPUBPF_USE_ATOMIC | GPUBPF_USE_OUTPUT | GPUBPF_USE_ELEMENT;

	if (!(map->type->flags & GPUBPF_MAP_REPLICA) || map->rdonly || (use & other))
		return 0;
	if (!(use & GPUBPF_USE_ADD))
		return use & GPUBPF_USE_MAX ? GPUBPF_LAYOUT_MAX8 : 0;
	if (use & GPUBPF_USE_MAX)
		return 0;
	if ((use & GPUBPF_USE_ADD4) && (use & GPUBPF_USE_ADD8))
		return 0;
	return use & GPUBPF_USE_ADD4 ? GPUBPF_LAYOUT_SUM4 : GPUBPF_LAYOUT_SUM8;
}

/*
 * Reports the errors that bpf(2) would return for the definition. After the check, max_entries times the bytes of one
 * entry is below 2^64.
 */
static int check_map(struct gpubpf_map *map, struct gpubpf_diag *diag)
{
	struct gpubpf_map_fault fault;
	int err;

	assert(gpubpf_map_type_complete(map->type));
	err = map->type->impl->check(map, &fault);
	if (!err && (!map->max_entries || map->max_entries > MAX_ENTRIES))
		err = gpubpf_map_set_fault(&fault, "max_entries", map->max_entries, "1 to 2147483646");
	if (!err)
		return 0;
	if (diag)
		gpubpf_diag_where(diag, "map %s", map->name);
	gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC, "%s is %u; for type %s it must be %s", fault.attr,
			fault.is, map->type->name, fault.must);
	return err;
}

static void init_layout(const struct gpubpf_map *map, uint32_t use, struct gpubpf_map_layout *l)
{
	*l = (struct gpubpf_map_layout){
		.type = map->type->number,
		.key_size = map->key_size,
		.value_size = map->value_size,
		.max_entries = map->max_entries,
		.copies = 1,
		.flags = merge_flag(map, use),
	};
	if (map->rdonly)
		l->flags |= GPUBPF_LAYOUT_RDONLY;
	if (use & GPUBPF_USE_DELETE)
		l->flags |= GPUBPF_LAYOUT_DELETES;
}

/* All maps that can be elements of the same map of maps get the same uses, because they have the same layout. */
void gpubpf_layout_propagate_use(const struct gpubpf_unit *unit, uint32_t *map_use)
{
	for (uint32_t p = 0; p < unit->nmaps; p++) {
		uint32_t use = GPUBPF_USE_ELEMENT;

		for (uint32_t i = 0; unit->maps[p].prototype && i < unit->nmaps; i++)
			use |= gpubpf_map_is_like(&unit->maps[i], &unit->maps[p]) ? map_use[i] : 0;
		for (uint32_t i = 0; unit->maps[p].prototype && i < unit->nmaps; i++)
			map_use[i] |= gpubpf_map_is_like(&unit->maps[i], &unit->maps[p]) ? use : 0;
	}
}

bool gpubpf_layout_is_compatible(const struct gpubpf_map_layout *a, const struct gpubpf_map_layout *b)
{
	return a->type == b->type && a->flags == b->flags && a->key_size == b->key_size &&
	       a->value_size == b->value_size && a->max_entries == b->max_entries && a->copies == b->copies &&
	       a->stride == b->stride && a->copy_stride == b->copy_stride;
}

bool gpubpf_layout_supports_use(const struct gpubpf_map *map, const struct gpubpf_map_layout *l, uint32_t use)
{
	uint32_t sums = l->flags & GPUBPF_LAYOUT_MERGED;

	return (!sums || sums & merge_flag(map, use)) && (l->flags & GPUBPF_LAYOUT_DELETES || !(use & GPUBPF_USE_DELETE));
}

uint64_t gpubpf_map_bytes(const struct gpubpf_map_layout *l)
{
	return l->flags & GPUBPF_LAYOUT_INTERLEAVED ?
		       sizeof(struct gpubpf_map_ctl) + l->copies * l->max_entries * l->stride :
		       l->size;
}

static void size_map(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	map->type->impl->size(l, map, scale);
	if (l->copies == 1)
		l->flags &= ~(uint32_t)GPUBPF_LAYOUT_MERGED;
}

#define MIN_SIZE_DIVISOR 8 /* the estimate of is_plausible() is at most this many times the real size */

/*
 * Returns true if all required copies of the map may fit in `max` bytes. *bytes is an upper bound of their size. If the
 * result is true, no product in the layout overflows.
 */
static bool is_plausible(const struct gpubpf_map *map, const struct gpubpf_map_scale *scale, uint64_t max, uint64_t *bytes)
{
	uint32_t type = map->type->flags;
	uint64_t copies = type & GPUBPF_MAP_THREAD ? scale->threads : type & GPUBPF_MAP_COPIES ? scale->replicas : 1;
	uint64_t value = gpubpf_align(map->value_size, 8);
	uint64_t entry = type & GPUBPF_MAP_ASKED ? MAX_ASKED_ENTRY_BYTES :
			 map->type->impl == &gpubpf_array_impl ?
						   value :
						   gpubpf_align(map->key_size, 8) + value + MAX_ENTRY_HEAD_BYTES;

	if (__builtin_mul_overflow(map->max_entries * entry, copies, bytes))
		*bytes = UINT64_MAX / 2;
	return type & GPUBPF_MAP_RING && !map->value_size ? true : *bytes / MIN_SIZE_DIVISOR <= max;
}

static void size_print_ring(struct gpubpf_map_layout *l, uint64_t at, uint32_t bytes)
{
	*l = (struct gpubpf_map_layout){ .type = BPF_MAP_TYPE_RINGBUF, .max_entries = bytes, .ctl = at };
	gpubpf_ring_impl.size(l, NULL, &(struct gpubpf_map_scale){ .replicas = 1 });
}

/*
 * Returns a pointer to the offset for the next map: `at` inside the arena's device part, or `placed` after it. Maps
 * outside the arena begin on separate pages, because each is registered, allocated and freed separately.
 */
static uint64_t *next_offset(const struct gpubpf_map_layout *l, uint64_t *at, uint64_t *placed, uint64_t *align)
{
	*align = l->flags & GPUBPF_LAYOUT_PLACED ? GPUBPF_ARENA_ALIGN : GPUBPF_REPLICA_ALIGN;
	return l->flags & GPUBPF_LAYOUT_PLACED ? placed : at;
}

/*
 * Returns true if readers merge the copies of the map, and a copy is so small that most of its cache line would be
 * unused.
 */
static bool is_small(const struct gpubpf_map *map, const struct gpubpf_map_layout *l)
{
	return map->type->impl == &gpubpf_array_impl && l->copies > 1 &&
	       !(l->flags & (GPUBPF_LAYOUT_PLACED | GPUBPF_LAYOUT_LIVE)) && l->flags & GPUBPF_LAYOUT_MERGED &&
	       l->max_entries * l->stride <= MAX_SMALL_BYTES;
}

/*
 * Interleave small merged maps: each multiprocessor has one cache line with its copies of all these maps, so that a
 * warp adds to neighbouring words. Returns the end of these maps. An agent copies them as part of the first one.
 */
static uint64_t interleave_maps(struct gpubpf_map_layout *maps, const uint32_t *small, uint32_t n, uint64_t at)
{
	uint64_t ctl = gpubpf_align(at, GPUBPF_REPLICA_ALIGN), data = ctl + n * sizeof(struct gpubpf_map_ctl),
		 bytes = 0, stride;

	for (uint32_t i = 0; i < n; i++) {
		struct gpubpf_map_layout *l = &maps[small[i]];

		l->ctl = ctl + i * sizeof(struct gpubpf_map_ctl);
		l->data = data + bytes;
		l->size = 0;
		l->flags |= n > 1 ? GPUBPF_LAYOUT_INTERLEAVED : 0;
		bytes += l->max_entries * l->stride;
	}
	stride = gpubpf_align(bytes, GPUBPF_REPLICA_ALIGN);
	for (uint32_t i = 0; i < n; i++)
		maps[small[i]].copy_stride = stride;
	if (!n)
		return at;
	maps[small[0]].size = data - ctl + maps[small[0]].copies * stride;
	return ctl + maps[small[0]].size;
}

/*
 * Lay out the maps that have no layout yet, in order. Returns the end of the last one. If a map does not fit, returns
 * more than `max` and sets *culprit to its index.
 */
static uint64_t lay_out_maps(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			     const struct gpubpf_map_scale *scale, uint64_t max, struct gpubpf_layout *layout,
			     uint32_t *culprit)
{
	uint32_t use[GPUBPF_MAX_MAPS] = { 0 }, small[GPUBPF_MAX_MAPS], nsmall = 0, i;
	uint64_t at = layout->used, placed = layout->placed, limit = layout->own ? layout->size : max, align, bytes, *next;

	if (opts->map_use)
		memcpy(use, opts->map_use, unit->nmaps * sizeof(*use));
	gpubpf_layout_propagate_use(unit, use);
	*culprit = UINT32_MAX;
	for (i = layout->nmaps; i < unit->nmaps; i++) {
		struct gpubpf_map_layout *l = &layout->maps[i];
		struct gpubpf_map map = unit->maps[i];

		/* the definition is valid; the call corrects members that have no meaning for the type */
		check_map(&map, NULL);
		init_layout(&map, use[i], l);
		if (opts->places)
			l->flags |= opts->places[i];
		next = next_offset(l, &at, &placed, &align);
		l->ctl = gpubpf_align(*next, align);
		if (is_plausible(&map, scale, max, &bytes))
			size_map(l, &map, scale);
		else
			l->size = bytes;
		if (l->data && is_small(&map, l)) {
			small[nsmall++] = i;
			continue;
		}
		if (l->ctl + l->size > (next == &placed ? limit : max) || !l->data) {
			*culprit = i;
			return max + 1;
		}
		if (map.prototype)
			l->size = 0; /* a prototype has an offset but no memory, so agents must not copy it */
		*next = l->ctl + l->size;
	}
	at = interleave_maps(layout->maps, small, nsmall, at);
	if (at > max) {
		*culprit = small[0];
		return max + 1;
	}
	layout->placed = gpubpf_align(placed, GPUBPF_ARENA_ALIGN);
	if (opts->print_bytes && !layout->print_ring) {
		size_print_ring(&layout->prints, gpubpf_align(at, GPUBPF_REPLICA_ALIGN), opts->print_bytes);
		at = layout->prints.ctl + layout->prints.size;
	}
	if (opts->allocation_tables && !layout->allocations) {
		layout->allocations = gpubpf_align(at, GPUBPF_REPLICA_ALIGN);
		layout->allocation_tables = opts->allocation_tables;
		at = gpubpf_layout_granules(layout) + GPUBPF_GRANULE_TABLE;
	}
	return gpubpf_align(at, GPUBPF_ARENA_ALIGN);
}

static int report_too_large(const struct gpubpf_unit *unit, const struct gpubpf_layout *layout, uint32_t culprit,
			    uint64_t max, struct gpubpf_diag *diag)
{
	const struct gpubpf_map *map = culprit < unit->nmaps ? &unit->maps[culprit] : NULL;
	/* a map that cannot fit has no layout, only an upper bound of its size */
	bool bound = map && !layout->maps[culprit].data && map->type->impl != &gpubpf_array_impl;
	uint64_t left = map && layout->maps[culprit].ctl < max ? max - layout->maps[culprit].ctl : 0;

	if (diag && map)
		gpubpf_diag_where(diag, "map %s", map->name);
	gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC,
			"the map needs %s%llu bytes on the device; %llu of the %llu bytes for %s are left",
			bound ? "up to " : "", map ? (unsigned long long)layout->maps[culprit].size : 0ull,
			(unsigned long long)left, (unsigned long long)(layout->nmaps ? max - layout->used : max),
			layout->nmaps ? "maps added later" : "all maps");
	gpubpf_diag_remedy(diag, "reduce its max_entries, or use smaller values");
	return -E2BIG;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *p = data;

	while (size--)
		hash = (hash ^ *p++) * 0x100000001b3ull; /* FNV-1a hash */
	return hash;
}

uint64_t gpubpf_layout_granules(const struct gpubpf_layout *layout)
{
	return layout->allocations ? layout->allocations + layout->allocation_tables * (uint64_t)GPUBPF_ALLOCATION_TABLE :
				     0;
}

static void compute_hash(struct gpubpf_layout *layout)
{
	uint32_t shape[] = { GPUBPF_ARENA_VERSION, layout->nmaps, layout->replicas, layout->threads };

	layout->hash = hash_bytes(0xcbf29ce484222325ull, shape, sizeof(shape));
	layout->hash = hash_bytes(layout->hash, layout->maps, layout->nmaps * sizeof(*layout->maps));
	layout->hash = hash_bytes(layout->hash, &layout->prints, sizeof(layout->prints));
	layout->hash = hash_bytes(layout->hash, &layout->allocations, sizeof(layout->allocations));
}

static struct gpubpf_map_scale first_scale(const struct gpubpf_layout_opts *opts)
{
	struct gpubpf_map_scale scale = {
		.replicas = opts->replicas ? opts->replicas : 1,
		.threads = opts->threads ? opts->threads : DEFAULT_THREADS,
		.budget = COPIES_BUDGET,
		.perf_bytes = opts->ring_bytes ? opts->ring_bytes : PERF_BYTES,
	};

	if (scale.replicas > MAX_REPLICAS)
		scale.replicas = MAX_REPLICAS;
	return scale;
}

static int check_maps(const struct gpubpf_unit *unit, uint32_t first, struct gpubpf_diag *diag)
{
	int err = 0;

	assert(unit->nmaps <= GPUBPF_MAX_MAPS);
	for (uint32_t i = first; i < unit->nmaps && !err; i++) {
		struct gpubpf_map map = unit->maps[i];

		err = check_map(&map, diag);
	}
	return err;
}

/* Adds the unit's new maps as one segment. `fixed`: scale->threads must not change. */
static int add_segment(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
		       struct gpubpf_map_scale *scale, bool fixed, uint64_t max, struct gpubpf_layout *layout,
		       struct gpubpf_diag *diag)
{
	uint64_t end, placed = layout->placed;
	uint32_t culprit;

	while ((end = lay_out_maps(unit, opts, scale, max, layout, &culprit)) > max) {
		if (scale->threads > MIN_THREADS && !fixed) {
			scale->threads /= 2;
		} else if (scale->budget) {
			scale->budget = 0;
			scale->perf_bytes = MIN_PERF_BYTES;
		} else {
			return report_too_large(unit, layout, culprit, max, diag);
		}
		layout->placed = placed;
	}
	layout->used = end;
	layout->nmaps = unit->nmaps;
	layout->print_ring = opts->print_bytes || layout->print_ring ? GPUBPF_ARENA_PRINTS : 0;
	layout->replicas = scale->replicas;
	layout->threads = scale->threads;
	compute_hash(layout);
	return 0;
}

/*
 * Moves the maps that are placed outside the arena after the arena's device part, whose end is now known. Reserves
 * memory for more such maps.
 */
static void place_external_maps(struct gpubpf_layout *layout, const struct gpubpf_layout_opts *opts)
{
	layout->own = gpubpf_align(layout->used + opts->spare, GPUBPF_ARENA_ALIGN);
	layout->own = layout->own < MAX_SIZE ? layout->own : MAX_SIZE;
	layout->placed += layout->own;
	layout->size = gpubpf_align(layout->placed + (opts->elsewhere ? opts->spare : 0), GPUBPF_ARENA_ALIGN);
	for (uint32_t i = 0; i < layout->nmaps; i++)
		if (layout->maps[i].flags & GPUBPF_LAYOUT_PLACED) {
			layout->maps[i].ctl += layout->own;
			layout->maps[i].data += layout->own;
		}
}

int gpubpf_layout_compute(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			  struct gpubpf_layout *layout, struct gpubpf_diag *diag)
{
	uint64_t max = opts->max_size ? opts->max_size : DEFAULT_SIZE;
	struct gpubpf_layout out = { .used = GPUBPF_ARENA_DATA };
	struct gpubpf_map_scale scale = first_scale(opts);
	int err = check_maps(unit, 0, diag);

	if (err < 0)
		return err;
	out.maps = calloc(GPUBPF_MAX_MAPS, sizeof(*out.maps));
	if (!out.maps)
		return -ENOMEM;
	err = add_segment(unit, opts, &scale, false, max < MAX_SIZE ? max : MAX_SIZE, &out, diag);
	if (err < 0) {
		free(out.maps);
		return err;
	}
	place_external_maps(&out, opts);
	compute_hash(&out);
	*layout = out;
	return 0;
}

int gpubpf_layout_extend(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			 struct gpubpf_layout *layout, struct gpubpf_diag *diag)
{
	struct gpubpf_map_scale scale = first_scale(opts);
	struct gpubpf_layout out = *layout;
	int err = check_maps(unit, layout->nmaps, diag);

	scale.replicas = layout->replicas;
	scale.threads = layout->threads;
	if (!err)
		err = add_segment(unit, opts, &scale, true, layout->own, &out, diag);
	if (!err)
		*layout = out;
	return err;
}

void gpubpf_layout_finish(struct gpubpf_layout *layout)
{
	free(layout->maps);
	memset(layout, 0, sizeof(*layout));
}
