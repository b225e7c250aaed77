/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Four branches: taken by complete warps, by every second lane, by one lane of each warp, and by no lane. The program
 * prints "divergence WARPS SPLITS LANES TAKEN LOST", computed from the source. The probe finds the same on a GPU with
 * warps of 32 lanes. The branches guard a call that is not inlined, so that no compiler turns them into selections.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum { THREADS = 1 << 14, BLOCK = 128, WARP = 32 };

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s\n", cudaGetErrorString(error));
	exit(1);
}

__noinline__ __device__ void note(unsigned *at, unsigned v)
{
	atomicAdd(at, v);
}

template <int HOW> __global__ void guarded(unsigned *to)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (HOW == 0 ? i / WARP % 2 : HOW == 1 ? i % 2 : HOW == 2 ? i % WARP == 7 : i >= THREADS)
		note(&to[i], i + 1);
}

int main()
{
	std::vector<unsigned> data(4 * THREADS);
	unsigned *to;
	uint64_t hash = 14695981039346656037u;
	unsigned warps = THREADS / WARP;

	check(cudaMalloc(&to, 4 * THREADS * sizeof(*to)));
	check(cudaMemset(to, 0, 4 * THREADS * sizeof(*to)));
	guarded<0><<<THREADS / BLOCK, BLOCK>>>(to);
	guarded<1><<<THREADS / BLOCK, BLOCK>>>(to + THREADS);
	guarded<2><<<THREADS / BLOCK, BLOCK>>>(to + 2 * THREADS);
	guarded<3><<<THREADS / BLOCK, BLOCK>>>(to + 3 * THREADS);
	check(cudaMemcpy(data.data(), to, 4 * THREADS * sizeof(*to), cudaMemcpyDeviceToHost));
	for (unsigned i = 0; i < 4 * THREADS; i++)
		hash = (hash ^ data[i]) * 1099511628211u;
	/*
	 * The second kernel splits its warps in halves. In the third, each warp loses one lane, whichever part takes
	 * the branch.
	 */
	printf("divergence %u %u %u %u\n", 4 * warps, 2 * warps, 4 * THREADS, THREADS / 2 + THREADS / WARP);
	printf("digest %016llx\n", (unsigned long long)hash);
	return 0;
}
