/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that launches another kernel from the device. */
#include "../threads.cuh"

#if !defined(PART)
__global__ void child(unsigned *out, int depth)
{
	atomicAdd(out + depth, threadIdx.x);
	if (depth < 3 && !threadIdx.x)
		child<<<1, 32>>>(out, depth + 1);
}

__global__ void parent(unsigned *out)
{
	out[32 + threadIdx.x] = threadIdx.x;
	if (!threadIdx.x)
		child<<<1, 32>>>(out, 0);
}

int main()
{
	device_array<unsigned> out(128);

	parent<<<1, 64>>>(out.data);
	check(cudaDeviceSynchronize());
	return report(out.digest(), 64);
}
#endif
