/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Warps read shared memory with strides of 1, 2, 32 and 33 words. With stride 0, all lanes read one word. The program
 * prints "bankconflict NEEDED ROUNDS LANES" for these loads and the stores before them, computed from the source. The
 * probe finds the same numbers on a GPU with warps of 32 lanes.
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
	/*
	 * Each warp does a store and two loads per kernel. The second load takes 1, 2, 32, 1 and 1 rounds for the
	 * strides 1, 2, 32, 33 and 0. The first load takes as many rounds, except for stride 32: its index wraps at the
	 * block's 128 numbers, so that the warp reads four words in 4 rounds.
	 */
	printf("bankconflict %u %u %u\n", 5 * 3 * warps, warps * (5 + (1 + 1) + (2 + 2) + (4 + 32) + (1 + 1) + (1 + 1)),
	       5 * 3 * THREADS);
	printf("digest %016llx\n", (unsigned long long)hash);
	return 0;
}
