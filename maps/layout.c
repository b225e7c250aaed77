/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where maps lie in an arena, and how many copies each has. Before: maps as loaded, of any size. After:
 * every offset is below size, and no product of a layout's numbers exceeds it.
 */
#include "maps.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "core/diag.h"
#include "core/facts.h"
#include "host.h"

#define DEFAULT_SIZE (1ull << 30)
#define DEFAULT_THREADS (1u << 20)
#define FEW_THREADS 1024u           /* below this a per-thread map is of no use */
#define COPIES_BUDGET (64ull << 20) /* bytes that all copies of one map may take */
#define PERF_BYTES (4ull << 20)
#define PERF_COPY (64ull << 10)     /* no copy of a ring is made smaller than this */
#define GPU_RING_COPY (1ull << 20)
#define RING_MIN 128ull
#define RECORD_MAX (64ull << 10)    /* bytes of a ring's record with its header */
#define MAX_REPLICAS 65536u
#define MAX_SIZE (1ull << 36)       /* ring.h relies on it */

/* how generous to be; made smaller until the arena fits */
struct scale {
	uint32_t replicas, threads;
	uint64_t budget;
	uint64_t perf_bytes;
};

static uint64_t align_to(uint64_t n, uint64_t to)
{
	return (n + to - 1) & ~(to - 1);
}

static uint64_t round8(uint64_t n)
{
	return align_to(n, 8);
}

static uint64_t pow2_at_least(uint64_t n)
{
	uint64_t p = 1;

	while (p < n && p < 1ull << 62)
		p <<= 1;
	return p;
}

/* Values that device programs only add to, all in one width, need not be one word for everyone. */
static uint32_t sum_flag(const struct gpubpf_map *map, uint32_t use)
{
	const uint32_t other = GPUBPF_USE_READ | GPUBPF_USE_WRITE | GPUBPF_USE_DELETE | GPUBPF_USE_RMW |
			       GPUBPF_USE_ATOMIC | GPUBPF_USE_OUTPUT;

	if (!(map->type->flags & GPUBPF_MAP_REPLICA) || map->rdonly || !(use & GPUBPF_USE_ADD) || (use & other))
		return 0;
	if ((use & GPUBPF_USE_ADD4) && (use & GPUBPF_USE_ADD8))
		return 0;
	return use & GPUBPF_USE_ADD4 ? GPUBPF_LAYOUT_SUM4 : GPUBPF_LAYOUT_SUM8;
}

/* as many copies of `bytes` as the budget allows, at least 1, at most one a multiprocessor */
static uint32_t affordable(uint64_t budget, uint32_t replicas, uint64_t bytes)
{
	uint64_t n = budget / bytes;

	return n < 1 ? 1 : n < replicas ? (uint32_t)n : replicas;
}

static void size_array(struct gpubpf_map_layout *l, const struct scale *scale)
{
	uint64_t bytes;

	l->stride = round8(l->value_size);
	bytes = align_to(l->max_entries * l->stride, GPUBPF_REPLICA_ALIGN);
	if (l->flags & GPUBPF_LAYOUT_COPIES)
		l->copies = scale->replicas;
	else if (l->flags & (GPUBPF_LAYOUT_SUM8 | GPUBPF_LAYOUT_SUM4))
		l->copies = bytes <= scale->budget / scale->replicas ? scale->replicas : 1;
	l->copy_stride = bytes;
	l->data = l->ctl + sizeof(struct gpubpf_map_ctl);
	l->size = l->data - l->ctl + l->copies * bytes;
}

static void size_threads(struct gpubpf_map_layout *l, const struct scale *scale)
{
	l->copies = scale->threads;
	l->copy_stride = round8(l->value_size);
	l->stride = l->copies * l->copy_stride;
	l->data = l->ctl + sizeof(struct gpubpf_map_ctl);
	l->size = l->data - l->ctl + l->max_entries * l->stride;
}

