/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The source determines all numbers. Prints "inside BEGUN ENDED BARRIERS PASSED ATOMICS BYTES": blocks that begin and
 * blocks that end, threads that reach and that pass a barrier, atomics, and bytes that the atomics access.
 */
#ifndef __CUDACC_RTC__
#include "../launched.cuh"
#endif

enum { N = 100003, BLOCK = 128, BLOCKS = (N + BLOCK - 1) / BLOCK, THREADS = BLOCKS * BLOCK };

#ifdef REST
__device__ void turn(unsigned *of, unsigned by);
#else
__device__ void turn(unsigned *of, unsigned by)
{
	atomicXor(of, by);
}
#endif

#ifndef PART
/* The lanes of a warp exit at three different places. */
extern "C" __global__ void part(unsigned *out)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = i;
	if (i % 5 == 0)
		asm volatile("exit;");
	if (i % 3 == 0) {
		out[i] += 1;
		return;
	}
	for (int k = 0; k < i % 7; k++)
		out[i] += k;
}

/* Small three-dimensional blocks; each thread waits at three barriers. */
extern "C" __global__ void meet(unsigned *out)
{
	__shared__ unsigned tile[96];
	int t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
	int n = blockDim.x * blockDim.y * blockDim.z;

	tile[t] = t;
	__syncthreads();
	int left = tile[(t + 1) % n];
	__syncthreads();
	tile[t] = left * 2;
	__syncthreads();
	out[blockIdx.x * n + t] = tile[n - 1 - t];
}

/* Half of the block waits at barrier 3; before that, each warp waits at a warp barrier. */
extern "C" __global__ void halves(unsigned *out)
{
	__shared__ unsigned tile[BLOCK];
	int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;

	tile[t] = i;
	__syncwarp();
	if (t < BLOCK / 2)
		asm volatile("bar.sync 3, 64;" ::: "memory");
	out[i] = tile[t < BLOCK / 2 ? BLOCK / 2 - 1 - t : t ^ 1];
}

/* Each thread executes atomics of 4, 4, 8, 4 and 4 bytes; every second thread executes one more of 4 bytes. */
extern "C" __global__ void tally(unsigned *counts, unsigned long long *wide)
{
	__shared__ unsigned sum;
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (!threadIdx.x)
		sum = 0;
	__syncthreads();
	atomicAdd(&counts[i % 7], 1);
	atomicMax(&counts[8], (unsigned)i);
	atomicAdd(wide, (unsigned long long)i);
	atomicAdd(&sum, 1u);
	atomicCAS(&counts[9], (unsigned)-1, (unsigned)i);
	if (i % 2)
		turn(&counts[10], (unsigned)i);
	__syncthreads();
	if (!threadIdx.x)
		counts[16 + blockIdx.x] = sum;
}

/* Dynamic shared memory must keep its address modulo 1024 in the twin, because bulk copies need that alignment. */
extern "C" __global__ void launched(unsigned *out)
{
	extern __shared__ unsigned tile[];
	int t = threadIdx.x;

	tile[t] = t;
	__syncthreads();
	out[blockIdx.x * blockDim.x + t] = tile[blockDim.x - 1 - t] + ((unsigned)__cvta_generic_to_shared(tile) & 1023);
}

#ifndef __CUDACC_RTC__
int main(int argc, char **argv)
{
	const unsigned long long threads = THREADS, blocks = BLOCKS;
	unsigned long long begun, waits, atomics, bytes;
	device_array<unsigned> out(THREADS + 64);
	device_array<unsigned long long> wide(1);
	uint64_t digest;

	TAKE_FORM(argc, argv);
	LAUNCH(part, BLOCKS, BLOCK, 0, out.data);
	digest = out.digest();
	LAUNCH(meet, 300, dim3(8, 4, 3), 0, out.data);
	digest = out.digest(digest);
	LAUNCH(meet, 100, 1, 0, out.data);
	LAUNCH(meet, 7, dim3(1, 33), 0, out.data);
	digest = out.digest(digest);
	LAUNCH(halves, BLOCKS, BLOCK, 0, out.data);
	digest = out.digest(digest);
	LAUNCH(tally, BLOCKS, BLOCK, 0, out.data, wide.data);
	digest = wide.digest(out.digest(digest));
	LAUNCH(launched, BLOCKS, BLOCK, BLOCK * sizeof(unsigned), out.data);
	begun = blocks + 300 + 100 + 7 + 3 * blocks;
	waits = 3 * (300 * 96 + 100 + 7 * 33) + threads + threads / 2 + 2 * threads + threads;
	atomics = 5 * threads + threads / 2;
	bytes = 4 * atomics + 4 * threads;
	printf("inside %llu %llu %llu %llu %llu %llu\n", begun, begun, waits, waits, atomics, bytes);
	return report(out.digest(digest), 4 * threads + 300 * 96 + 100 + 7 * 33);
}
#endif
#endif
