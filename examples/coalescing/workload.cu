/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four kernels, whose lanes read adjacent, every second, every 32nd, and scattered numbers. The line "coalescing
 * SECTORS BYTES WARPS LANES" covers all accesses; it is computed from the source. The probe finds the same numbers on a
 * GPU with warps of 32 lanes.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <vector>

enum { THREADS = 1 << 16, BLOCK = 128, WARP = 32, SECTOR = 32, N = THREADS * 32 };

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s\n", cudaGetErrorString(error));
	exit(1);
}

template <unsigned STRIDE> __global__ void strided(const unsigned *from, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[i * STRIDE];
}

__host__ __device__ static unsigned anywhere(unsigned i)
{
	return (i * 2654435761u >> 7) % N;
}

__global__ void scattered(const unsigned *from, unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	to[i] = from[anywhere(i)];
}

/* Returns the number of sectors that all warps load together when thread i loads from[index(i)]. */
template <typename F> static unsigned long long sectors(F index)
{
	unsigned long long n = 0;

	for (unsigned warp = 0; warp < THREADS; warp += WARP) {
		std::set<unsigned> touched;

		for (unsigned i = warp; i < warp + WARP; i++)
			touched.insert(index(i) / (SECTOR / sizeof(unsigned)));
		n += touched.size();
	}
	return n;
}

int main()
{
	std::vector<unsigned> data(N);
	unsigned *from, *to;
	uint64_t hash = 14695981039346656037u;

	for (unsigned i = 0; i < N; i++)
		data[i] = i;
	check(cudaMalloc(&from, N * sizeof(*from)));
	check(cudaMalloc(&to, 4 * THREADS * sizeof(*to)));
	check(cudaMemcpy(from, data.data(), N * sizeof(*from), cudaMemcpyHostToDevice));
	strided<1><<<THREADS / BLOCK, BLOCK>>>(from, to);
	strided<2><<<THREADS / BLOCK, BLOCK>>>(from, to + THREADS);
	strided<32><<<THREADS / BLOCK, BLOCK>>>(from, to + 2 * THREADS);
	scattered<<<THREADS / BLOCK, BLOCK>>>(from, to + 3 * THREADS);
	check(cudaMemcpy(data.data(), to, 4 * THREADS * sizeof(*to), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < 4 * THREADS; i++)
		hash = (hash ^ data[i]) * 1099511628211u;
	/*
	 * Each warp stores 128 bytes, which are 4 sectors. It loads 4, 8, 32 and sectors(anywhere) sectors in the four
	 * kernels.
	 */
	printf("coalescing %llu %u %u %u\n", THREADS / WARP * (4 * 4 + 4 + 8 + 32) + sectors(anywhere),
	       2 * 4 * THREADS * (unsigned)sizeof(unsigned), 2 * 4 * THREADS / WARP, 2 * 4 * THREADS);
	printf("digest %016llx\n", (unsigned long long)hash);
	return 0;
}
