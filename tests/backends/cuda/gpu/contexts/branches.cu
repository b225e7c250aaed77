/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All branches of the kernels are in inline assembly, so that the source determines their number. The program prints
 * "branches EXECUTED TAKEN WRONG", counted over all threads. WRONG is the number of incorrect lane masks: always 0.
 */
#ifndef __CUDACC_RTC__
#include "../launched.cuh"
#endif

enum { BLOCK = 96, BLOCKS = 1000, THREADS = BLOCK * BLOCKS };

#ifdef REST
__device__ unsigned around(unsigned i, unsigned n);
__device__ unsigned over(unsigned i, unsigned bit);
#else
/* Thread i runs i % n + 1 rounds, and takes the back edge in each round except the last. */
__device__ unsigned around(unsigned i, unsigned n)
{
	unsigned sum = 0;

	asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 k;\n\trem.u32 k, %1, %2;\n"
		     "AGAIN:\n\tadd.u32 %0, %0, 3;\n\tsetp.ne.u32 p, k, 0;\n\tsub.u32 k, k, 1;\n\t@p bra AGAIN;\n\t}"
		     : "+r"(sum) : "r"(i), "r"(n));
	return sum;
}

/* Executes one branch "@!p bra", which is taken if the bit is clear. */
__device__ unsigned over(unsigned i, unsigned bit)
{
	unsigned v = 7;

	asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 k;\n\tand.b32 k, %1, %2;\n\tsetp.ne.u32 p, k, 0;\n\t@!p bra OVER;\n"
		     "\tadd.u32 %0, %0, %1;\nOVER:\n\t}" : "+r"(v) : "r"(i), "r"(bit));
	return v;
}
#endif

#ifndef PART
extern "C" __global__ void loops(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = around(i, 5) + around(i, 32) * 100;
}

/* Executes branches while halves, quarters and eighths of a warp have diverged. */
extern "C" __global__ void nested(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = 0;

	asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 k;\n"
		     "\tand.b32 k, %1, 1;\n\tsetp.eq.u32 p, k, 0;\n\t@p bra OUT;\n"
		     "\tand.b32 k, %1, 2;\n\tsetp.eq.u32 p, k, 0;\n\t@p bra OUT;\n"
		     "\tand.b32 k, %1, 4;\n\tsetp.eq.u32 p, k, 0;\n\t@p bra OUT;\n"
		     "\tadd.u32 %0, %0, 1;\nOUT:\n\t}" : "+r"(v) : "r"(i));
	out[i] = v;
}

/* Some lanes exit by a predicated exit; the remaining lanes diverge once more. */
extern "C" __global__ void leaves(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = i;
	asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 k;\n\trem.u32 k, %0, 3;\n\tsetp.eq.u32 p, k, 0;\n\t@p exit;\n\t}" : : "r"(i));
	out[i] = over(i, 4);
}

#ifndef __CUDACC_RTC__
int main(int argc, char **argv)
{
	unsigned long long executed = 0, taken = 0;
	device_array<unsigned> out(THREADS);
	uint64_t digest;

	TAKE_FORM(argc, argv);
	LAUNCH(loops, BLOCKS, BLOCK, 0, out.data);
	digest = out.digest();
	LAUNCH(nested, BLOCKS, BLOCK, 0, out.data);
	digest = out.digest(digest);
	LAUNCH(leaves, BLOCKS, BLOCK, 0, out.data);
	digest = out.digest(digest);
	for (unsigned i = 0; i < THREADS; i++) {
		executed += i % 5 + 1 + i % 32 + 1;
		taken += i % 5 + i % 32;
		executed += i % 2 == 0 ? 1 : i % 4 == 1 ? 2 : 3;
		taken += i % 8 != 7;
		executed += i % 3 ? 2 : 1;
		taken += i % 3 ? !(i & 4) : 1;
	}
	printf("branches %llu %llu 0\n", executed, taken);
	return report(digest, 3 * THREADS);
}
#endif
#endif
