/* SPDX-License-Identifier: Apache-2.0 */
/* One thread pushes and pops values of a QUEUE or a STACK, and checks the result of each step. */
#include "../case.h"

EXPECT("launch 1,1,1 1,1,1");

struct {
	__uint(type, TYPE);
	__uint(max_entries, 3);
	__uint(key_size, 0);
	__type(value, __u64);
} values SEC(".maps");

enum { PUSH, POP, PEEK };
#define NONE 0 /* a failed pop or peek zeroes the value, as in the Linux kernel */

struct step {
	__u32 line, what;
	__u64 value, flags, want;
};
#define STEP(...) { __LINE__, __VA_ARGS__ }

/* A loop contains the map operations once, so the case compiles faster. */
static __always_inline void run(const struct step *steps, __u32 n)
{
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < n; i++) {
		__u64 value = steps[i].what == PUSH ? steps[i].value : ~0ull;
		long got;

		if (steps[i].what == PUSH)
			got = bpf_map_push_elem(&values, &value, steps[i].flags);
		else if (steps[i].what == POP)
			got = bpf_map_pop_elem(&values, &value);
		else
			got = bpf_map_peek_elem(&values, &value);
		conformance_check(steps[i].line, got, steps[i].want);
		conformance_check(steps[i].line, value, steps[i].value);
	}
}
