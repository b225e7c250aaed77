/* SPDX-License-Identifier: Apache-2.0 */
/* Each group sums 64 numbers. Before the first barrier one thread does all the work; before the others all work. */
#include "../hip.h"

extern "C" __global__ void sum(const unsigned *from, unsigned *to)
{
	__shared__ unsigned part[128];
	unsigned i = threadIdx.x, v = from[blockIdx.x * blockDim.x + i];

	if (i == 0)
		for (int k = 0; k < 200; k++)
			v = v * 1664525 + 1013904223;
	part[i] = v;
	__syncthreads();
#pragma clang loop unroll(disable)
	for (unsigned step = 64; step; step /= 2) {
		if (i < step)
			part[i] += part[i + step];
		__syncthreads();
	}
	to[blockIdx.x * blockDim.x + i] = part[0] + i;
}

int main()
{
	return inside_run(sum, "sum", 512, 512, 128);
}
