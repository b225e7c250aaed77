/* SPDX-License-Identifier: Apache-2.0 */
/* Private to order.c: a binary heap. The entry that comes first in time is on top. */
#ifndef GPUBPF_CLI_TIMELINE_HEAP_H
#define GPUBPF_CLI_TIMELINE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap_entry {
	uint64_t time;
	/* At equal times, the smaller `rank` comes first. order.c stores the complement of a span's end. */
	uint64_t rank;
	uint32_t item;
};

struct heap {
	struct heap_entry *entry; /* [n] */
	uint32_t n, room;
};

bool heap_push(struct heap *heap, uint64_t time, uint64_t rank, uint32_t item); /* false: out of memory */
struct heap_entry heap_pop(struct heap *heap);                                  /* n must not be 0 */
void heap_finish(struct heap *heap);

#endif
