/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS (2 * GPUBPF_MAX_STACKS) /* size of the hash table: twice the limit of stacks, so that it is never full */

struct gpubpf_stacks {
	struct gpubpf_stack *list; /* [n] all stacks; stack number i is at index i - 1 */
	uint32_t n, room;
	gpubpf_stack_file_fn file; /* returns the file of a frame; NULL: files are unknown */
	void *arg;
	uint32_t slot[SLOTS]; /* hash table of the stacks' numbers; 0: free slot */
};

struct gpubpf_stacks *gpubpf_stacks_create(void)
{
	return calloc(1, sizeof(struct gpubpf_stacks));
}

void gpubpf_stacks_destroy(struct gpubpf_stacks *stacks)
{
	for (uint32_t i = 0; stacks && i < stacks->n; i++)
		free(stacks->list[i].address);
	if (stacks)
		free(stacks->list);
	free(stacks);
}

void gpubpf_stacks_files(struct gpubpf_stacks *stacks, gpubpf_stack_file_fn fn, void *arg)
{
	stacks->file = fn;
	stacks->arg = arg;
}

void gpubpf_stack_describe(const struct gpubpf_stacks *stacks, const struct gpubpf_stack *stack, uint32_t i,
			   struct gpubpf_stack_frame *frame)
{
	memset(frame, 0, sizeof(*frame));
	frame->status = stacks->file && stacks->file(stacks->arg, stack, i, frame) ? GPUBPF_FRAME_VALID :
										     GPUBPF_FRAME_ADDRESS;
	if (frame->status == GPUBPF_FRAME_ADDRESS)
		frame->offset = stack->address[i];
}

static uint32_t hash(const uint64_t *address, const uint64_t *place, uint32_t n)
{
	uint64_t h = n;

	for (uint32_t i = 0; i < n; i++) {
		h = (h ^ address[i]) * 0xff51afd7ed558ccdull;
		h = (h ^ h >> 32 ^ place[i]) * 0xc4ceb9fe1a85ec53ull;
		h ^= h >> 29;
	}
	return (uint32_t)(h >> 16) % SLOTS;
}

static bool is_equal(const struct gpubpf_stack *s, const uint64_t *address, const uint64_t *place, uint32_t n)
{
	return s->n == n && !memcmp(s->address, address, 8ul * n) && !memcmp(s->place, place, 8ul * n);
}

/* Append a stack. Returns false if memory or numbers of stacks are exhausted. */
static bool append(struct gpubpf_stacks *stacks, const uint64_t *address, const uint64_t *place, uint32_t n)
{
	uint64_t *words;

	if (stacks->n == GPUBPF_MAX_STACKS)
		return false;
	if (stacks->n == stacks->room) {
		uint32_t room = stacks->room ? 2 * stacks->room : 64;
		struct gpubpf_stack *grown = reallocarray(stacks->list, room, sizeof(*grown));

		if (!grown)
			return false;
		stacks->list = grown;
		stacks->room = room;
	}
	words = malloc(16ul * n);
	if (!words)
		return false;
	memcpy(words, address, 8ul * n);
	memcpy(words + n, place, 8ul * n);
	stacks->list[stacks->n++] = (struct gpubpf_stack){ n, words, words + n };
	return true;
}

uint32_t gpubpf_stacks_intern(struct gpubpf_stacks *stacks, const uint64_t *address, const uint64_t *place, uint32_t n)
{
	uint32_t at = hash(address, place, n);

	if (!n)
		return 0;
	while (stacks->slot[at]) {
		if (is_equal(&stacks->list[stacks->slot[at] - 1], address, place, n))
			return stacks->slot[at];
		at = (at + 1) % SLOTS;
	}
	if (!append(stacks, address, place, n))
		return 0;
	return stacks->slot[at] = stacks->n;
}

const struct gpubpf_stack *gpubpf_stacks_find(const struct gpubpf_stacks *stacks, uint64_t number)
{
	return stacks && number && number <= stacks->n ? &stacks->list[number - 1] : NULL;
}
