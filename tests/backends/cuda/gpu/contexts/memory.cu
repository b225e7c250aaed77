/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source determines the number of memory accesses. Prints "memory GLOBAL BYTES ALL BYTES": the number
 * of accesses of global memory by all threads and their bytes, then the same for all memory.
 */
#ifndef __CUDACC_RTC__
#include "../launched.cuh"
#endif

enum { N = 100003, BLOCK = 128, BLOCKS = (N + BLOCK - 1) / BLOCK, THREADS = BLOCKS * BLOCK };

#ifdef REST
__device__ void put(volatile unsigned *to, unsigned value);
#else
/* stores through a pointer whose address space is known only at run time */
__device__ __noinline__ void put(volatile unsigned *to, unsigned value)
{
	*to = value;
}
#endif

#ifndef PART
__constant__ unsigned factors[4] = { 3, 5, 7, 11 };

extern "C" __global__ void add(const float *a, const float *b, float *c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) /* loads 2, stores 1 */
		c[i] = a[i] + b[i];
}

extern "C" __global__ void add4(const float4 *a, float4 *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n) { /* one load and one store of 16 bytes each */
		float4 v = a[i];

		b[i] = make_float4(v.w, v.z, v.y, v.x);
	}
}

extern "C" __global__ void turn(unsigned *out)
{
	__shared__ volatile unsigned tile[BLOCK];
	int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;

	tile[t] = i;
	__syncthreads();
	out[i] = tile[BLOCK - 1 - t] * 3;
}

/* Every third thread adds to two counters, the others to one; each block adds up a sum in shared memory */
extern "C" __global__ void count(unsigned *counts)
{
	__shared__ unsigned sum;
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (!threadIdx.x)
		*(volatile unsigned *)&sum = 0;
	__syncthreads();
	atomicAdd(&counts[i % 7], 1);
	if (i % 3 == 0)
		atomicMax(&counts[7], (unsigned)i);
	atomicAdd(&sum, (unsigned)i);
	__syncthreads();
	if (!threadIdx.x)
		counts[8 + blockIdx.x] = *(volatile unsigned *)&sum;
}

extern "C" __global__ void walk(const volatile unsigned *in, unsigned *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned sum = 0;

	for (int k = 0; k < i % 4; k++)
		sum += in[i + k];
	out[i] = sum;
}

extern "C" __global__ void choose(unsigned *out)
{
	__shared__ unsigned tile[BLOCK];
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	put(i % 2 ? &out[i] : &tile[threadIdx.x], i);
	__syncthreads();
	if (i % 2 == 0)
		out[i] = ((volatile unsigned *)tile)[threadIdx.x] + 1;
}

extern "C" __global__ void scatter(unsigned *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	volatile unsigned own[8];

	for (int k = 0; k < 8; k++)
		own[k] = i * k;
	out[i] = own[i & 7] * factors[i & 3];
}

#ifndef __CUDACC_RTC__
int main(int argc, char **argv)
{
	const unsigned long long n = N, threads = THREADS, blocks = BLOCKS, thirds = (THREADS + 2) / 3, odd = THREADS / 2;
	unsigned long long walked = 0, global, all, bytes, all_bytes;
	device_array<float> a(4 * THREADS), b(4 * THREADS);
	device_array<unsigned> out(THREADS + 64);
	uint64_t digest;

	TAKE_FORM(argc, argv);
	for (unsigned i = 0; i < threads; i++)
		walked += i % 4;
	LAUNCH(add, BLOCKS, BLOCK, 0, a.data, b.data, a.data, N);
	LAUNCH(add4, BLOCKS, BLOCK, 0, (float4 *)a.data, (float4 *)b.data, N);
	LAUNCH(turn, BLOCKS, BLOCK, 0, out.data);
	digest = out.digest();
	LAUNCH(count, BLOCKS, BLOCK, 0, out.data);
	digest = out.digest(digest);
	LAUNCH(walk, BLOCKS, BLOCK, 0, out.data, (unsigned *)a.data);
	LAUNCH(choose, BLOCKS, BLOCK, 0, out.data);
	digest = out.digest(digest);
	LAUNCH(scatter, BLOCKS, BLOCK, 0, out.data);
	global = 3 * n + 2 * n + threads + threads + thirds + blocks + walked + threads + odd + (threads - odd) + threads;
	bytes = 4 * (global - 2 * n) + 16 * 2 * n;
	/* accesses of shared memory, local memory and constants */
	all = global + 2 * threads + threads + 2 * blocks + 2 * (threads - odd) + 9 * threads + threads;
	all_bytes = bytes + 4 * (all - global);
	printf("memory %llu %llu %llu %llu\n", global, bytes, all, all_bytes);
	return report(b.digest(a.digest(out.digest(digest))), 7 * threads);
}
#endif
#endif
