/* SPDX-License-Identifier: Apache-2.0 */
/* HASH in one thread: every operation with every error, and reuse of freed elements. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");
EXPECT("checks 15");
EXPECT("entries table 2");
EXPECT("map table[2] 20");
EXPECT("map table[3] 30");
EXPECT("map table[1] -");
EXPECT("drops table 1");

GPUBPF_HASH(table, __u64, __u64, 2);

enum { LOOKUP, UPDATE, DELETE };
#define NONE 0

/* A loop over this table contains the map operations once, so the case compiles faster. */
static const struct step {
	__u32 line, what;
	__u64 key, value, flags, want;
} steps[] = {
#define STEP(...) { __LINE__, __VA_ARGS__ }
	STEP(LOOKUP, 1, 0, 0, NONE),
	STEP(DELETE, 1, 0, 0, -2),
	STEP(UPDATE, 1, 10, BPF_EXIST, -2),
	STEP(UPDATE, 1, 10, BPF_NOEXIST, 0),
	STEP(UPDATE, 1, 10, BPF_NOEXIST, -17),
	STEP(UPDATE, 1, 10, BPF_EXIST, 0),
	STEP(UPDATE, 2, 20, BPF_ANY, 0),
	STEP(UPDATE, 3, 30, BPF_ANY, -7),
	STEP(LOOKUP, 3, 0, 0, NONE),
	STEP(LOOKUP, 1, 0, 0, 10),
	STEP(DELETE, 1, 0, 0, 0),
	STEP(LOOKUP, 1, 0, 0, NONE),
	STEP(UPDATE, 3, 30, BPF_ANY, 0),
	STEP(LOOKUP, 3, 0, 0, 30),
	STEP(UPDATE, 4, 40, 4, -22),
};

SEC("gpu/entry/*")
int hash(struct gpubpf_ctx *ctx)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		__u64 key = steps[i].key, value = steps[i].value, got = NONE, *found;

		if (steps[i].what == LOOKUP) {
			found = bpf_map_lookup_elem(&table, &key);
			if (found)
				got = *found;
		} else if (steps[i].what == UPDATE) {
			got = bpf_map_update_elem(&table, &key, &value, steps[i].flags);
		} else {
			got = bpf_map_delete_elem(&table, &key);
		}
		conformance_check(steps[i].line, got, steps[i].want);
	}
	return 0;
}
