/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread writes a record to a ring of type GPU_RINGBUF, which is bpftime's. */
#include "../../../core/load/ints.h"

#include <bpf/bpf_helpers.h>

struct record {
	__u64 number, kind;
	char rest[40];
};

struct {
	__uint(type, 1527);
	__uint(max_entries, 16);
	__type(key, __u32);
	__type(value, struct record);
} ring SEC(".maps");

__u64 number;

SEC("kprobe/cuda__step_one")
int cuda__enter(void *ctx)
{
	__u64 record[3] = { __sync_fetch_and_add(&number, 1), 7, 0 };

	bpf_perf_event_output(NULL, &ring, 0, record, 20);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
