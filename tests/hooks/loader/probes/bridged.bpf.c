/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps of many types, shared by programs of the Linux kernel and one GPU program. The programs load in the order of
 * this file.
 */
#include "../../../core/load/ints.h"

#include <bpf/bpf_helpers.h>

#define LANE_STEP 1
#define HOST_STEP 1000

struct record {
	__u64 time, number, kind;
};
const struct record *record_type;      /* this BTF type tells the session which member of a record is its time */
struct both {
	__u64 of_kernel, of_gpu;
};

#define KEYED(map, map_type, value_type)           \
	struct {                                   \
		__uint(type, map_type);            \
		__uint(max_entries, 64);           \
		__type(key, __u32);                \
		__type(value, value_type);         \
	} map SEC(".maps")
#define OF_VALUES(map, map_type)                   \
	struct {                                   \
		__uint(type, map_type);            \
		__uint(max_entries, 4096);         \
		__type(value, __u64);              \
	} map SEC(".maps")
KEYED(sums, BPF_MAP_TYPE_HASH, __u64);
KEYED(table, BPF_MAP_TYPE_ARRAY, __u64);
KEYED(cpu, BPF_MAP_TYPE_PERCPU_ARRAY, __u64);
KEYED(recent, 9 /* BPF_MAP_TYPE_LRU_HASH */, __u64);
KEYED(values, BPF_MAP_TYPE_HASH, struct both);
KEYED(asked, BPF_MAP_TYPE_HASH, __u64);
OF_VALUES(to_kernel, 22 /* BPF_MAP_TYPE_QUEUE */);
OF_VALUES(to_reader, 22);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} ring SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} perf SEC(".maps");

static __always_inline void add(void *map, __u32 key, __u64 n)
{
	__u64 zero = 0, *value = bpf_map_lookup_elem(map, &key);

	if (!value) {
		bpf_map_update_elem(map, &key, &zero, BPF_NOEXIST);
		value = bpf_map_lookup_elem(map, &key);
	}
	if (value)
		__sync_fetch_and_add(value, n);
}

static __always_inline void add_to_all(__u64 n)
{
	add(&sums, 0, n);
	add(&table, 1, n);
	add(&cpu, 2, n);
	add(&recent, 3, n);
}

static __always_inline void tell(void *ctx, __u64 number, __u64 kind)
{
	struct record r = { bpf_ktime_get_ns(), number, kind };

	bpf_ringbuf_output(&ring, &r, sizeof(r), 0);
	bpf_perf_event_output(ctx, &perf, 0xffffffffull, &r, sizeof(r));
}

#define GPU_PROGRAM                                                              \
	static const __u64 (*thread_idx)(__u64 *, __u64 *, __u64 *) = (void *)505; \
	static const __u64 (*block_idx)(__u64 *, __u64 *, __u64 *) = (void *)503;  \
	SEC("kprobe/step_one")                                                   \
	int cuda__step(void *ctx)                                                \
	{                                                                        \
		__u64 x = 0, y = 0, z = 0, block = 0;                            \
		__u32 first = 0;                                                 \
		struct both *value;                                              \
                                                                                 \
		add_to_all(LANE_STEP);                                           \
		thread_idx(&x, &y, &z);                                          \
		block_idx(&block, &y, &z);                                       \
		if (x || block)                                                  \
			return 0;                                                \
		value = bpf_map_lookup_elem(&values, &first);                    \
		if (!value)                                                      \
			return 0;                                                \
		x = ++value->of_gpu;                                             \
		bpf_map_push_elem(&to_kernel, &x, BPF_ANY);                      \
		bpf_map_push_elem(&to_reader, &x, BPF_ANY);                      \
		tell(ctx, x, 2);                                                 \
		return 0;                                                        \
	}

#ifndef GPU_LAST
GPU_PROGRAM
#endif

/*
 * Stores the number of popped values, and how many are out of order, at key 1 of values. Stores twice the loader's
 * number in asked.
 */
SEC("uprobe")
int on_host(void *ctx)
{
	__u32 first = 0, second = 1, key = 7, answer = 8;
	struct both *value = bpf_map_lookup_elem(&values, &first), *out = bpf_map_lookup_elem(&values, &second);
	__u64 got = 0, *question = bpf_map_lookup_elem(&asked, &key);

	add_to_all(HOST_STEP);
	if (question)
		got = *question * 2;
	bpf_map_update_elem(&asked, &answer, &got, BPF_ANY);
	if (!value || !out)
		return 0;
	value->of_kernel++;
	tell(ctx, value->of_kernel, 1);
	if (!bpf_map_pop_elem(&to_kernel, &got)) {
		out->of_kernel++;
		out->of_gpu += got != out->of_kernel;
	}
	return 0;
}

static __always_inline int called(__u32 key)
{
	add(&sums, key, bpf_get_current_pid_tgid() >> 32 != 0);
	return 0;
}

/* getppid(2) */
SEC("raw_tracepoint/sys_enter")
int on_raw(__u64 *ctx)
{
	return ctx[1] == 110 ? called(20) : 0;
}

SEC("tracepoint/syscalls/sys_enter_getppid")
int on_tracepoint(void *ctx)
{
	return called(21);
}

SEC("fentry/__x64_sys_getppid")
int on_function(void *ctx)
{
	return called(22);
}

#ifdef GPU_LAST
GPU_PROGRAM
#endif

char LICENSE[] SEC("license") = "GPL";
