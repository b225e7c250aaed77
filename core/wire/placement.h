/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of memory for maps, which are the rows of placements.def, and whether a device has them. */
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

/* Returns the name, such as "pinned"; NULL past the end. */
const char *gpubpf_placement_name(uint32_t placement);
const char *gpubpf_placement_meaning(uint32_t placement);
/* Returns the enum gpubpf_placement of that name, or -1. */
int gpubpf_placement_find(const char *name);
/* Lists all names: "device, pinned, svm or managed". */
void gpubpf_placement_list(char *buf, size_t size);
/* Returns the name of the i-th capability, such as "host-pinned", and its GPUBPF_CAP_*; NULL past the end. */
const char *gpubpf_memory_cap_at(size_t i, uint64_t *bit, const char **meaning);

/*
 * Returns the name of a capability (enum gpubpf_cap_bits) that a device needs for the memory `where` and that `caps`
 * lacks; NULL: the device has such memory.
 */
const char *gpubpf_placement_lacks(uint32_t where, uint64_t caps);
/* Is the memory `where` the session's own on a device with these capabilities, so that host and kernels see each
 * other's writes at once? */
bool gpubpf_placement_live(uint32_t where, uint64_t caps);
/*
 * May maps take this many bytes of a device's memory? `free`: the free bytes, or with `all` the device's total, because
 * its runtime does not report free bytes. The limit is half, because the application will allocate more. False, with a
 * reason.
 */
static inline bool gpubpf_placement_fits(uint64_t bytes, uint64_t free, bool all, char *why, size_t size)
{
	if (bytes <= free / 2)
		return true;
	snprintf(why, size, "maps take %.1f MiB, more than half of the %.1f MiB that %s; make them smaller",
		 (double)bytes / (1 << 20), (double)free / (1 << 20), all ? "the device has" : "are free on the device");
	return false;
}

#endif
