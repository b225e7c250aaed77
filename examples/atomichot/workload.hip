/* SPDX-License-Identifier: Apache-2.0 */
/* A histogram of 16 slots; half of all numbers fall into one slot. */
#include "../hip.h"

extern "C" __global__ void histogram(const unsigned *from, unsigned *to)
{
	unsigned v = from[blockIdx.x * blockDim.x + threadIdx.x];

	atomicAdd(&to[v % 2 ? 3 : v / 2 % 16], 1u);
}

int main()
{
	return inside_run(histogram, "histogram", 4096, 4096, 64);
}
