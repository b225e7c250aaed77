/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The macro COUNTERS (4, 16 or 64) is the number of BPF programs that run at the exit of each thread. Each program
 * counts threads in a separate map.
 */
#include <gpubpf/probe.h>

#define COUNT(n) \
	GPUBPF_ARRAY(counts_##n, __u64, 1); \
	SEC("gpu/exit/*") \
	int count_##n(struct gpubpf_ctx *ctx) \
	{ \
		gpubpf_add(&counts_##n, 0, 1); \
		return 0; \
	}
#define COUNT4(n) COUNT(n##0) COUNT(n##1) COUNT(n##2) COUNT(n##3)
#define COUNT16(n) COUNT4(n##0) COUNT4(n##1) COUNT4(n##2) COUNT4(n##3)

COUNT4(0)
#if COUNTERS > 4
COUNT4(1)
COUNT4(2)
COUNT4(3)
#endif
#if COUNTERS > 16
COUNT16(1)
COUNT16(2)
COUNT16(3)
#endif

char LICENSE[] SEC("license") = "GPL";
