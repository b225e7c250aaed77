/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes a matrix of 64 by 64: reads rows, writes columns. */
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
