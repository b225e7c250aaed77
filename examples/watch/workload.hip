/* SPDX-License-Identifier: Apache-2.0 */
/* The first thread of a group reads a word, which never changes, LOOKS times; the others wait for it at the barrier.
 * workload LOOKS: sets the number; the default is 8. */
#include "../hip.h"

__constant__ unsigned most;

extern "C" __global__ void waits(const unsigned *from, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (threadIdx.x == 0)
		for (unsigned looks = 0; looks < most && from[threadIdx.x + 1] == 1; looks++)
			asm volatile("" ::: "memory"); /* forces a new read */
	__syncthreads();
	to[i] = i;
}

int main(int argc, char **argv)
{
	unsigned looks = argc > 1 ? strtoul(argv[1], nullptr, 0) : 8;

	CHECK(hipMemcpyToSymbol(HIP_SYMBOL(most), &looks, sizeof(looks)));
	return inside_run(waits, "waits", 1024, 1024, 128);
}
