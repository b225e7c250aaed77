/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that count their threads if helper 502 returns the time since 1970, in section kprobe/ and in gpu/. */
#include <gpubpf/probe.h>

#define FAR (1ull << 60) /* between the time since boot and the time since 1970, in ns */

GPUBPF_ARRAY(since_1970, __u64, 4);

static __always_inline int count(__u32 key)
{
	__u64 *n = bpf_map_lookup_elem(&since_1970, &key);

	if (n && bpf_get_globaltimer() > FAR)
		__sync_fetch_and_add(n, 1);
	return 0;
}

SEC("kprobe/cuda__step_one") int cuda__plain(void *ctx)
{
	return count(0);
}

SEC("kprobe/cuda__step_one") GPUBPF_CLOCK("monotonic") int cuda__near(void *ctx)
{
	return count(1);
}

SEC("gpu/entry/step_one") int own(struct gpubpf_ctx *ctx)
{
	return count(2);
}

SEC("gpu/entry/step_one") GPUBPF_CLOCK("realtime") int own_far(struct gpubpf_ctx *ctx)
{
	return count(3);
}

char LICENSE[] SEC("license") = "GPL";
