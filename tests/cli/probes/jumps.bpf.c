/* SPDX-License-Identifier: Apache-2.0 */
/* A program array whose slots the tool changes while kernels run. */
#include <gpubpf/probe.h>

GPUBPF_ARRAY(went, __u64, 4);

int left(void *ctx), right(void *ctx);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__array(values, int(void *));
} ways SEC(".maps") = { .values = { [1] = (void *)&left } };

/* a map with more slots than gpubpf shows in one line; no program tail-calls through it */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 40);
	__type(key, __u32);
	__array(values, int(void *));
} wide SEC(".maps") = { .values = { [0 ... 39] = (void *)&left } };

SEC("gpu/entry")
int left(void *ctx)
{
	gpubpf_add(&went, 1, 1);
	return 0;
}

SEC("gpu/entry")
int right(void *ctx)
{
	gpubpf_add(&went, 2, 1);
	return 0;
}

SEC("gpu/entry/*")
int cross(void *ctx)
{
	bpf_tail_call(ctx, &ways, 1);
	gpubpf_add(&went, 0, 1);
	return 0;
}
