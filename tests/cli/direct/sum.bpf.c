/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of gpu/run/ for run.sh: each word of the data becomes 3 * word + 1, and maps count the threads. */
#include <gpubpf/probe.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} records SEC(".maps");

static void add(__u32 key, __u64 n)
{
	__u64 *count = bpf_map_lookup_elem(&counts, &key);

	if (count)
		__sync_fetch_and_add(count, n);
}

SEC("gpu/run/sum") int sum(struct gpubpf_ctx *ctx)
{
	__u64 *word = gpubpf_data(ctx->global_linear * 8, 8);

	add(0, 1);
	if (!word)
		return 7;
	add(1, *word);
	add(2, gpubpf_data_size());
	*word = *word * 3 + 1;
	return 42;
}

/* asm: otherwise clang keeps the address instead of the result of the comparison, and spills it */
#define HAS(offset, size) ({ \
	int yes = 0; \
	if (gpubpf_data(offset, size)) \
		yes = 1; \
	asm volatile("" : "+r"(yes)); \
	yes; \
})

/* offsets and sizes that are not all in the buffer, or not aligned as the size is; returns the number of right answers */
SEC("gpu/run/edges") int edges(struct gpubpf_ctx *ctx)
{
	__u64 size = gpubpf_data_size();
	int right = 0;

	right += HAS(size - 8, 8);
	right += !HAS(size, 1);
	right += !HAS(size - 7, 8);
	right += !HAS(size - 4, 8);
	right += !HAS(~0ull, 1);
	right += !HAS(~0ull - 7, 8);
	right += !HAS(0ull - 8, 16);
	right += !HAS(4, 8);
	right += !HAS(2, 4);
	right += HAS(4, 4);
	right += HAS(3, 1);
	right += !HAS(0, 1 << 20);
	bpf_ringbuf_output(&records, &right, sizeof(right), 0);
	bpf_printk("%d right", right);
	return right;
}

/* one instruction that accesses a map in even threads and the data in odd threads */
SEC("gpu/run/either") int either(struct gpubpf_ctx *ctx)
{
	__u64 n = ctx->global_linear, *data = gpubpf_data(8 * n, 8), *count, *to;
	__u32 key = 0;

	count = bpf_map_lookup_elem(&counts, &key);
	if (!count || !data)
		return 1;
	to = n & 1 ? data : count;
	__sync_fetch_and_add(to, 5);
	return 0;
}

/* a program for kernels of applications */
SEC("gpu/entry/k") int entry(struct gpubpf_ctx *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
