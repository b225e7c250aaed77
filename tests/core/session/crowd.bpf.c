/* SPDX-License-Identifier: Apache-2.0 */
/* An object with 257 maps, one more than a session allows. */
#include <gpubpf/probe.h>

#define MAP_1(n) GPUBPF_ARRAY(m##n, __u64, 1);
#define MAP_4(n) MAP_1(n##0) MAP_1(n##1) MAP_1(n##2) MAP_1(n##3)
#define MAP_16(n) MAP_4(n##0) MAP_4(n##1) MAP_4(n##2) MAP_4(n##3)
#define MAP_64(n) MAP_16(n##0) MAP_16(n##1) MAP_16(n##2) MAP_16(n##3)

MAP_64(0)
MAP_64(1)
MAP_64(2)
MAP_64(3)
MAP_1(4)

SEC("gpu/exit/*")
int count(struct gpubpf_ctx *ctx)
{
	gpubpf_add(&m4, 0, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
