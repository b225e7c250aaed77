/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the same as workload.c, with more numbers. The program prints "early RAN SETTLED": the number of threads
 * that run, and of threads that early.bpf.c ends at their entry.
 */
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

enum { N = 1 << 20, BLOCK = 256, ROUNDS = 200 };

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s\n", cudaGetErrorString(error));
	exit(1);
}

extern "C" __global__ void relax(const unsigned *from, unsigned *to, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, least = from[i];

	if (least && i > 0 && from[i - 1])
		least = min(least, from[i - 1]);
	if (least && i + 1 < n && from[i + 1])
		least = min(least, from[i + 1]);
	to[i] = least;
}

int main()
{
	std::vector<unsigned> data(N), moves(N / BLOCK + 2);
	unsigned *from, *to;
	uint64_t hash = 14695981039346656037u, ran = 0;

	for (unsigned i = 0, at = 0; i < N; i++) {
		data[i] = at ? N - at : 0;
		at = at < 8 + i / 8192 ? at + 1 : 0;
	}
	/*
	 * A number changes as many times as its distance from the last number of its room. Its block needs one more
	 * launch in which nothing changes, and one more because there are two buffers.
	 */
	for (unsigned i = N, far = 0; i-- > 0; far++) {
		if (!data[i] || i == N - 1 || !data[i + 1])
			far = 0;
		moves[i / BLOCK + 1] = std::max(moves[i / BLOCK + 1], far);
	}
	for (unsigned b = 1; b <= N / BLOCK; b++)
		ran += std::min<unsigned>(ROUNDS, std::max({ moves[b - 1], moves[b], moves[b + 1] }) + 2);
	check(cudaMalloc(&from, N * sizeof(*from)));
	check(cudaMalloc(&to, N * sizeof(*to)));
	check(cudaMemcpy(from, data.data(), N * sizeof(*from), cudaMemcpyHostToDevice));
	check(cudaMemcpy(to, from, N * sizeof(*from), cudaMemcpyDeviceToDevice));
	for (unsigned round = 0; round < ROUNDS; round++, std::swap(from, to))
		relax<<<N / BLOCK, BLOCK>>>(from, to, N);
	check(cudaMemcpy(data.data(), from, N * sizeof(*from), cudaMemcpyDeviceToHost));
	for (unsigned number : data)
		hash = (hash ^ number) * 1099511628211u;
	printf("early %llu %llu\n", (unsigned long long)ran * BLOCK, ((unsigned long long)N / BLOCK * ROUNDS - ran) * BLOCK);
	printf("digest %016llx\n", (unsigned long long)hash);
	return 0;
}
