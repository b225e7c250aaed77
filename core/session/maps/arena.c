/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates the arenas of a session. Each arena is the memory of all maps on one device, or on all devices that use host
 * memory.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host_calls.h"
#include "synced.h"

#define MAX_REPLICAS 1024 /* limit on a device's replicas: the session reads the ring of each replica often */
#define MIN_ARENA_BYTES (1ull << 30)
#define MAX_ARENA_BYTES (16ull << 30)
/* spare bytes in an arena for objects that join later; they take device memory even if no object joins */
#define MIN_SPARE_BYTES (16ull << 20)
#define MAX_SPARE_BYTES (256ull << 20)

static int map_kernel_pages(struct gpubpf_session *s, const struct gpubpf_session_arena *a, uint32_t first,
			    struct gpubpf_diag *diag)
{
	int err = gpubpf_linux_map_pages(s, a, first);

	return err < 0 ? gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC,
					 "cannot map the Linux kernel's arrays: %s", strerror(-err)) :
			 0;
}

/*
 * Set the diagnostic for a memfd that could not be created. The reason is a limit of the process (RLIMIT_FSIZE or open
 * files) or lack of memory.
 */
static int refuse_memfd(const struct gpubpf_session_arena *a, struct gpubpf_diag *diag)
{
	unsigned long long size = a->layout.size;

	if (a->fd == -EFBIG)
		return gpubpf_diag_set(diag, GPUBPF_E_FILE_SIZE, GPUBPF_NOPC,
				       "cannot create %llu bytes of memory for maps: %s", size, strerror(EFBIG));
	if (a->fd == -EMFILE || a->fd == -ENFILE)
		return gpubpf_diag_set(diag, GPUBPF_E_OPEN_FILES, GPUBPF_NOPC, "cannot create the memory for maps: %s",
				       strerror(-a->fd));
	return gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "no memory for maps of %llu bytes: %s", size,
			       strerror(-a->fd));
}

static int map_arena(struct gpubpf_session *s, struct gpubpf_session_arena *a, struct gpubpf_diag *diag)
{
	a->fd = gpubpf_memfd_shared("gpubpf-arena", a->layout.size);
	if (a->fd < 0)
		return refuse_memfd(a, diag);
	a->base = mmap(NULL, a->layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	if (a->base == MAP_FAILED) {
		close(a->fd);
		return gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC, "cannot map %llu bytes of maps: %s",
				       (unsigned long long)a->layout.size, strerror(errno));
	}
	gpubpf_arena_init(a->base, gpubpf_session_unit(s), &a->layout);
	return a->shared ? map_kernel_pages(s, a, 0, diag) : 0;
}

/*
 * Report notes for maps that Linux kernel programs write. A device with its own memory has a copy of earlier values,
 * and does not see later writes.
 */
static void warn_not_shared(struct gpubpf_session *s, const char *device)
{
	for (uint32_t m = 0; m < gpubpf_session_unit(s)->nmaps; m++)
		if ((gpubpf_session_unit(s)->maps[m].kernel || gpubpf_linux_maps_is_synced(s, m)) &&
		    !gpubpf_session_unit(s)->maps[m].rdonly && !gpubpf_map_is_merged(s, m))
			gpubpf_session_note(s,
					    "map %s: %s has its own memory, so later writes of Linux kernel "
					    "programs, or of a loader that maps it, do not reach the device",
					    gpubpf_session_unit(s)->maps[m].name, device);
}

/*
 * Returns the maximum size of an arena in a device's own memory. Its mirror uses host memory only for pages that were
 * written.
 */
static uint64_t max_arena_size(uint64_t memory)
{
	uint64_t room = memory / 8;

	return room < MIN_ARENA_BYTES ? MIN_ARENA_BYTES : room > MAX_ARENA_BYTES ? MAX_ARENA_BYTES : room;
}

static uint64_t spare_size(uint64_t memory)
{
	uint64_t spare = memory / 64;

	return spare < MIN_SPARE_BYTES ? MIN_SPARE_BYTES : spare > MAX_SPARE_BYTES ? MAX_SPARE_BYTES : spare;
}

/* Returns the number of processes whose allocations an arena can list. */
static uint32_t allocation_table_count(bool shared)
{
	return shared ? GPUBPF_ALLOCATION_TABLES : 1;
}

/*
 * Choose the kind of memory for each map of the unit from `first` on. Stores it in a->places and as flags for the
 * layout.
 */
