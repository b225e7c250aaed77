/* SPDX-License-Identifier: Apache-2.0 */
/* Device variables, constants that the host sets, and static variables in functions. */
#include "../threads.cuh"

__device__ unsigned long long total;
__constant__ unsigned weights[8];
static __device__ unsigned table[4] = { 9, 8, 7, 6 };

__device__ __noinline__ unsigned visits()
{
	static unsigned count;

	return atomicAdd(&count, 1u) * 0 + 1;
}

__global__ void variables(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = weights[i % 8] + table[i % 4] + visits();
	atomicAdd(&total, (unsigned long long)out[i]);
}

int main()
{
	unsigned host[8] = { 1, 2, 4, 8, 16, 32, 64, 128 };
	unsigned long long sum;
	device_array<unsigned> out(8192);

	check(cudaMemcpyToSymbol(weights, host, sizeof(host)));
	variables<<<64, 128>>>(out.data);
	check(cudaMemcpyFromSymbol(&sum, total, sizeof(sum)));
	return report(out.digest(sum), 8192);
}