static void size_hash(struct gpubpf_map_layout *l, const struct scale *scale)
{
	uint64_t values = align_to(l->max_entries * round8(l->value_size), GPUBPF_REPLICA_ALIGN);
	uint64_t elems, buckets = GPUBPF_HASH_BUCKETS + 8ull * gpubpf_hash_nbuckets(l->max_entries);

	if ((l->flags & (GPUBPF_LAYOUT_SUM8 | GPUBPF_LAYOUT_SUM4)) && values <= scale->budget / scale->replicas)
		l->copies = scale->replicas;
	l->copy_stride = l->copies > 1 ? values : 0;
	l->stride = GPUBPF_HASH_KEY + round8(l->key_size) + (l->copies > 1 ? 0 : round8(l->value_size));
	elems = l->max_entries * l->stride;
	/* the elements end where a line begins, so that copies of values do not share one */
	l->data = align_to(l->ctl + buckets + elems, GPUBPF_REPLICA_ALIGN) - elems;
	l->size = l->data - l->ctl + elems + l->copies * l->copy_stride;
}

static uint64_t ring_bytes(const struct gpubpf_map_layout *l, const struct scale *scale)
{
	uint64_t bytes = l->max_entries;

	if (l->type == BPF_MAP_TYPE_PERF_EVENT_ARRAY) {
		bytes = scale->perf_bytes / scale->replicas;
		return pow2_at_least(bytes < PERF_COPY ? PERF_COPY : bytes);
	}
	if (l->type == GPUBPF_MAP_GPU_RINGBUF) {
		bytes *= round8(l->value_size) + 8;
		if (bytes < GPU_RING_COPY && scale->budget)
			bytes = GPU_RING_COPY;
	}
	return pow2_at_least(bytes < RING_MIN ? RING_MIN : bytes);
}

/* the room behind a segment for the last record, which bounds what a record may have */
static uint64_t record_room(const struct gpubpf_map_layout *l)
{
	uint64_t words = round8(l->value_size) / 8;

	if (l->value_size && l->value_size <= GPUBPF_RING_EACH_MAX) /* and 32 of them together */
		return align_to(gpubpf_ring_batch_head(words, 1) + 32 * 8 * words, GPUBPF_REPLICA_ALIGN);
	if (l->value_size)
		return align_to(8 * words + 8, GPUBPF_REPLICA_ALIGN);
	return l->stride < RECORD_MAX ? l->stride : RECORD_MAX;
}

static uint64_t ring_stride(const struct gpubpf_map_layout *l)
{
	return l->stride + GPUBPF_RING_SEGMENTS * record_room(l);
}

/* Every copy has all the room if the budget is enough for that, else all together have it. */
static void size_ring(struct gpubpf_map_layout *l, const struct scale *scale)
{
	uint64_t wanted = l->stride = ring_bytes(l, scale), budget = 0;

	if (scale->budget) {
		budget = 2 * wanted + scale->replicas * GPUBPF_RING_SEGMENTS * record_room(l);
		budget = budget > scale->budget ? budget : scale->budget;
	}
	while (budget && l->stride > PERF_COPY && scale->replicas * ring_stride(l) > budget)
		l->stride /= 2;
	l->copy_stride = ring_stride(l);
	l->copies = affordable(budget, scale->replicas, l->copy_stride);
	l->data = align_to(GPUBPF_RING_CTL_END(l->ctl, l->copies), GPUBPF_REPLICA_ALIGN);
	l->size = l->data - l->ctl + l->copies * l->copy_stride;
}

/* What a bpf(2) user would be told too. The bounds keep one entry's bytes times max_entries in 64 bits. */
static int check_map(const struct gpubpf_map *map, struct gpubpf_diag *diag)
{
	uint32_t flags = map->type->flags;
	const char *what = NULL;

	if (!map->max_entries && map->type->number != BPF_MAP_TYPE_PERF_EVENT_ARRAY)
		what = "max_entries is 0";
	else if ((flags & GPUBPF_MAP_KEYED) && (!map->key_size || !map->value_size))
		what = "a key or a value has size 0";
	else if ((flags & GPUBPF_MAP_U32KEY) && map->key_size != 4)
		what = "the key of an array must have 4 bytes";
	else if (map->key_size > 512 || map->value_size > 1u << 26)
		what = "a key has at most 512 bytes, a value 64 MiB";
	else if (map->type->number == GPUBPF_MAP_GPU_RINGBUF && !map->value_size)
		what = "value_size, the room of a record, is 0";
	else if (map->max_entries > GPUBPF_HASH_MAX)
		what = "max_entries is too large";
	if (!what)
		return 0;
	if (diag)
		gpubpf_diag_where(diag, "map %s", map->name);
	gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC, "%s", what);
	return -EINVAL;
}

