/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix of 64 by 64: rows are read, columns written. */
#include "../hip.h"

extern "C" __global__ void transpose(const unsigned *from, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i % 64 * 64 + i / 64] = from[i];
}

int main()
{
	return inside_run(transpose, "transpose", 64 * 64, 64 * 64, 64);
}
