/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POPC, line 1000 and the loop's branch are one machine instruction each. Prints "opcodes" and four pairs. The first
 * number of a pair is how often the instruction executes. The second is: for POPC the sum of its operand, for the
 * line the sum of line numbers, for the branch how often it is taken, and again for the branch its wrong lane masks, 0.
 */
#include "../threads.cuh"

enum { BLOCK = 128, BLOCKS = 61, THREADS = BLOCKS * BLOCK, LINE = 1000 };

__global__ void rounds(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, x = 0x9e3779b9u * i, n = 1 + i % 7, sum = 0, bits;

#pragma unroll 1
	do {
#line 1000
		asm volatile("popc.b32 %0, %1;" : "=r"(bits) : "r"(x));
#line 20
		sum = sum * 5 + bits;
		x = x * 1664525u + 1013904223u;
	} while (--n);
	out[i] = sum;
}

int main()
{
	unsigned long long times = 0, values = 0, taken = 0;
	device_array<unsigned> out(THREADS);
	uint64_t digest;

	for (unsigned i = 0; i < THREADS; i++) {
		unsigned x = 0x9e3779b9u * i;

		for (unsigned n = 1 + i % 7; n; n--, x = x * 1664525u + 1013904223u) {
			times++;
			values += x;
			taken += n > 1;
		}
	}
	rounds<<<BLOCKS, BLOCK>>>(out.data);
	check(cudaGetLastError());
	digest = out.digest();
	printf("opcodes %llu %llu %llu %llu %llu %llu %llu 0\n", times, values, times, times * LINE, times, taken, times);
	return report(digest, THREADS);
}
