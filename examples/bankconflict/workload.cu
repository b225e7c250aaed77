/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warps that read shared memory by neighbours, by every second number, by columns of 32, by columns of 33, and all the same
 * one. "bankconflict NEEDED ROUNDS LANES" of all their loads and of the stores before them, as the source says it: that is
 * what the probe finds on a GPU with warps of 32 lanes.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { THREADS = 1 << 14, BLOCK = 128, WARP = 32, ROOM = BLOCK * 33 };

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s\n", cudaGetErrorString(error));
	exit(1);
}

template <unsigned STRIDE> __global__ void strided(unsigned *to)
{
	__shared__ volatile unsigned room[ROOM];
	unsigned i = threadIdx.x;

	room[i] = i * 3 + 1;
	__syncthreads();
	to[blockIdx.x * blockDim.x + i] = room[i * STRIDE % BLOCK] + room[i * STRIDE];
}

int main()
{
	std::vector<unsigned> data(THREADS);
	unsigned *to;
	uint64_t hash = 14695981039346656037u;
	unsigned warps = THREADS / WARP;

	check(cudaMalloc(&to, THREADS * sizeof(*to)));
	strided<1><<<THREADS / BLOCK, BLOCK>>>(to);
	check(cudaMemcpy(data.data(), to, THREADS * sizeof(*to), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < THREADS; i++)
		hash = (hash ^ data[i]) * 1099511628211u;
	strided<2><<<THREADS / BLOCK, BLOCK>>>(to);
	strided<32><<<THREADS / BLOCK, BLOCK>>>(to);
	strided<33><<<THREADS / BLOCK, BLOCK>>>(to);
	strided<0><<<THREADS / BLOCK, BLOCK>>>(to);
	check(cudaDeviceSynchronize());
	/* a store and two loads a warp and kernel. By strides of 1, 2, 33 and 0 the second load takes 1, 2, 1 and 1 rounds, by 32
	 * it takes 32; the first one, which comes back to the block's 128 numbers, the same but by 32: of four words, 4 */
	printf("bankconflict %u %u %u\n", 5 * 3 * warps, warps * (5 + (1 + 1) + (2 + 2) + (4 + 32) + (1 + 1) + (1 + 1)),
	       5 * 3 * THREADS);
	printf("digest %016llx\n", (unsigned long long)hash);
	return 0;
}
