/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that calls through a function pointer: it can have a twin of machine code, but none of PTX. */
#include "../threads.cuh"

__device__ __noinline__ unsigned twice(unsigned a) { return 2 * a; }
__device__ __noinline__ unsigned square(unsigned a) { return a * a; }
__device__ unsigned (*table[2])(unsigned) = { twice, square };

__global__ void pointer(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = table[i % 2](i);
}

int main()
{
	device_array<unsigned> out(16 * 64);

	pointer<<<16, 64>>>(out.data);
	return report(out.digest(), 1024);
}
