/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An instruction, a line and a mark that named.bpf.c selects by name. Prints "named INSNS OPERANDS LINES MARKS VALUES":
 * INSNS, LINES and MARKS count over all threads, OPERANDS and VALUES are sums of an operand and of the marked values.
 */
#ifndef __CUDACC_RTC__
#include "../launched.cuh"
#endif
#include <gpubpf/mark.h>

enum { BLOCK = 96, BLOCKS = 1000, THREADS = BLOCK * BLOCKS };

#ifdef REST
__device__ unsigned apart(unsigned a, unsigned b, unsigned sum);
#else
__device__ unsigned apart(unsigned a, unsigned b, unsigned sum)
{
	asm volatile("sad.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(a), "r"(b));
	return sum;
}
#endif

#ifndef PART
extern "C" __global__ void rounds(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;

	for (unsigned k = 0; k <= i % 7; k++) {
		GPUBPF_MARK(step, (short)(k - 1));
		sum = apart(k, i, sum);
	}
	if (i % 3 == 0) {
#line 1000
		asm volatile("brev.b32 %0, %0;" : "+r"(sum));
	}
	out[i] = sum;
}

#ifndef __CUDACC_RTC__
int main(int argc, char **argv)
{
	unsigned long long rounds_of_all = 0, operands = 0, lines = 0;
	long long marks = 0;
	device_array<unsigned> out(THREADS);

	TAKE_FORM(argc, argv);
	LAUNCH(rounds, BLOCKS, BLOCK, 0, out.data);
	for (unsigned i = 0; i < THREADS; i++) {
		rounds_of_all += i % 7 + 1;
		operands += (unsigned long long)(i % 7 + 1) * i;
		lines += i % 3 == 0;
		for (int k = 0; k <= (int)(i % 7); k++)
			marks += k - 1;
	}
	printf("named %llu %llu %llu %llu %lld\n", rounds_of_all, operands, lines, rounds_of_all, marks);
	return report(out.digest(), THREADS);
}
#endif
#endif