static void describe(const struct gpubpf_map *map, uint32_t use, struct gpubpf_map_layout *l)
{
	uint32_t type = map->type->flags;

	*l = (struct gpubpf_map_layout){
		.type = map->type->number,
		.key_size = map->key_size,
		.value_size = map->value_size,
		.max_entries = map->max_entries,
		.copies = 1,
		.flags = sum_flag(map, use),
	};
	if (map->rdonly)
		l->flags |= GPUBPF_LAYOUT_RDONLY;
	if (use & GPUBPF_USE_DELETE)
		l->flags |= GPUBPF_LAYOUT_DELETES;
	if ((type & GPUBPF_MAP_COPIES) && !(type & GPUBPF_MAP_THREAD))
		l->flags |= GPUBPF_LAYOUT_COPIES;
	if (type & GPUBPF_MAP_RING && l->type != BPF_MAP_TYPE_RINGBUF)
		l->flags |= GPUBPF_LAYOUT_PERF;
	if (type & GPUBPF_MAP_RING && l->type != GPUBPF_MAP_GPU_RINGBUF)
		l->value_size = 0;
}

static void size_map(struct gpubpf_map_layout *l, uint32_t type_flags, const struct scale *scale)
{
	if (type_flags & GPUBPF_MAP_RING)
		size_ring(l, scale);
	else if (type_flags & GPUBPF_MAP_THREAD)
		size_threads(l, scale);
	else if (type_flags & GPUBPF_MAP_U32KEY)
		size_array(l, scale);
	else
		size_hash(l, scale);
	if (l->copies == 1)
		l->flags &= ~(uint32_t)(GPUBPF_LAYOUT_SUM8 | GPUBPF_LAYOUT_SUM4);
}

/* Could all copies that the map must have fit in max bytes? Then no product of its numbers overflows. */
static bool plausible(const struct gpubpf_map *map, const struct scale *scale, uint64_t max)
{
	uint32_t type = map->type->flags;
	uint64_t copies = type & GPUBPF_MAP_THREAD ? scale->threads : type & GPUBPF_MAP_COPIES ? scale->replicas : 1;
	uint64_t entry = round8(map->key_size) + round8(map->value_size) + GPUBPF_HASH_KEY;

	return type & GPUBPF_MAP_RING && !map->value_size ? true : map->max_entries * entry <= max / copies;
}

static void size_print_ring(struct gpubpf_map_layout *l, uint64_t at, uint32_t bytes)
{
	*l = (struct gpubpf_map_layout){ .type = BPF_MAP_TYPE_RINGBUF, .max_entries = bytes, .ctl = at };
	size_ring(l, &(struct scale){ .replicas = 1 });
}

/* Place everything one after the other; returns where it ends, and the first map that does not fit. */
static uint64_t place(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
		      const struct scale *scale, uint64_t max, struct gpubpf_layout *layout, uint32_t *culprit)
{
	uint64_t at = GPUBPF_ARENA_MAPS + (unit->nmaps + 1ull) * sizeof(*layout->maps);
	uint32_t i;

	*culprit = UINT32_MAX;
	for (i = 0; i < unit->nmaps; i++) {
		struct gpubpf_map_layout *l = &layout->maps[i];

		describe(&unit->maps[i], opts->map_use ? opts->map_use[i] : 0, l);
		l->ctl = align_to(at, GPUBPF_REPLICA_ALIGN);
		if (plausible(&unit->maps[i], scale, max))
			size_map(l, unit->maps[i].type->flags, scale);
		else
			l->size = l->max_entries * round8(l->value_size);
		at = l->ctl + l->size;
		if (at > max || !l->data) {
			*culprit = i;
			return max + 1;
		}
	}
	layout->print_ring = 0;
	if (opts->print_bytes) {
		size_print_ring(&layout->maps[i], align_to(at, GPUBPF_REPLICA_ALIGN), opts->print_bytes);
		layout->print_ring = GPUBPF_ARENA_MAPS + unit->nmaps * sizeof(*layout->maps);
		at = layout->maps[i].ctl + layout->maps[i].size;
	}
	return align_to(at, GPUBPF_ARENA_ALIGN);
}

