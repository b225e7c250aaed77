/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Instructions, a line and branches: compilers emit one machine instruction for each in the source. "opcodes TIMES
 * SUM" of POPC, SUM adds its operand; TIMES SUM of the line, which is one instruction; TIMES TAKEN of the loop's
 * branch, which the lanes of a warp leave in different rounds; TIMES 0, since no reported lane mask is wrong.
 */
#include "threads.cuh"

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
