/* SPDX-License-Identifier: Apache-2.0 */
/* Two objects linked by nvcc -rdc: the kernel of one calls a function and adds to a variable of the other. */
#include "../threads.cuh"

#ifdef PART
__device__ unsigned shared_total;

__device__ unsigned mix(unsigned a)
{
	atomicAdd(&shared_total, 1);
	return a * 2654435761u;
}
#else
extern __device__ unsigned shared_total;
__device__ unsigned mix(unsigned a);

__global__ void rdc(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = mix(i);
}

int main()
{
	device_array<unsigned> out(32 * 128);
	unsigned total;

	rdc<<<32, 128>>>(out.data);
	check(cudaMemcpyFromSymbol(&total, shared_total, sizeof(total)));
	return report(out.digest(total), 32 * 128);
}
#endif
