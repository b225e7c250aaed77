/* SPDX-License-Identifier: Apache-2.0 */
/* Summary of the elements that a callback of bpf_for_each_map_elem() (helper 164) has visited. */
#include "../../case.h"

struct seen {
	__u64 keys, values, rounds, until;
};

static __always_inline long note(struct seen *seen, __u64 key, __u64 value)
{
	seen->keys += key;
	seen->values += value;
	return ++seen->rounds == seen->until;
}

#define EACH(map, function, keys_, values_, n) do { \
	struct seen seen_ = { .until = 100 }; \
\
	CHECK(bpf_for_each_map_elem(&map, function, &seen_, 0), n); \
	CHECK(seen_.keys, keys_); \
	CHECK(seen_.values, values_); \
} while (0)
