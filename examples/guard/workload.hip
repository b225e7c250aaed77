/* SPDX-License-Identifier: Apache-2.0 */
/* The last thread has no right neighbour: it reads past the buffer, and does not use the value. */
#include "../hip.h"

extern "C" __global__ void neighbours(const unsigned *from, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, here = from[i], right;

	asm volatile("" ::: "memory"); /* prevents compilers from joining the two reads */
	right = from[i + 1];
	to[i] = i + 1 < gridDim.x * blockDim.x ? here + right : here;
}

int main()
{
	return inside_run(neighbours, "neighbours", 4032, 4032, 64);
}
