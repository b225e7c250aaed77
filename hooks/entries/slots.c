/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates slots (core/attach/journal.h) in free memory near the functions. They are executable and never writable. */
#include "private.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define ROOM_SIZE (GPUBPF_JOURNAL_SITES * GPUBPF_SLOT_SIZE)
#define MAX_ROOMS 16
#define GUARD (1u << 20) /* bytes kept free at both sides, where stacks and heaps may grow */

static struct room {
	uint64_t from, used;
} rooms[MAX_ROOMS];
static uint32_t nrooms;

static bool is_near(uint64_t address, uint64_t function)
{
	uint64_t distance = address > function ? address - function : function - address;

	return distance < GPUBPF_SLOT_REACH - ROOM_SIZE;
}

/* Map a room at the address. Returns false if something is mapped there. */
static bool map_room(uint64_t at)
{
	void *have = mmap((void *)at, ROOM_SIZE, PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (have == MAP_FAILED)
		return false;
	if (have == (void *)at)
		return true;
	munmap(have, ROOM_SIZE); /* Linux before 4.17 ignores MAP_FIXED_NOREPLACE */
	return false;
}

/* Map a room in a gap between mappings. Returns its address, or 0. */
static uint64_t create_room(uint64_t function)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	uint64_t from, to, end = 0, found = 0;
	char line[4352];

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		if (end && from - end >= ROOM_SIZE + 2 * GUARD) {
			uint64_t high = from - GUARD - ROOM_SIZE, low = end + GUARD;

			/* The main thread's stack grows down, and Linux keeps 1 MiB below it free. */
			if (!strstr(line, "[stack]") && is_near(high, function) && map_room(high))
				found = high;
			else if (is_near(low, function) && map_room(low))
				found = low;
		}
		end = to;
	}
	if (maps)
		fclose(maps);
	return found;
}

uint64_t gpubpf_entry_slot(uint64_t function)
{
	uint64_t from;
	uint32_t i = 0;

	while (i < nrooms && (!is_near(rooms[i].from, function) || rooms[i].used + GPUBPF_SLOT_SIZE > ROOM_SIZE))
		i++;
	if (i == nrooms) {
		from = nrooms < MAX_ROOMS ? create_room(function) : 0;
		if (!from)
			return 0;
		rooms[nrooms++] = (struct room){ from, 0 };
	}
	rooms[i].used += GPUBPF_SLOT_SIZE;
	return rooms[i].from + rooms[i].used - GPUBPF_SLOT_SIZE;
}
