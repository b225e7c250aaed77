/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread adds its number to one of 16 sums with an atomic. As "workload racy" it uses a load and a store, between
 * which another thread may interfere. */
#include <cstring>

#include "../hip.h"

extern "C" __global__ void add(const unsigned *from, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&to[i % 16], from[i]);
}

extern "C" __global__ void add_racy(const unsigned *from, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i % 16] = to[i % 16] + from[i];
}

int main(int argc, char **argv)
{
	bool racy = argc > 1 && !strcmp(argv[1], "racy");

	return inside_run(racy ? add_racy : add, "add", 1024, 1024, 64);
}
