/* SPDX-License-Identifier: Apache-2.0 */
#include "heap.h"

#include <stdlib.h>

static bool is_before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->time != b->time ? a->time < b->time : a->rank < b->rank;
}

bool heap_push(struct heap *heap, uint64_t time, uint64_t rank, uint32_t item)
{
	struct heap_entry new = { time, rank, item };
	uint32_t at = heap->n;

	if (heap->n == heap->room) {
		uint32_t room = heap->room ? 2 * heap->room : 1024;
		struct heap_entry *entry = realloc(heap->entry, room * sizeof(*entry));

		if (!entry)
			return false;
		heap->entry = entry;
		heap->room = room;
	}
	heap->n++;
	for (; at && is_before(&new, &heap->entry[(at - 1) / 2]); at = (at - 1) / 2)
		heap->entry[at] = heap->entry[(at - 1) / 2];
	heap->entry[at] = new;
	return true;
}

struct heap_entry heap_pop(struct heap *heap)
{
	struct heap_entry top = heap->entry[0], last = heap->entry[--heap->n];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < heap->n) {
		child += child + 1 < heap->n && is_before(&heap->entry[child + 1], &heap->entry[child]);
		if (!is_before(&heap->entry[child], &last))
			break;
		heap->entry[at] = heap->entry[child];
		at = child;
	}
	if (heap->n)
		heap->entry[at] = last;
	return top;
}

void heap_finish(struct heap *heap)
{
	free(heap->entry);
	*heap = (struct heap){ 0 };
}
