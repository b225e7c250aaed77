// Most map types, declared with libbpf's syntax.
// >>> map 0 hash HASH key 4 value 8 max 16 flags 0x0 object 0
// >>> map 1 array ARRAY key 4 value 8 max 16 flags 0x0 object 0
// >>> map 2 perf PERF_EVENT_ARRAY key 0 value 0
// >>> map 3 percpu PERCPU_ARRAY key 4 value 8 max 16
// >>> map 4 ring RINGBUF key 0 value 0 max 4096
// >>> map 5 typed_ring RINGBUF key 0 value 0 max 8192
// >>> map 6 thread GPU_PERTHREAD_ARRAY key 4 value 8 max 16
// >>> map 7 gpu_array GPU_ARRAY key 4 value 8 max 16
// >>> map 8 gpu_ring GPU_RINGBUF key 0 value 8 max 16
// >>> map 9 gpu_hash GPU_HASH key 4 value 8 max 16
// >>> map 10 shared GPU_KERNEL_SHARED_ARRAY key 4 value 8 max 16
// >>> map 11 thread_host GPU_PERTHREAD_ARRAY_HOST key 4 value 8 max 16
// >>> map 12 array_host GPU_ARRAY_HOST key 4 value 8 max 16
#include <gpubpf/probe.h>

GPUBPF_MAP(hash, BPF_MAP_TYPE_HASH, __u32, __u64, 16);
GPUBPF_MAP(array, BPF_MAP_TYPE_ARRAY, __u32, __u64, 16);
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, 4);
	__uint(value_size, 4);
} perf SEC(".maps");
GPUBPF_MAP(percpu, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, 16);
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");
GPUBPF_RINGBUF(typed_ring, struct gpubpf_name, 5000); /* libbpf rounds up */
GPUBPF_MAP(thread, BPF_MAP_TYPE_GPU_PERTHREAD_ARRAY, __u32, __u64, 16);
GPUBPF_MAP(gpu_array, BPF_MAP_TYPE_GPU_ARRAY, __u32, __u64, 16);
GPUBPF_MAP(gpu_ring, BPF_MAP_TYPE_GPU_RINGBUF, __u32, __u64, 16);
GPUBPF_MAP(gpu_hash, BPF_MAP_TYPE_GPU_HASH, __u32, __u64, 16);
GPUBPF_MAP(shared, BPF_MAP_TYPE_GPU_KERNEL_SHARED_ARRAY, __u32, __u64, 16);
GPUBPF_MAP(thread_host, BPF_MAP_TYPE_GPU_PERTHREAD_ARRAY_HOST, __u32, __u64, 16);
GPUBPF_MAP(array_host, BPF_MAP_TYPE_GPU_ARRAY_HOST, __u32, __u64, 16);

SEC("gpu/entry/*") int use(struct gpubpf_ctx *ctx)
{
	__u32 k = 0;

	bpf_map_lookup_elem(&hash, &k);
	return 0;
}
