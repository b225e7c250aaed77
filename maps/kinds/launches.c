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
	uint32_t copies;

	l->flags |= GPUBPF_LAYOUT_ROWS;
	l->stride = GPUBPF_LAUNCHES_STRIDE;
	l->copy_stride = GPUBPF_LAUNCHES_COPY_STRIDE;
	copies = gpubpf_map_max_copies(scale->budget, scale->replicas, l->copy_stride);
	copies = copies < GPUBPF_LAUNCHES_MAX_COPIES ? copies : GPUBPF_LAUNCHES_MAX_COPIES;
	for (l->copies = 1; 2 * l->copies <= copies;)
		l->copies *= 2;
	l->data = gpubpf_align(l->ctl + GPUBPF_LAUNCHES_ROWS + (uint64_t)GPUBPF_LAUNCHES_ROW * l->max_entries,
			       GPUBPF_REPLICA_ALIGN);
	l->size = l->data - l->ctl + GPUBPF_LAUNCHES_SLOTS * l->stride + l->copies * l->copy_stride;
}

static uint64_t count_rows(const struct gpubpf_map_view *view)
{
	return gpubpf_load_acquire_u64((uintptr_t)view->arena + view->layout->ctl + GPUBPF_LAUNCHES_COUNT);
}

static bool has_row(const struct gpubpf_map_view *view, uint64_t n, uint64_t count)
{
	return n < count && count - n <= view->layout->max_entries;
}

/* Return the number of the row with this key, which has only the lower 32 bits. */
static uint64_t number_of_key(const void *key, uint64_t count)
{
	uint32_t low;

	memcpy(&low, key, sizeof(low));
	return count - 1 - (uint32_t)((uint32_t)(count - 1) - low);
}

/*
 * Read row n. Returns -ENOENT if the map does not have it, or if the device still writes it. The arena's words may have
 * any values.
 */
static int read_row(const struct gpubpf_map_view *view, uint64_t n, struct gpubpf_launch_row *r)
{
	const struct gpubpf_map_layout *l = view->layout;
	u64 at = (uintptr_t)view->arena + l->ctl + GPUBPF_LAUNCHES_ROWS + n % l->max_entries * GPUBPF_LAUNCHES_ROW;
	u64 word[GPUBPF_LAUNCH_ROW_WORDS];

	if (!has_row(view, n, count_rows(view)) || !gpubpf_launch_row_load(at, word, n))
		return -ENOENT;
	*r = (struct gpubpf_launch_row){
		.kernel = (uint32_t)word[GPUBPF_LAUNCH_ROW_ORIGIN],
		.launch = word[GPUBPF_LAUNCH_ROW_NUMBER],
		.pid = word[GPUBPF_LAUNCH_ROW_ORIGIN] >> 32,
		.begin = word[GPUBPF_LAUNCH_ROW_BEGIN],
		.time = word[GPUBPF_LAUNCH_ROW_TIME],
		.blocks = word[GPUBPF_LAUNCH_ROW_BLOCKS],
		.ended = word[GPUBPF_LAUNCH_ROW_BLOCKS],
		.sms = word[GPUBPF_LAUNCH_ROW_SMS],
	};
	return 0;
}

static int launches_read(const struct gpubpf_map_view *view, const void *key, void *value)
{
	struct gpubpf_launch_row row;
	int err = read_row(view, number_of_key(key, count_rows(view)), &row);

	if (!err && value)
		memcpy(value, &row, sizeof(row));
	return err;
}

static int launches_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	return -EINVAL;
}

static int launches_erase(const struct gpubpf_map_view *view, const void *key)
{
	return -EINVAL;
}

/* *cursor is the number of the next row. Rows that devices have overwritten are skipped. */
static int launches_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	uint64_t count = count_rows(view), max = view->layout->max_entries, n = *cursor;
	struct gpubpf_launch_row row;

	for (n = n < count && count - n > max ? count - max : n; n < count; n++) {
		uint32_t low = (uint32_t)n;

		if (read_row(view, n, &row))
			continue;
		*cursor = n + 1;
		memcpy(key, &low, sizeof(low));
		if (value)
			memcpy(value, &row, sizeof(row));
		return 0;
	}
	return -ENOENT;
}

static int launches_next(const struct gpubpf_map_view *view, const void *key, void *next)
{
	uint64_t count = count_rows(view), cursor = key ? number_of_key(key, count) + 1 : 0;

	if (cursor && !has_row(view, cursor - 1, count))
		cursor = 0;
	return launches_iterate(view, &cursor, next, NULL);
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
	.op[GPUBPF_OP_LAUNCH_MARK] = launches_mark,
};
