/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four branches: whole waves agree; every second lane takes it; one lane of 32 takes it; a loop with as many rounds as
 * its thread has bits. The guarded code stores to memory, so that no compiler turns the branches into selections.
 */
#include "../hip.h"

extern "C" __global__ void branches(const unsigned *from, volatile unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = from[i];

	if (from[i] < 2048)
		to[i] = v = v * 3 + 1;
	if (i & 1)
		to[i] = v ^= 0x5555;
	if (i % 32 == 7)
		to[i] = v += 1000;
	for (unsigned bits = i & 7; bits; bits >>= 1)
		to[i] = v = v * 31 + bits;
}

int main()
{
	return inside_run(branches, "branches", 4096, 4096, 64);
}
