/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the host's side of LAUNCHES maps (launches.h). The host only reads rows. */
#include "maps/impl.h"

#include <errno.h>
#include <string.h>

#include "gpubpf/launch.h"
#include "maps/host/host.h"

#define MAX_ROWS (1u << 20)

static int launches_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	if (map->key_size != 4)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "4");
	if (map->value_size != sizeof(struct gpubpf_launch_row))
		return gpubpf_map_set_fault(fault, "value_size", map->value_size,
					    "64 (the size of struct gpubpf_launch_row)");
	if (map->max_entries > MAX_ROWS)
		return gpubpf_map_set_fault(fault, "max_entries", map->max_entries, "1 to 1048576 (the number of rows)");
	return 0;
}

static void launches_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	uint64_t slots = 4;

	while (slots < 2ull * l->max_entries)
		slots *= 2;
	l->stride = GPUBPF_LAUNCHES_STRIDE;
	l->copy_stride = slots * GPUBPF_LAUNCHES_STRIDE;
	l->copies = gpubpf_map_max_copies(scale->budget, scale->replicas, l->copy_stride);
	l->data = gpubpf_align(l->ctl + GPUBPF_LAUNCHES_ROWS + 8ull * l->max_entries, GPUBPF_REPLICA_ALIGN);
	l->size = l->data - l->ctl + (1 + (uint64_t)l->copies) * l->copy_stride;
}

/* Return the offset of row i from data, or -ENOENT if there is none. The arena's words may have any values. */
static int64_t find_row(const struct gpubpf_map_view *view, uint32_t i)
{
	const struct gpubpf_map_layout *l = view->layout;
	u64 slot = i < l->max_entries ?
			   gpubpf_load_acquire_u64((uintptr_t)view->arena + l->ctl + GPUBPF_LAUNCHES_ROWS + 8ull * i) :
			   0;

	return slot && slot <= l->copy_stride / l->stride ? (int64_t)((slot - 1) * l->stride) : -ENOENT;
}

/* Returns true if an earlier copy has the same number of a multiprocessor. */
static bool is_repeated(const struct gpubpf_map_layout *l, u64 row, uint32_t copy)
{
	u64 sm = gpubpf_load_u64(row + copy * l->copy_stride + GPUBPF_LAUNCHES_SM);

	for (uint32_t c = 0; c < copy; c++)
		if (gpubpf_load_u64(row + c * l->copy_stride + GPUBPF_LAUNCHES_SM) == sm)
			return true;
	return false;
}

static void merge_copies(const struct gpubpf_map_layout *l, u64 first, struct gpubpf_launch_row *r)
{
	u64 begin = 0, end = 0, ended = 0;

	for (uint32_t c = 0; c < l->copies; c++) {
		u64 row = first + c * l->copy_stride, copy_ended = gpubpf_load_acquire_u64(row + GPUBPF_LAUNCHES_ENDED);
		u64 copy_begin = gpubpf_load_u64(row), copy_end = gpubpf_load_u64(row + GPUBPF_LAUNCHES_END);

		begin = copy_begin > begin ? copy_begin : begin;
		end = copy_end > end ? copy_end : end;
		ended += copy_ended;
		r->sms += gpubpf_load_u64(row + GPUBPF_LAUNCHES_SM) && !is_repeated(l, first, c);
	}
	r->begin = begin ? ~begin : 0;
	r->ended = ended / GPUBPF_LAUNCH_ENDS;
	r->time = r->ended == r->blocks && end > r->begin ? end - r->begin : 0;
}

static void read_row(const struct gpubpf_map_view *view, int64_t offset, void *value)
{
	const struct gpubpf_map_layout *l = view->layout;
	u64 slot = (uintptr_t)view->arena + l->data + (uint64_t)offset;
	u64 kernel = gpubpf_load_u64(slot + GPUBPF_LAUNCHES_ORIGIN);
	struct gpubpf_launch_row r = {
		.kernel = (uint32_t)kernel,
		.launch = gpubpf_load_u64(slot + GPUBPF_LAUNCHES_NUMBER),
		.pid = kernel >> 32,
		.blocks = gpubpf_load_u64(slot + GPUBPF_LAUNCHES_ENDS) / GPUBPF_LAUNCH_ENDS,
	};

	merge_copies(l, slot + l->copy_stride, &r);
	memcpy(value, &r, sizeof(r));
}

static int launches_read(const struct gpubpf_map_view *view, const void *key, void *value)
{
	int64_t offset;
	uint32_t i;

	memcpy(&i, key, sizeof(i));
	offset = find_row(view, i);
	if (offset < 0)
		return -ENOENT;
	if (value)
		read_row(view, offset, value);
	return 0;
}

static int launches_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	return -EINVAL;
}

static int launches_erase(const struct gpubpf_map_view *view, const void *key)
{
	return -EINVAL;
}

/* A launch claims its slot before it adds its row, so a row may appear after a later one. */
static int launches_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	while (*cursor < view->layout->max_entries) {
		uint32_t i = (uint32_t)(*cursor)++;

		if (launches_read(view, &i, value))
			continue;
		memcpy(key, &i, sizeof(i));
		return 0;
	}
	return -ENOENT;
}

static int launches_next(const struct gpubpf_map_view *view, const void *key, void *next)
{
	uint64_t cursor = 0;
	uint32_t i;

	if (key) {
		memcpy(&i, key, sizeof(i));
		cursor = i < view->layout->max_entries ? i + 1ull : 0;
	}
	return launches_iterate(view, &cursor, next, NULL);
}

/*
 * Count launches that share the row of an earlier launch, because they had the same mark. This can be so for graphs of
 * CUDA, whose launches have fixed arguments.
 */
static uint64_t count_shared(const struct gpubpf_map_view *view)
{
	struct gpubpf_launch_row r;
	uint64_t n = 0;
	uint32_t key;

	for (uint64_t cursor = 0; !launches_iterate(view, &cursor, &key, &r);)
		n += r.blocks && r.ended > r.blocks ? (r.ended - 1) / r.blocks : 0;
	return n;
}

HOST_OP(launches, mark, arg[0], arg[1], arg[2], arg[3])

const struct gpubpf_map_impl gpubpf_launches_impl = {
	.name = "launches",
	.check = launches_check,
	.size = launches_size,
	.read = launches_read,
	.write = launches_write,
	.erase = launches_erase,
	.next = launches_next,
	.iterate = launches_iterate,
	.drops = count_shared,
	.op[GPUBPF_OP_LAUNCH_MARK] = launches_mark,
};
