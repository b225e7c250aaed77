/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that maps may lie in, and what of it a device has: the rows of placements.def. */
#ifndef GPUBPF_CORE_WIRE_PLACEMENT_H
#define GPUBPF_CORE_WIRE_PLACEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum gpubpf_placement {
#define GPUBPF_PLACEMENT(id, name, needs, live, meaning) GPUBPF_PLACE_##id,
#include "placements.def"
	GPUBPF_PLACEMENTS,
};

/* "pinned"; NULL past the end. */
const char *gpubpf_placement_name(uint32_t placement);
const char *gpubpf_placement_meaning(uint32_t placement);
/* The number of that name, or -1. */
int gpubpf_placement_find(const char *name);
/* All names, "device, pinned, svm or managed". */
void gpubpf_placement_list(char *buf, size_t size);
/* The capability of that row as people read it, "host-pinned", and its GPUBPF_CAP_*; NULL past the end. */
const char *gpubpf_memory_cap_at(size_t i, uint64_t *bit, const char **meaning);

/* Has a device of these capabilities (enum gpubpf_cap_bits) such memory? NULL: yes; else the name of the one that it lacks. */
const char *gpubpf_placement_lacks(uint32_t where, uint64_t caps);
/* Of one that has: is it the session's own, so that either side sees at once what the other writes? */
bool gpubpf_placement_live(uint32_t where, uint64_t caps);
/* May maps have so many bytes of a device's memory, of which so many are free, or `all` there are where its runtime tells no
 * more? Half of them: the application goes on allocating. False, and why. */
static inline bool gpubpf_placement_fits(uint64_t bytes, uint64_t free, bool all, char *why, size_t size)
{
	if (bytes <= free / 2)
		return true;
	snprintf(why, size, "maps take %.1f MiB, more than half of the %.1f MiB that %s; make them smaller",
		 (double)bytes / (1 << 20), (double)free / (1 << 20), all ? "the device has" : "are free on the device");
	return false;
}

#endif
