/* SPDX-License-Identifier: Apache-2.0 */
/* Transposes a tile of 16 by 16 numbers: writes rows, reads columns. */
#include "../hip.h"

extern "C" __global__ void turn(const unsigned *from, unsigned *to)
{
	__shared__ unsigned tile[256];
	unsigned i = threadIdx.x, x = i % 16, y = i / 16;

	tile[y * 16 + x] = from[blockIdx.x * blockDim.x + i];
	__syncthreads();
	to[blockIdx.x * blockDim.x + i] = tile[x * 16 + y];
}

int main()
{
	return inside_run(turn, "turn", 4096, 4096, 256);
}
