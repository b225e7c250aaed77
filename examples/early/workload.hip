/* SPDX-License-Identifier: Apache-2.0 */
/* workload.c with fewer rooms: each number becomes the minimum of itself and its neighbours, except walls. */
#include <utility>

#include "../hip.h"

enum { N = 2048, BLOCK = 64, ROUNDS = 20 };

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
	std::vector<unsigned> data(N);
	unsigned *from, *to, sum = 0;

	for (unsigned i = 0, at = 0; i < N; i++) {
		data[i] = at ? N - at : 0;
		at = at < 8 + i / 128 ? at + 1 : 0;
	}
	from = buffer(data);
	to = buffer(data);
	for (int round = 0; round < ROUNDS; round++, std::swap(from, to))
		relax<<<N / BLOCK, BLOCK>>>(from, to, N);
	for (unsigned number : read(from, N))
		sum = sum * 31 + number;
	printf("relax: %u\n", sum);
	return 0;
}
