/* SPDX-License-Identifier: Apache-2.0 */
/* One thread follows links in an unpredictable order, and all threads sum a buffer of 1 MiB, each once. */
#include "../hip.h"

enum { LINES = 1 << 14, LINE = 16, STEPS = 100, SUMMED = 1 << 8, THREADS = 256, BLOCK = 64 };

extern "C" __global__ void chase(const unsigned *from, unsigned *to)
{
	unsigned at = to[0];

#pragma clang loop unroll(disable)
	for (unsigned i = 0; i < STEPS; i++)
		at = from[at];
	to[0] = at;
}

extern "C" __global__ void stream(const uint4 *from, unsigned *to)
{
	unsigned sum = 0;

#pragma clang loop unroll(disable)
	for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < SUMMED * (LINE / 4); i += THREADS) {
		uint4 four = from[i];

		sum += four.x + four.y + four.z + four.w;
	}
	to[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

int main()
{
	std::vector<unsigned> data(LINES * LINE);
	unsigned *from, *to, end, sum = 0;

	for (unsigned i = 0, at = 0; i < LINES; i++, at = data[at]) /* a full cycle: a - 1 is a multiple of 4, c is odd */
		data[at] = (at / LINE * 1664525 + 1013904223) % LINES * LINE;
	from = buffer(data);
	to = buffer(std::vector<unsigned>(THREADS)); /* less than 1 MiB: near */
	chase<<<1, 1>>>(from, to);
	end = read(to, 1)[0];
	stream<<<THREADS / BLOCK, BLOCK>>>(reinterpret_cast<const uint4 *>(from), to);
	for (unsigned number : read(to, THREADS))
		sum = sum * 31 + number;
	printf("cxlmem: %u %u\n", end, sum);
	return 0;
}