static int too_large(const struct gpubpf_unit *unit, const struct gpubpf_layout *layout, uint32_t culprit,
		     uint64_t max, struct gpubpf_diag *diag)
{
	if (diag && culprit < unit->nmaps)
		gpubpf_diag_where(diag, "map %s", unit->maps[culprit].name);
	gpubpf_diag_set(diag, GPUBPF_E_BAD_MAP, GPUBPF_NOPC,
			"the map needs %llu bytes on the device, and all maps together may have %llu",
			culprit < unit->nmaps ? (unsigned long long)layout->maps[culprit].size : 0ull,
			(unsigned long long)max);
	return -E2BIG;
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *p = data;

	while (size--)
		hash = (hash ^ *p++) * 0x100000001b3ull; /* FNV-1a */
	return hash;
}

static void seal(struct gpubpf_layout *layout)
{
	uint32_t n = layout->nmaps + (layout->print_ring != 0);
	uint32_t shape[] = { GPUBPF_ARENA_VERSION, layout->nmaps, layout->replicas, layout->threads };

	layout->hash = hash_bytes(0xcbf29ce484222325ull, shape, sizeof(shape));
	layout->hash = hash_bytes(layout->hash, layout->maps, n * sizeof(*layout->maps));
}

static struct scale first_scale(const struct gpubpf_layout_opts *opts)
{
	struct scale scale = {
		.replicas = opts->replicas ? opts->replicas : 1,
		.threads = opts->threads ? opts->threads : DEFAULT_THREADS,
		.budget = COPIES_BUDGET,
		.perf_bytes = opts->ring_bytes ? opts->ring_bytes : PERF_BYTES,
	};

	if (scale.replicas > MAX_REPLICAS)
		scale.replicas = MAX_REPLICAS;
	return scale;
}

int gpubpf_layout_compute(const struct gpubpf_unit *unit, const struct gpubpf_layout_opts *opts,
			  struct gpubpf_layout *layout, struct gpubpf_diag *diag)
{
	uint64_t max = opts->max_size ? opts->max_size : DEFAULT_SIZE, end; /* end: as placed */
	struct scale scale = first_scale(opts);
	struct gpubpf_layout out = { .nmaps = unit->nmaps };
	uint32_t i, culprit;
	int err;

	max = max < MAX_SIZE ? max : MAX_SIZE;
	for (i = 0; i < unit->nmaps; i++) {
		err = check_map(&unit->maps[i], diag);
		if (err < 0)
			return err;
	}
	out.maps = calloc(unit->nmaps + 1ull, sizeof(*out.maps));
	if (!out.maps)
		return -ENOMEM;
	while ((end = place(unit, opts, &scale, max, &out, &culprit)) > max) {
		if (scale.threads > FEW_THREADS) {
			scale.threads /= 2;
		} else if (scale.budget) {
			scale.budget = 0;
			scale.perf_bytes = PERF_COPY;
		} else {
			err = too_large(unit, &out, culprit, max, diag);
			free(out.maps);
			return err;
		}
	}
	out.size = end;
	out.replicas = scale.replicas;
	out.threads = scale.threads;
	seal(&out);
	*layout = out;
	return 0;
}

void gpubpf_layout_finish(struct gpubpf_layout *layout)
{
	free(layout->maps);
	memset(layout, 0, sizeof(*layout));
}
