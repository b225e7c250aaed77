/* SPDX-License-Identifier: Apache-2.0 */
/* A function that the kernel calls ends the thread. */
#include "../threads.cuh"

__device__ __noinline__ void leave(unsigned i)
{
	if (i % 5 == 0)
		asm volatile("exit;");
}

__global__ void device_exit(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = i;
	leave(i);
	out[i] += 1;
}

int main()
{
	device_array<unsigned> out(32 * 128);

	device_exit<<<32, 128>>>(out.data);
	return report(out.digest(), 32 * 128);
}
