/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs of bench/maps, one per object. Each thread does one map operation at its exit. The key is one of
 * KEYS keys.
 *
 *   -DADD        Adds to the value of the thread's key. The first thread with a key inserts the key.
 *   -DLOOKUP     Looks up the thread's key, and reads the value.
 *   -DLRU        Like ADD, in an LRU hash table that is large enough for all keys.
 *   -DLRU_FULL   Like LRU, but the table is large enough only for a quarter of the keys.
 *   -DHOT        Like ADD, with 256 keys.
 *   -DQUEUE      Pushes a value to a queue and pops one. -DSTACK: the same with a stack.
 *   -DREADS      Like ADD, and also sets an element of an array of 1 MiB, for bench/reads.
 *   -DNOTHING    Does nothing.
 */
#include <gpubpf/probe.h>

#ifdef HOT
#define KEYS 256
#else
#define KEYS (1u << 20)
#endif

#if defined(LRU) || defined(LRU_FULL)
#define TABLE BPF_MAP_TYPE_LRU_HASH
#else
#define TABLE BPF_MAP_TYPE_HASH
#endif

#ifdef LRU_FULL
#define ROOM (KEYS / 4)
#else
#define ROOM KEYS
#endif

#if defined(QUEUE) || defined(STACK)
struct {
#ifdef STACK
	__uint(type, BPF_MAP_TYPE_STACK);
#else
	__uint(type, BPF_MAP_TYPE_QUEUE);
#endif
	__uint(max_entries, 1 << 20);
	__type(value, __u64);
} values SEC(".maps");
#elif !defined(NOTHING)
GPUBPF_MAP(table, TABLE, __u32, __u64, ROOM);
#endif
GPUBPF_ARRAY(failed, __u64, 1);
#ifdef READS
GPUBPF_ARRAY(array, __u64, 1 << 17);
#endif

SEC("gpu/exit/*")
int probe(struct gpubpf_ctx *ctx)
{
#if defined(ADD) || defined(LOOKUP) || defined(LRU) || defined(LRU_FULL) || defined(HOT) || defined(READS)
	__u32 key = (__u32)ctx->global_id[0];
	__u64 *value;

#ifdef HOT
	key = ctx->thread_idx[0] & (KEYS - 1);
#else
	key = key * 2654435761u >> 12; /* a multiplicative hash gives neighbouring threads distant keys */
#endif
	value = bpf_map_lookup_elem(&table, &key);
	if (!value) {
		bpf_map_update_elem(&table, &key, &(__u64){ 0 }, BPF_NOEXIST);
		value = bpf_map_lookup_elem(&table, &key);
	}
#ifdef LOOKUP
	if (!value || *value)
		gpubpf_add(&failed, 0, 1);
#else
	if (value)
		__sync_fetch_and_add(value, 1);
	else
		gpubpf_add(&failed, 0, 1);
#endif
#ifdef READS
	key &= (1 << 17) - 1;
	value = bpf_map_lookup_elem(&array, &key);
	if (value)
		*value = key + 1;
#endif
#elif !defined(NOTHING)
	__u64 value = ctx->global_id[0];

	if (bpf_map_push_elem(&values, &value, BPF_ANY) || bpf_map_pop_elem(&values, &value))
		gpubpf_add(&failed, 0, 1);
#endif
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
