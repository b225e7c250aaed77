/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF programs of bench/values. The map `table` is a hash or an array with values of VALUE bytes. With -DLOOKUP
 * each thread looks up a value and adds to its first and last word. With -DUPDATE each thread writes an entire value
 * from another map. With -DEMPTY the program does nothing.
 */
#include <gpubpf/probe.h>

#define KEYS 64

struct value {
	__u64 word[VALUE / 8];
};

GPUBPF_MAP(table, TABLE, __u32, struct value, KEYS);
GPUBPF_ARRAY(from, struct value, 1);

SEC("gpu/entry/*")
int enter(struct gpubpf_ctx *ctx)
{
	__u32 key = ctx->global_id[0] % KEYS, first = 0;
#if defined(LOOKUP)
	struct value *v = bpf_map_lookup_elem(&table, &key);

	if (v) {
		__sync_fetch_and_add(&v->word[0], 1);
		__sync_fetch_and_add(&v->word[VALUE / 8 - 1], 1);
	}
#elif defined(UPDATE)
	struct value *whole = bpf_map_lookup_elem(&from, &first);

	if (whole)
		bpf_map_update_elem(&table, &key, whole, BPF_ANY);
#endif
	return 0;
}
