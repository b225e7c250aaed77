/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions for the host files of all kinds. They check definitions, compute numbers of copies, and read values from an
 * arena.
 */
#include "maps/impl.h"

#include <errno.h>
#include <string.h>

#include "host.h"

uint32_t gpubpf_map_max_copies(uint64_t budget, uint32_t replicas, uint64_t bytes)
{
	uint64_t n = budget / bytes;

	return n < 1 ? 1 : n < replicas ? (uint32_t)n : replicas;
}

bool gpubpf_map_merge_copies(const struct gpubpf_map_layout *l, const struct gpubpf_map_scale *scale, uint64_t bytes)
{
	return l->flags & GPUBPF_LAYOUT_MERGED && bytes <= scale->budget / scale->replicas;
}

int gpubpf_map_set_fault(struct gpubpf_map_fault *fault, const char *attr, uint32_t is, const char *must)
{
	*fault = (struct gpubpf_map_fault){ attr, is, must };
	return -EINVAL;
}

/* Reads aligned pairs of words, and returns the number of bytes read. x86-64 does not tear aligned 16-byte loads. */
static uint64_t read_pairs(uint64_t address, char *to, uint64_t size)
{
	typedef u64 pair __attribute__((vector_size(16)));
	enum { PAIRS = 4 };
	uint64_t i = 0;

#ifdef __x86_64__
	for (; address % sizeof(pair) == 0 && size - i >= PAIRS * sizeof(pair); i += PAIRS * sizeof(pair)) {
		const volatile pair *from = (const volatile pair *)(uintptr_t)(address + i);

		for (int p = 0; p < PAIRS; p++) {
			/* one pair at a time, because the compiler would put an array of pairs on the stack */
			pair read = from[p];

			memcpy(to + i + p * sizeof(pair), &read, sizeof(read));
		}
	}
#else
	(void)address, (void)to, (void)size;
#endif
	return i;
}

void gpubpf_map_read_bytes(uint64_t address, void *to, uint64_t size)
{
	uint64_t i = read_pairs(address, to, size);

	for (; size - i >= 8; i += 8)
		memcpy((char *)to + i, &(u64){ gpubpf_load_u64(address + i) }, 8);
	if (i < size) {
		u64 word = gpubpf_load_u64(address + i);

		memcpy((char *)to + i, &word, size - i);
	}
}

static u64 add_halves(u64 a, u64 b)
{
	return ((a & 0xffffffff00000000u) + (b & 0xffffffff00000000u)) | (uint32_t)((uint32_t)a + (uint32_t)b);
}

static u64 merge(const struct gpubpf_map_layout *l, u64 a, u64 b)
{
	if (l->flags & GPUBPF_LAYOUT_MAX8)
		return a > b ? a : b;
	return l->flags & GPUBPF_LAYOUT_SUM4 ? add_halves(a, b) : a + b;
}

void gpubpf_map_read_value(const struct gpubpf_map_layout *l, uint64_t first, void *to)
{
	uint32_t copies = l->flags & GPUBPF_LAYOUT_MERGED ? l->copies : 1, i, c, n;
	u64 word, merged;

	if (copies == 1) {
		gpubpf_map_read_bytes(first, to, l->value_size);
		return;
	}
	for (i = 0; i < l->value_size; i += 8) {
		merged = gpubpf_load_u64(first + i);
		for (c = 1; c < copies; c++) {
			word = gpubpf_load_u64(first + c * l->copy_stride + i);
			merged = merge(l, merged, word);
		}
		n = l->value_size - i < 8 ? l->value_size - i : 8;
		memcpy((char *)to + i, &merged, n);
	}
}

int64_t gpubpf_map_in_value(uint64_t off, uint64_t size, uint64_t stride, uint64_t value_size)
{
	uint64_t at = off % stride;

	return size <= value_size && at <= value_size - size ? (int64_t)at : -1;
}

size_t gpubpf_map_user_value_size(const struct gpubpf_map_view *view)
{
	const struct gpubpf_map_layout *l = view->layout;
	bool copies = view->map && view->map->type->flags & GPUBPF_MAP_COPIES;

	return copies ? (size_t)l->copies * GPUBPF_ROUND8(l->value_size) : l->value_size;
}