static int choose_places(struct gpubpf_session *s, struct gpubpf_session_arena *a, const struct gpubpf_unit *unit,
			 uint32_t first, const uint32_t *map_use, uint32_t *flags, struct gpubpf_diag *diag)
{
	int err = a->shared ? gpubpf_placements_shared(s, unit, first, map_use, a->places, diag) :
			      gpubpf_placements_choose(s, unit, first, map_use, a->caps, a->name, a->places, diag);

	for (uint32_t m = first; m < unit->nmaps && !err; m++)
		flags[m] = a->shared ? a->places[m] & ~(uint32_t)GPUBPF_LAYOUT_PLACED : a->places[m];
	return err;
}

int gpubpf_arena_open(struct gpubpf_session *s, uint32_t replicas, const struct gpubpf_device_caps *caps,
		      uint64_t memory, uint32_t process, struct gpubpf_diag *diag)
{
	struct gpubpf_session_arena *a = &s->maps->arenas[s->maps->narenas];
	bool shared = !caps;
	uint32_t places[GPUBPF_MAX_MAPS];
	struct gpubpf_layout_opts opts = {
		.replicas = replicas ? replicas : 1,
		.threads = s->opts.threads,
		.print_bytes = gpubpf_session_has_prints(s) ? GPUBPF_PRINT_BYTES : 0,
		.map_use = gpubpf_session_map_use(s),
		.allocation_tables = gpubpf_session_has_allocations(s) ? allocation_table_count(shared) : 0,
		.max_size = max_arena_size(memory),
		.spare = spare_size(memory),
		.places = places,
		.elsewhere = !shared,
	};
	int err;

	if (s->maps->narenas == GPUBPF_MAX_ARENAS)
		return gpubpf_diag_set(diag, GPUBPF_E_NO_MEMORY, GPUBPF_NOPC,
				       "a session can have at most %u arenas, one per device with its own memory",
				       GPUBPF_MAX_ARENAS);
	*a = (struct gpubpf_session_arena){ .shared = shared, .process = process };
	if (caps) {
		a->device = caps->ordinal;
		a->caps = caps->bits;
		memcpy(a->backend, caps->backend, sizeof(a->backend));
		memcpy(a->name, caps->name, sizeof(a->name));
	}
	err = choose_places(s, a, gpubpf_session_unit(s), 0, gpubpf_session_map_use(s), places, diag);
	if (err < 0)
		return err;
	err = gpubpf_layout_compute(gpubpf_session_unit(s), &opts, &a->layout, diag);
	if (err < 0)
		return err;
	err = map_arena(s, a, diag);
	if (err < 0) {
		gpubpf_layout_finish(&a->layout);
		return err;
	}
	a->nactive_maps = a->layout.nmaps;
	return s->maps->narenas++;
}

int gpubpf_arena_lay_out(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_unit *unit, const uint32_t *map_use,
			 bool prints, bool allocations, struct gpubpf_layout *layout, struct gpubpf_diag *diag)
{
	struct gpubpf_session_arena *a = &s->maps->arenas[arena];
	uint32_t places[GPUBPF_MAX_MAPS];
	struct gpubpf_layout_opts opts = {
		.print_bytes = prints ? GPUBPF_PRINT_BYTES : 0,
		.map_use = map_use,
		.allocation_tables = allocations ? allocation_table_count(a->shared) : 0,
		.places = places,
	};
	int err = choose_places(s, a, unit, layout->nmaps, map_use, places, diag);

	return err < 0 ? err : gpubpf_layout_extend(unit, &opts, layout, diag);
}

/*
 * Copy the values of a map that the tool has set, for example configuration, from arena 0 to the arena of a device that
 * appears later. The elements that the map's definition initializes are first deleted in the new arena, because the
 * tool may have deleted them in arena 0.
 */
static int seed_map(struct gpubpf_session *s, uint32_t arena, uint32_t map)
{
	const struct gpubpf_map *m = &gpubpf_session_unit(s)->maps[map];
	struct gpubpf_map_view from = gpubpf_arena_view(s, 0, map), to = gpubpf_arena_view(s, arena, map);
	uint8_t *key = malloc(m->key_size + 8), *value = malloc(m->value_size + 8);
	uint64_t cursor = 0;
	int err = m->type->flags & (GPUBPF_MAP_COPIES | GPUBPF_MAP_RING) || m->rdonly ? -ENOENT : 0;

	if (!key || !value)
		err = -ENOMEM;
	for (uint32_t i = 0; i < m->nelements && !err; i++) {
		memset(key, 0, m->key_size);
		memcpy(key, &m->elements[i].key, sizeof(m->elements[i].key));
		gpubpf_map_delete(&to, key);
	}
	while (!err) {
		err = gpubpf_map_iterate(&from, &cursor, key, value);
		if (!err)
			err = gpubpf_map_update(&to, key, value, 0);
	}
	free(key);
	free(value);
	return err == -ENOENT ? 0 : err;
}

