/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of memory in which maps can be placed (the rows of placements.def), and the capabilities that a device
 * needs for them.
 */
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

/* Returns the name of a kind of memory, such as "pinned", or NULL if the number is too large. */
const char *gpubpf_placement_name(uint32_t placement);
const char *gpubpf_placement_meaning(uint32_t placement);
/* Returns the enum gpubpf_placement with this name, or -1. */
int gpubpf_placement_find(const char *name);
/* Stores a list of all names, "device, pinned, svm or managed", in buf. */
void gpubpf_placement_list(char *buf, size_t size);
/*
 * Returns the name of memory capability number i, such as "host-pinned", and stores its GPUBPF_CAP_... bit in *bit.
 * Returns NULL if i is too large.
 */
const char *gpubpf_memory_cap_at(size_t i, uint64_t *bit, const char **meaning);

/*
 * Returns the name of a capability that a device needs for memory of the kind `where`, and that is missing in `caps`
 * (enum gpubpf_cap_bits). Returns NULL if the device supports such memory.
 */
const char *gpubpf_placement_lacks(uint32_t where, uint64_t caps);
/*
 * Is memory of the kind `where` live on a device with these capabilities? Live memory belongs to the session, and host
 * and GPU kernels see each other's writes at once.
 */
bool gpubpf_placement_live(uint32_t where, uint64_t caps);
/*
 * May maps use this number of bytes of a device's memory? `free` is the number of free bytes. With `all`, it is the
 * total memory instead, because the runtime does not report the free bytes. The limit is half of `free`, because the
 * application also needs memory. If the answer is false, stores a reason in `why`.
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
