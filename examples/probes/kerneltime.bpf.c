/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the time from the start of a launch's first block to the end of its last block. If the runtime measures
 * launches itself (OpenCL on CPUs), kernels run without these programs, and the map receives the runtime's times.
 */
#include "by_kernel.h"

struct GPUBPF_ROW times {
	struct gpubpf_times launches;
};
BY_KERNEL(kerneltime, struct times) GPUBPF_LAUNCH_TIMES;
GPUBPF_LAUNCHES(launched, 1) GPUBPF_SCRATCH;

SEC("gpu/entry/*")
GPUBPF_ABOUT("how long each kernel runs: launches, sum, mean, median, p99, share")
int kernel_begins(struct gpubpf_ctx *ctx)
{
	gpubpf_launch_begin(ctx, &launched);
	return 0;
}

SEC("gpu/exit/*")
int kernel_ends(struct gpubpf_ctx *ctx)
{
	long time = gpubpf_launch_time(ctx, &launched);
	struct times *times;

	if (time <= 0)
		return 0;
	times = of_kernel(ctx, &kerneltime);
	if (times)
		gpubpf_measure(&times->launches, time);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
