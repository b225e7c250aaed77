/* SPDX-License-Identifier: Apache-2.0 */
#include "placement.h"

#include <stdio.h>
#include <string.h>

#include "caps.h"

#define GPUBPF_CAP_NONE 0

static const struct {
	const char *name;
	uint64_t needs, live;
	const char *meaning;
} placements[GPUBPF_PLACEMENTS] = {
#define GPUBPF_PLACEMENT(id, name, needs, live, meaning) \
	[GPUBPF_PLACE_##id] = { name, GPUBPF_CAP_##needs, GPUBPF_CAP_##live, meaning },
#include "placements.def"
};

static const struct {
	uint64_t bit;
	const char *name, *meaning;
} memory_caps[] = {
#define GPUBPF_MEMORY_CAP(id, name, meaning) { GPUBPF_CAP_##id, name, meaning },
#include "placements.def"
};
#define NCAPS (sizeof(memory_caps) / sizeof(memory_caps[0]))

const char *gpubpf_placement_name(uint32_t placement)
{
	return placement < GPUBPF_PLACEMENTS ? placements[placement].name : NULL;
}

const char *gpubpf_placement_meaning(uint32_t placement)
{
	return placement < GPUBPF_PLACEMENTS ? placements[placement].meaning : NULL;
}

int gpubpf_placement_find(const char *name)
{
	for (int i = 0; i < GPUBPF_PLACEMENTS; i++)
		if (!strcmp(placements[i].name, name))
			return i;
	return -1;
}

void gpubpf_placement_list(char *buf, size_t size)
{
	size_t at = 0;

	for (int i = 0; i < GPUBPF_PLACEMENTS && at < size; i++)
		at += snprintf(buf + at, size - at, "%s%s",
			       !i                        ? "" :
			       i + 1 < GPUBPF_PLACEMENTS ? ", " :
							   " or ",
			       placements[i].name);
}

const char *gpubpf_memory_cap_at(size_t i, uint64_t *bit, const char **meaning)
{
	if (i >= NCAPS)
		return NULL;
	*bit = memory_caps[i].bit;
	*meaning = memory_caps[i].meaning;
	return memory_caps[i].name;
}

const char *gpubpf_placement_lacks(uint32_t where, uint64_t caps)
{
	uint64_t lacks = placements[where].needs & ~caps;

	for (size_t i = 0; i < NCAPS; i++)
		if (memory_caps[i].bit & lacks)
			return memory_caps[i].name;
	return NULL;
}

bool gpubpf_placement_live(uint32_t where, uint64_t caps)
{
	return where != GPUBPF_PLACE_DEVICE && caps & (placements[where].live | GPUBPF_CAP_SHARED_ARENA);
}
