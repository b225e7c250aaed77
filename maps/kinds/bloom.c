/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the operations of the host on bloom filters (bloom.h). */
#include "maps/impl.h"

#include <errno.h>
#include <linux/bpf.h>

#include "maps/host/host.h"

#define HASHES 5           /* default number of hash functions */
#define MAX_BITS (1ull << 32)

/* Checks a definition like bloom_map_alloc() of the Linux kernel. map_extra is the number of hash functions. */
static int bloom_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	if (map->key_size)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "0");
	if (!map->value_size || map->value_size > GPUBPF_MAP_VALUE_MAX)
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "1 to 67108864");
	if (map->map_extra > 15)
		return gpubpf_map_set_fault(fault, "map_extra", (uint32_t)map->map_extra,
					    "0 to 15, the number of hash functions");
	if (!map->map_extra)
		map->map_extra = HASHES;
	return 0;
}

/*
 * Allocates max_entries * hash functions * 7 / 5 bits, rounded up to a power of two. So at most half of the bits are
 * set when the filter is full.
 */
static void bloom_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	uint64_t bits = 64;

	while (bits < l->max_entries * map->map_extra / 5 * 7 && bits < MAX_BITS)
		bits *= 2;
	l->stride = map->map_extra;
	l->copy_stride = bits - 1;
	l->data = l->ctl + sizeof(struct gpubpf_map_ctl);
	l->size = l->data - l->ctl + bits / 8;
}

HOST_OP(bloom, push, HOST_PTR(arg[0]), arg[1])
HOST_OP(bloom, peek, HOST_PTR(arg[0]))

/* Tests for the value in the caller's value buffer, as bpf(2) does. */
static int bloom_read(const struct gpubpf_map_view *view, const void *key, void *value)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };

	return (int)gpubpf_bloom_peek(&env, GPUBPF_LAYOUT_PASS(view->layout), value);
}

static int bloom_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };

	return (int)gpubpf_bloom_push(&env, GPUBPF_LAYOUT_PASS(view->layout), value, flags);
}

static int bloom_erase(const struct gpubpf_map_view *view, const void *key)
{
	return -EOPNOTSUPP;
}

static int bloom_next(const struct gpubpf_map_view *view, const void *key, void *next)
{
	return -EOPNOTSUPP;
}

const struct gpubpf_map_impl gpubpf_bloom_impl = {
	.name = "bloom",
	.map_flags = BPF_F_ZERO_SEED,
	.check = bloom_check,
	.size = bloom_size,
	.read = bloom_read,
	.write = bloom_write,
	.erase = bloom_erase,
	.next = bloom_next,
	.op[GPUBPF_OP_PUSH] = bloom_push,
	.op[GPUBPF_OP_PEEK] = bloom_peek,
};
