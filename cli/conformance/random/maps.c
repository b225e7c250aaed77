/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the maps of random programs. */
#include <stdio.h>
#include <string.h>

#include "gen.h"
#include "gpubpf/arm.h"

/* Elements of the maps of maps. Each map of maps has one empty slot. */
static const struct gpubpf_map_element of_array[] = { { 0, GEN_INNER_HASH }, { 1, GEN_INNER_HASH2 }, { 2, GEN_INNER_HASH } };
static const struct gpubpf_map_element of_hash[] = { { 0, GEN_INNER_ARRAY },
						     { 2, GEN_INNER_ARRAY2 },
						     { 3, GEN_INNER_ARRAY } };
static const struct gpubpf_map_element of_progs[GEN_PARTS] = { { 0, 0 }, { 1, 1 }, { 2, 2 } };
static const struct gpubpf_map_target targets[GEN_PARTS] = { { 1, true, "prog0" },
							     { 2, true, "prog1" },
							     { 3, true, "prog2" } };

/* Set a map's initial elements. The caller's array must stay allocated, because gpubpf_unit_raws() copies it later. */
static void set_elements(struct gpubpf_map *map, const struct gpubpf_map_element *elements, uint32_t n)
{
	map->elements = (struct gpubpf_map_element *)elements;
	map->nelements = n;
}

void gen_maps(struct gpubpf_map maps[GEN_NMAPS])
{
	static const struct {
		const char *name;
		uint32_t type, key, value, entries;
	} kinds[GEN_NMAPS] = {
		[GEN_ARRAY] = { "array", 2, 4, GEN_VALUE, GEN_ARRAY_ENTRIES },
		[GEN_HASH] = { "hash", 1, 4, GEN_VALUE, 6 },
		[GEN_DATA] = { "data", 2, 4, GEN_DATA_VALUE, 1 },
		[GEN_RING] = { "ring", 27, 0, 0, GEN_ROOM },
		[GEN_PERF] = { "perf", 4, 4, 4, 4 },
		[GEN_PERCPU] = { "percpu", 6, 4, GEN_VALUE, GEN_ARRAY_ENTRIES },
		[GEN_COUNTER] = { "counter", 2, 4, 8, 1 },
		[GEN_THREAD] = { "thread", 1502, 4, GEN_VALUE, GEN_ARRAY_ENTRIES },
		[GEN_GPURING] = { "gpuring", 1527, 0, GEN_VALUE, 64 },
		[GEN_TEXT] = { "text", 2, 4, GEN_VALUE, 1 },
		[GEN_QUEUE] = { "queue", 22, 0, GEN_VALUE, 3 },
		[GEN_STACK] = { "stack", 23, 0, GEN_VALUE, 3 },
		[GEN_PERCPU_HASH] = { "percpuhash", 5, 4, GEN_VALUE, 6 },
		[GEN_LRU] = { "lru", 9, 4, GEN_VALUE, 4 },
		[GEN_SMALL] = { "small", 27, 0, 0, 512 },
		[GEN_BLOOM] = { "bloom", 30, 0, GEN_VALUE, 16 },
		[GEN_PREFIXES] = { "prefixes", 11, 8, GEN_VALUE, 6 },
		[GEN_PROGS] = { "progs", 3, 4, 4, GEN_SLOTS },
		[GEN_OUTER_ARRAY] = { "outerarray", 12, 4, 4, GEN_SLOTS },
		[GEN_OUTER_HASH] = { "outerhash", 13, 4, 4, GEN_SLOTS },
		[GEN_INNER_HASH] = { "innerhash", 1, 4, GEN_VALUE, GEN_INNER_ENTRIES },
		[GEN_INNER_HASH2] = { "innerhash2", 1, 4, GEN_VALUE, GEN_INNER_ENTRIES },
		[GEN_INNER_ARRAY] = { "innerarray", 2, 4, GEN_VALUE, GEN_INNER_ENTRIES },
		[GEN_INNER_ARRAY2] = { "innerarray2", 2, 4, GEN_VALUE, GEN_INNER_ENTRIES },
		[GEN_LIKE_HASH] = { "likehash", 1, 4, GEN_VALUE, GEN_INNER_ENTRIES },
		[GEN_LIKE_ARRAY] = { "likearray", 2, 4, GEN_VALUE, GEN_INNER_ENTRIES },
		[GEN_LONG_HASH] = { "longhash", 1, GEN_MAX_KEY_BYTES, GEN_LONG_VALUE, 5 },
		[GEN_ODD_ARRAY] = { "oddarray", 2, 4, GEN_ODD_VALUE, 3 },
		[GEN_LARGE_HASH] = { "largehash", 1, 4, GEN_LARGE_VALUE, 4 },
		[GEN_WIDE_HASH] = { "widehash", 1501, 8, 8, 3 },
		[GEN_GPU_ARRAY] = { "gpuarray", 1503, 4, 8, 3 },
		[GEN_LRU_PERCPU] = { "lrupercpu", 10, 4, GEN_VALUE, 4 },
		[GEN_ARMS] = { "arm_program", 2, 4, 8, 1 },
	};

	memset(maps, 0, GEN_NMAPS * sizeof(*maps));
	for (uint32_t i = 0; i < GEN_NMAPS; i++) {
		snprintf(maps[i].name, sizeof(maps[i].name), "%s", kinds[i].name);
		maps[i].type = gpubpf_map_type_find(kinds[i].type);
		maps[i].key_size = kinds[i].key;
		maps[i].value_size = kinds[i].value;
		maps[i].max_entries = kinds[i].entries;
	}
	maps[GEN_DATA].global_data = true;
	maps[GEN_ARMS].map_flags = GPUBPF_F_ARMS;
	maps[GEN_PREFIXES].map_flags = 1; /* BPF_F_NO_PREALLOC */
	maps[GEN_TEXT].global_data = maps[GEN_TEXT].rdonly = true;
	maps[GEN_LIKE_HASH].prototype = maps[GEN_LIKE_ARRAY].prototype = true;
	maps[GEN_OUTER_ARRAY].inner = GEN_LIKE_HASH + 1;
	maps[GEN_OUTER_HASH].inner = GEN_LIKE_ARRAY + 1;
	set_elements(&maps[GEN_OUTER_ARRAY], of_array, sizeof(of_array) / sizeof(of_array[0]));
	set_elements(&maps[GEN_OUTER_HASH], of_hash, sizeof(of_hash) / sizeof(of_hash[0]));
	set_elements(&maps[GEN_PROGS], of_progs, GEN_PARTS);
	maps[GEN_PROGS].targets = (struct gpubpf_map_target *)targets;
	maps[GEN_PROGS].ntargets = GEN_PARTS;
	maps[GEN_TEXT].init = "some numbers: %d %llx %u, and what is left of the text is NUL\0";
}
