/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads call bpf_for_each_map_elem() (helper 164) while others insert. Each finds its own key once, with its own
 * value.
 */
#include "../../case.h"

EXPECT("launch 4,1,1 64,1,1");
EXPECT("checks 768");
EXPECT("entries table 32");
EXPECT("map ends[0] 256");

struct key {
	__u64 group, twice;
};

struct seen {
	__u64 group, times, wrong;
};

GPUBPF_HASH(table, struct key, __u64, 32);
GPUBPF_ARRAY(ends, __u64, 1);

static long one(void *map, struct key *key, __u64 *value, struct seen *seen)
{
	seen->times += key->group == seen->group;
	seen->wrong += key->twice != 2 * key->group || *value != key->group + 1;
	return 0;
}

SEC("gpu/entry/*")
int each_together(struct gpubpf_ctx *ctx)
{
	struct seen seen = { .group = ctx->global_linear & 31 };
	struct key key = { seen.group, 2 * seen.group };
	__u64 value = seen.group + 1;
	long n;

	bpf_map_update_elem(&table, &key, &value, BPF_NOEXIST);
	n = bpf_for_each_map_elem(&table, one, &seen, 0);
	CHECK(n >= 1 && n <= 32, 1);
	CHECK(seen.times, 1);
	CHECK(seen.wrong, 0);
	gpubpf_add(&ends, 0, 1);
	return 0;
}
