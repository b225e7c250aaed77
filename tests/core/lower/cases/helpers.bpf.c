/* SPDX-License-Identifier: Apache-2.0 */
/* Every helper that a device supports, except the helpers for ring buffers and prints. */
#include <gpubpf/probe.h>

struct sums {
	__u64 a[16];
};

GPUBPF_HASH(table, struct gpubpf_name, struct sums, 64);
GPUBPF_ARRAY(array, struct sums, 16);
GPUBPF_PER_THREAD(own, struct sums);
GPUBPF_MAP(gpu_array, BPF_MAP_TYPE_GPU_ARRAY, __u32, struct sums, 4);

SEC("gpu/entry/*")
int numbers(struct gpubpf_ctx *ctx)
{
	__u64 x[3], y[3], z[3], w[3];
	struct sums *value;
	__u32 key = 0;

	bpf_get_block_idx(&x[0], &x[1], &x[2]);
	bpf_get_block_dim(&y[0], &y[1], &y[2]);
	bpf_get_thread_idx(&z[0], &z[1], &z[2]);
	bpf_get_grid_dim(&w[0], &w[1], &w[2]);
	value = bpf_map_lookup_elem(&own, &key);
	if (!value)
		return 0;
	value->a[0] = bpf_ktime_get_ns();
	value->a[1] = bpf_get_prandom_u32();
	value->a[2] = bpf_get_smp_processor_id();
	value->a[3] = bpf_get_current_pid_tgid();
	value->a[4] = bpf_get_globaltimer();
	value->a[5] = bpf_get_sm_id();
	value->a[6] = bpf_get_warp_id();
	value->a[7] = bpf_get_lane_id();
	value->a[8] = bpf_get_device_id();
	bpf_gpu_membar();
	value->a[9] = x[0] + x[1] + x[2] + y[0] + y[1] + y[2];
	value->a[10] = z[0] + z[1] + z[2] + w[0] + w[1] + w[2];
	bpf_get_block_idx(&value->a[11], &value->a[12], &value->a[13]);
	return 0;
}

SEC("gpu/entry/*")
int maps(struct gpubpf_ctx *ctx)
{
	struct gpubpf_name name;
	struct sums sums = { { ctx->thread_idx[0] } }, *value, *other;
	__u32 key = ctx->thread_idx[0] & 15;

	gpubpf_kernel_name(ctx, &name);
	bpf_map_update_elem(&table, &name, &sums, BPF_ANY);
	value = bpf_map_lookup_elem(&table, &name);
	if (value)
		bpf_map_update_elem(&array, &key, value, BPF_EXIST); /* the value argument points into a map */
	other = bpf_map_lookup_elem(&array, &key);
	if (other)
		other->a[1] = 2;
	key &= 3;
	bpf_map_update_elem(&gpu_array, &key, &sums, BPF_ANY);
	bpf_map_delete_elem(&array, &key);
	return 0;
}

SEC("gpu/exit/*")
int arguments(struct gpubpf_ctx *ctx)
{
	char whole[24], late[8];
	struct sums *value;
	__u32 key = 1;

	bpf_gpu_read_arg(ctx, 1, 0, whole, sizeof(whole));
	bpf_gpu_read_arg(ctx, 33, 16, late, sizeof(late));
	value = bpf_map_lookup_elem(&array, &key);
	if (value) {
		value->a[0] = whole[0] + whole[23] + late[7] + bpf_gpu_named_arg(ctx, "delta");
		bpf_gpu_read_arg(ctx, 1, 8, &value->a[1], 16); /* into map memory */
	}
	return 0;
}