/*
 * Copy a page of summed maps to a->initial, unless the page is zero. Its values were copied from arena 0, so readers
 * subtract them from the device's values.
 */
static int save_page(struct gpubpf_session_arena *a, uint64_t at, uint64_t size)
{
	static const char zeros[GPUBPF_ARENA_ALIGN];

	if (!memcmp((char *)a->base + at, zeros, size))
		return 0;
	if (!a->initial) {
		a->initial = mmap(NULL, a->layout.size, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (a->initial == MAP_FAILED) {
			a->initial = NULL;
			return -errno;
		}
	}
	memcpy((char *)a->initial + at, (char *)a->base + at, size);
	return 0;
}

/* Save the map's pages to which the memfd has allocated memory. All other pages are zero. */
static int save_map(struct gpubpf_session_arena *a, const struct gpubpf_map_layout *l)
{
	uint64_t end = l->ctl + l->size;
	off_t at = lseek(a->fd, l->ctl, SEEK_DATA);
	int err = 0;

	while (!err && at >= 0 && (uint64_t)at < end) {
		uint64_t next = ((uint64_t)at / GPUBPF_ARENA_ALIGN + 1) * GPUBPF_ARENA_ALIGN;

		err = save_page(a, at, (next < end ? next : end) - at);
		at = lseek(a->fd, next, SEEK_DATA);
	}
	return err;
}

static void save_initial_values(struct gpubpf_session *s, struct gpubpf_session_arena *a, uint32_t first)
{
	for (uint32_t m = first; m < a->layout.nmaps; m++)
		if (gpubpf_map_is_summed(s, m) && save_map(a, &a->layout.maps[m]) < 0)
			gpubpf_session_note(s,
					    "map %s: its initial values are counted once per device, because memory "
					    "to store them is short",
					    gpubpf_session_unit(s)->maps[m].name);
}

void gpubpf_arena_grow(struct gpubpf_session *s, uint32_t arena, const struct gpubpf_layout *layout)
{
	struct gpubpf_session_arena *a = &s->maps->arenas[arena];
	uint32_t first = a->layout.nmaps;

	a->layout = *layout;
	gpubpf_arena_extend(a->base, gpubpf_session_unit(s), layout, first);
	if (!a->shared)
		save_initial_values(s, a, first);
	else if (gpubpf_linux_map_pages(s, a, first) < 0)
		gpubpf_session_note(s, "devices cannot share the arrays of loaders or of the Linux kernel: %s",
				    strerror(errno));
}

/* Returns true if only the host changes the map's values, so that they are the same on all devices. */
static bool is_host_only(const struct gpubpf_session *s, uint32_t map)
{
	return !(gpubpf_session_map_use(s)[map] & ~(uint32_t)(GPUBPF_USE_LOOKUP | GPUBPF_USE_READ | GPUBPF_USE_ELEMENT));
}

/*
 * Copy the values that the tool has set, for maps from `first` on, from arena 0 to the device's arena. If `own` is set,
 * no device uses arena 0. Then all values in arena 0 come from the tool, and all maps are copied. Otherwise only maps
 * that no program changes are copied.
 */
static void seed_maps(struct gpubpf_session *s, uint32_t arena, uint32_t first, bool own, const char *device)
{
	for (uint32_t m = first; m < gpubpf_session_unit(s)->nmaps; m++)
		if (s->maps->set[m] && (own || is_host_only(s, m)) && seed_map(s, arena, m) < 0)
			gpubpf_session_note(s, "map %s: some values that were set before kernels ran could not be copied to %s",
					    gpubpf_session_unit(s)->maps[m].name, device);
}

void gpubpf_arenas_activate(struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->maps->narenas; i++) {
		struct gpubpf_session_arena *a = &s->maps->arenas[i];

		if (a->nactive_maps == a->layout.nmaps)
			continue;
		if (!a->shared) {
			seed_maps(s, i, a->nactive_maps, true, "all devices");
			save_initial_values(s, a, a->nactive_maps);
		} else {
			gpubpf_linux_share_all(s, a->nactive_maps);
		}
		a->nactive_maps = a->layout.nmaps;
		gpubpf_arena_publish(a->base, &a->layout);
	}
	gpubpf_host_calls_update(s);
}

