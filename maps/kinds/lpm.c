/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements the operations of the host on prefix tables (lpm.h). They use the operations of a hash table whose keys
 * are prefixes.
 */
#include "maps/impl.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>

#include "maps/host/host.h"

/* Checks a definition like trie_alloc() of the Linux kernel. */
static int lpm_check(struct gpubpf_map *map, struct gpubpf_map_fault *fault)
{
	if (map->key_size <= GPUBPF_LPM_HEAD || map->key_size > GPUBPF_LPM_KEY)
		return gpubpf_map_set_fault(fault, "key_size", map->key_size, "5 to 260");
	if (!map->value_size || map->value_size > GPUBPF_MAP_VALUE_MAX)
		return gpubpf_map_set_fault(fault, "value_size", map->value_size, "1 to 67108864");
	if (!(map->map_flags & BPF_F_NO_PREALLOC))
		return gpubpf_map_set_fault(fault, "map_flags", map->map_flags, "1, BPF_F_NO_PREALLOC");
	return 0;
}

static void lpm_size(struct gpubpf_map_layout *l, const struct gpubpf_map *map, const struct gpubpf_map_scale *scale)
{
	gpubpf_hash_impl.size(l, map, scale);
	l->size += (gpubpf_lpm_most(l->key_size) / 64 + 1) * 8;
}

/* Return the prefix length of the key in bits, or UINT32_MAX if it exceeds the size of the key. */
static uint32_t length_of(const struct gpubpf_map_view *view, const void *key)
{
	uint32_t n;

	memcpy(&n, key, sizeof(n));
	return n > gpubpf_lpm_most(view->layout->key_size) ? UINT32_MAX : n;
}

static int lpm_read(const struct gpubpf_map_view *view, const void *key, void *value)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };
	uint32_t n = length_of(view, key) + 1;
	u64 prefix[GPUBPF_LPM_WORDS];
	int err = -ENOENT;

	while (err == -ENOENT && (n = gpubpf_lpm_next(&env, GPUBPF_LAYOUT_PASS(view->layout), n))) {
		gpubpf_lpm_cut(prefix, key, view->layout->key_size, --n);
		err = gpubpf_hash_impl.read(view, prefix, value);
	}
	return err;
}

static int lpm_write(const struct gpubpf_map_view *view, const void *key, const void *value, uint64_t flags)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };

	return (int)gpubpf_lpm_update(&env, GPUBPF_LAYOUT_PASS(view->layout), key, value, flags);
}

static int lpm_erase(const struct gpubpf_map_view *view, const void *key)
{
	struct gpubpf_env env = { .arena = (uintptr_t)view->arena };

	return (int)gpubpf_host_delete(&env, view, key);
}

static int lpm_next(const struct gpubpf_map_view *view, const void *key, void *next)
{
	u64 prefix[GPUBPF_LPM_WORDS];

	if (!key || length_of(view, key) == UINT32_MAX)
		return gpubpf_hash_impl.next(view, NULL, next);
	gpubpf_lpm_cut(prefix, key, view->layout->key_size, length_of(view, key));
	return gpubpf_hash_impl.next(view, prefix, next);
}

static int64_t lpm_where(const struct gpubpf_map_layout *l, uint64_t off, uint64_t size)
{
	return gpubpf_hash_impl.where(l, off, size);
}

static int lpm_iterate(const struct gpubpf_map_view *view, uint64_t *cursor, void *key, void *value)
{
	return gpubpf_hash_impl.iterate(view, cursor, key, value);
}

HOST_OP(lpm, lookup, HOST_PTR(arg[0]))
HOST_OP(lpm, update, HOST_PTR(arg[0]), HOST_PTR(arg[1]), arg[2])
HOST_OP(lpm, delete, HOST_PTR(arg[0]))

const struct gpubpf_map_impl gpubpf_lpm_impl = {
	.name = "lpm",
	.large = true,
	.map_flags = BPF_F_NO_PREALLOC,
	.check = lpm_check,
	.size = lpm_size,
	.where = lpm_where,
	.read = lpm_read,
	.write = lpm_write,
	.erase = lpm_erase,
	.next = lpm_next,
	.iterate = lpm_iterate,
	.op[GPUBPF_OP_LOOKUP] = lpm_lookup,
	.op[GPUBPF_OP_UPDATE] = lpm_update,
	.op[GPUBPF_OP_DELETE] = lpm_delete,
};
