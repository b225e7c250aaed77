/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes read adjacent, every second, and every 32nd number; they write to adjacent numbers. */
#include "../hip.h"

template <unsigned STRIDE> __global__ void strided(const unsigned *from, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[i * STRIDE];
}

int main()
{
	inside_run(strided<1>, "by 1", 32 * 1024, 1024, 128);
	inside_run(strided<2>, "by 2", 32 * 1024, 1024, 128);
	return inside_run(strided<32>, "by 32", 32 * 1024, 1024, 128);
}