/*
 * Store the runtime of the devices on host memory, so that the report can name the runtime of their records. These
 * devices share an arena. If they have several runtimes, the stored name is "".
 */
static void note_shared(struct session_maps *maps, const struct gpubpf_device_caps *caps)
{
	if (!(caps->bits & GPUBPF_CAP_SHARED_ARENA) || maps->shared_mixed)
		return;
	maps->shared_mixed = maps->shared_backend[0] && strcmp(maps->shared_backend, caps->backend);
	snprintf(maps->shared_backend, sizeof(maps->shared_backend), "%s", maps->shared_mixed ? "" : caps->backend);
}

/*
 * The shared arena may have fewer replicas than the device has compute units. Then several units use the same replica,
 * because helper 509 returns a number below the number of replicas. Their adds are atomic.
 */
int gpubpf_arena_assign(struct gpubpf_session *s, struct gpubpf_peer *peer, struct gpubpf_session_device *dev,
			struct gpubpf_diag *diag)
{
	uint32_t replicas = dev->caps.compute_units;
	int index;

	note_shared(s->maps, &dev->caps);
	if (dev->caps.bits & GPUBPF_CAP_SHARED_ARENA) {
		index = gpubpf_placements_check(s, &dev->caps, diag);
		s->maps->arenas[0].used |= !index;
		return index;
	}
	if (replicas > 65536)
		return gpubpf_diag_set(diag, GPUBPF_E_PROTOCOL, GPUBPF_NOPC,
				       "the agent reported an impossible number of compute units, %u", replicas);
	if (replicas > MAX_REPLICAS)
		replicas = MAX_REPLICAS;
	index = gpubpf_arena_open(s, replicas, &dev->caps, dev->caps.memory, peer->process, diag);
	if (index < 0)
		return index;
	s->maps->arenas[index].used = true;
	warn_not_shared(s, dev->caps.name);
	seed_maps(s, index, 0, !s->maps->arenas[0].used, dev->caps.name);
	save_initial_values(s, &s->maps->arenas[index], 0);
	return index;
}

void gpubpf_arena_use_shared(struct gpubpf_session *s)
{
	s->maps->arenas[0].used = true;
}

void gpubpf_arenas_close(struct session_maps *maps)
{
	for (uint32_t i = 0; i < maps->narenas; i++) {
		munmap(maps->arenas[i].base, maps->arenas[i].layout.size);
		if (maps->arenas[i].initial)
			munmap(maps->arenas[i].initial, maps->arenas[i].layout.size);
		close(maps->arenas[i].fd);
		gpubpf_layout_finish(&maps->arenas[i].layout);
	}
	maps->narenas = 0;
}

const char *gpubpf_arena_backend(const struct gpubpf_session *s, uint32_t arena)
{
	return s->maps->arenas[arena].shared ? s->maps->shared_backend : s->maps->arenas[arena].backend;
}

/*
 * Returns true if the values of the arenas can be added up, because programs change them only by atomic adds. A plain
 * *p += x is a store (GPUBPF_USE_WRITE). A program may also insert a key with its first value.
 */
bool gpubpf_map_is_summed(const struct gpubpf_session *s, uint32_t map)
{
	uint32_t use = gpubpf_session_map_use(s)[map];

	if (!(use & GPUBPF_USE_ADD) || (use & (GPUBPF_USE_WRITE | GPUBPF_USE_ATOMIC | GPUBPF_USE_MAX)) ||
	    ((use & GPUBPF_USE_ADD4) && (use & GPUBPF_USE_ADD8)))
		return false;
	return !(gpubpf_session_unit(s)->maps[map].value_size % ((use & GPUBPF_USE_ADD4) ? 4 : 8));
}

bool gpubpf_map_has_maxima(const struct gpubpf_session *s, uint32_t map)
{
	const uint32_t other = GPUBPF_USE_WRITE | GPUBPF_USE_ATOMIC | GPUBPF_USE_ADD;
	uint32_t use = gpubpf_session_map_use(s)[map];

	return use & GPUBPF_USE_MAX && !(use & other) && !(gpubpf_session_unit(s)->maps[map].value_size % 8);
}

bool gpubpf_map_is_merged(const struct gpubpf_session *s, uint32_t map)
{
	return gpubpf_map_is_summed(s, map) || gpubpf_map_has_maxima(s, map);
}
