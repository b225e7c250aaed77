/* SPDX-License-Identifier: Apache-2.0 */
/* Reads 16 numbers for each one that it writes. */
#include "../hip.h"

extern "C" __global__ void gather(const unsigned *from, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x, sum = 0;

	for (unsigned k = 0; k < 16; k++)
		sum = sum * 31 + from[(i * 17 + k * 256) % n];
	to[i] = sum;
}

int main()
{
	return inside_run(gather, "gather", 1024, 1024, 64);
}
