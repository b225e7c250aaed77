/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first warp of a block passes 32 numbers to the other warps. Even without a barrier, the other warps usually read
 * the numbers late enough, because they first wait for memory. The program prints two lines. "wrong": number of threads
 * that got a wrong number in the kernel with the barrier; standard error has this number for the kernel without the
 * barrier. "racer VISITS": number of accesses and barriers of both kernels, computed from the source.
 */
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { THREADS = 1 << 18, BLOCK = 256, WARP = 32 };

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s\n", cudaGetErrorString(error));
	exit(1);
}

template <bool WAITS> __global__ void hand_over(const unsigned *from, unsigned *to)
{
	__shared__ volatile unsigned handed[WARP];
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, own;

	if (threadIdx.x < WARP)
		handed[threadIdx.x] = i * 3 + 1;
	own = from[i];
	if (WAITS)
		__syncthreads();
	to[i] = own + handed[(threadIdx.x + own) % WARP]; /* both the sum and the index depend on the load */
}

template <bool WAITS> static unsigned wrong(const unsigned *from, unsigned *to)
{
	std::vector<unsigned> got(THREADS);
	unsigned n = 0;

	hand_over<WAITS><<<THREADS / BLOCK, BLOCK>>>(from, to);
	check(cudaMemcpy(got.data(), to, THREADS * sizeof(*to), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < THREADS; i++)
		n += got[i] != (i / BLOCK * BLOCK + i % WARP) * 3 + 1;
	return n;
}

int main()
{
	unsigned *from, *to;

	check(cudaMalloc(&from, THREADS * sizeof(*from)));
	check(cudaMalloc(&to, THREADS * sizeof(*to)));
	check(cudaMemset(from, 0, THREADS * sizeof(*from)));
	printf("wrong %u\n", wrong<true>(from, to));
	fprintf(stderr, "without the barrier %u of %u threads got a wrong number\n", wrong<false>(from, to), THREADS);
	printf("racer %u\n", 2 * (3 * THREADS + THREADS / BLOCK * WARP) + THREADS);
	return 0;
}
