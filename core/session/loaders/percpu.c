/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts values per multiprocessor for loaders. A loader's buffer has one value per possible CPU. A device may have
 * more multiprocessors than the host has CPUs. If programs only add to the values, the values that do not fit are added
 * to the other values. So the total stays correct.
 */
#include "private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/session/kernel_bpf/kernel_maps.h"

#define ROUND8(n) (((size_t)(n) + 7) & ~(size_t)7)

/* Returns the number of possible CPUs, counted as libbpf does: "0-3,8" means 5. */
static size_t count_possible_cpus(void)
{
	static size_t known;
	unsigned first, last;
	FILE *f = known ? NULL : fopen("/sys/devices/system/cpu/possible", "re");

	while (f && fscanf(f, "%u", &first) == 1) {
		last = fscanf(f, "-%u", &last) == 1 ? last : first;
		known += last >= first && last - first < 65536 ? last - first + 1 : 0;
		if (fgetc(f) != ',')
			break;
	}
	if (f)
		fclose(f);
	known = known ? known : 1;
	return known;
}

size_t sys_value_size(const struct gpubpf_map *map)
{
	return gpubpf_map_is_percpu(map) ? count_possible_cpus() * ROUND8(map->value_size) :
					   gpubpf_map__user_value_size(map);
}

static bool is_zero(const uint8_t *data, size_t size)
{
	return !size || (!data[0] && !memcmp(data, data + 1, size - 1));
}

static int note_refusal(struct gpubpf_session *s, const struct gpubpf_map *map, int err, const char *what,
			const char *instead)
{
	size_t each = ROUND8(map->value_size);

	gpubpf_session_note(s,
			    "map %s: %s: a key has %zu values, one per multiprocessor, but bpf(2) passes %zu, one "
			    "per CPU%s; %s",
			    map->name, what, gpubpf_map__user_value_size(map) / each, sys_value_size(map) / each,
			    err == -E2BIG ? ", and they cannot be added up" : "", instead);
	return err;
}

/*
 * Copy the values in `from` to the buffer `to` of `room` bytes, and add the values that do not fit to the others.
 * Returns -E2BIG if a value that does not fit is not zero and values of the map cannot be added.
 */
static int fold_copies(const struct gpubpf_map *map, const uint8_t *from, size_t size, uint8_t *to, size_t room)
{
	size_t each = ROUND8(map->value_size), n = size < room ? size : room;

	memset(to, 0, room);
	memcpy(to, from, n);
	if (size <= room || is_zero(from + room, size - room))
		return 0;
	if (!gpubpf_map_is_summed(map->session, gpubpf_map_index(map)))
		return -E2BIG;
	for (size_t i = room; i < size; i += each)
		gpubpf_sum_add(map, to + i % room, from + i, each, false);
	return 0;
}

int sys_value_lookup(struct gpubpf_session *s, const struct gpubpf_map *map, sys_lookup_fn *look, const void *key,
		     size_t key_size, void *value, uint64_t flags)
{
	size_t size = gpubpf_map__user_value_size(map);
	uint8_t *all;
	int err;

	if (!gpubpf_map_is_percpu(map))
		return look(map, key, key_size, value, size, flags);
	all = calloc(1, size + 8);
	err = all ? look(map, key, key_size, all, size, flags) : -ENOMEM;
	if (!err && fold_copies(map, all, size, value, sys_value_size(map)) < 0)
		err = note_refusal(s, map, -E2BIG, "look-ups by loaders are refused (E2BIG)",
				   "use gpubpf map dump to show all");
	free(all);
	return err;
}

int sys_value_update(struct gpubpf_session *s, const struct gpubpf_map *map, const void *key, size_t key_size,
		     const void *value, size_t value_size, uint64_t flags)
{
	size_t size = gpubpf_map__user_value_size(map);
	uint8_t *all;
	int err;

	if (!gpubpf_map_is_percpu(map))
		return gpubpf_map__update_elem(map, key, key_size, value, value_size, flags);
	if (value_size != sys_value_size(map))
		return -EINVAL;
	all = calloc(1, size + 8);
	err = all ? 0 : -ENOMEM;
	if (!err && gpubpf_linux_cpus_size(map->session, gpubpf_map_index(map)) == value_size)
		/* the loader's values belong to CPUs, and come after the values of the multiprocessors */
		memcpy(all + size - value_size, value, value_size);
	else if (!err && fold_copies(map, value, value_size, all, size) < 0)
		err = note_refusal(s, map, -E2BIG, "updates by loaders are refused (E2BIG)",
				   "set the values that exceed the number of multiprocessors to 0");
	if (!err)
		err = gpubpf_map__update_elem(map, key, key_size, all, size, flags);
	free(all);
	return err;
}

int sys_value_check_batch(struct gpubpf_session *s, const struct gpubpf_map *map)
{
	if (!gpubpf_map_is_percpu(map) || sys_value_size(map) == gpubpf_map__user_value_size(map))
		return 0;
	return note_refusal(s, map, -EOPNOTSUPP, "batches are refused (EOPNOTSUPP)", "use one key per call");
}
