/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that calls a recursive function; the depth differs between lanes. */
#include "../threads.cuh"

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
	if (!m)
		return n + 1;
	return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

__global__ void recursion(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = ackermann(i % 3, i % 5);
}

int main()
{
	device_array<unsigned> out(16 * 64);

	check(cudaDeviceSetLimit(cudaLimitStackSize, 16384));
	recursion<<<16, 64>>>(out.data);
	return report(out.digest(), 16 * 64);
}
