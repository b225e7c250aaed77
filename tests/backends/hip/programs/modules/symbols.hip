/* SPDX-License-Identifier: Apache-2.0 */
/* Device variables: written by the host, by kernels, constant, and with internal linkage. */
#include "../app.h"

__device__ uint32_t factor = 3;
__device__ unsigned long long total;
__constant__ uint32_t table[16] = { 1, 2, 4, 8 };
static __device__ uint32_t hidden[4] = { 5, 6, 7, 8 };
__device__ const uint32_t primes[8] = { 2, 3, 5, 7, 11, 13, 17, 19 };

extern "C" __global__ void use(uint32_t *out)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = factor * i + table[i % 16] + hidden[i % 4] + primes[out[i] % 8];
	atomicAdd(&total, static_cast<unsigned long long>(out[i]));
	atomicAdd(&hidden[i % 4], 1u);
}

int main()
{
	app::array<uint32_t> out(256);
	unsigned long long sum;
	uint32_t values[16], by = 9;

	for (uint32_t i = 0; i < 16; i++)
		values[i] = 100 + i * i;
	for (int round = 0; round < 3; round++) {
		use<<<1, 64>>>(out.data); /* one wave: this fixes the order of its loads and atomics */
		app::count("use", 64);
		out.digest();
		GOOD(hipMemcpyToSymbol(HIP_SYMBOL(factor), &by, sizeof(by)));
		GOOD(hipMemcpyToSymbol(HIP_SYMBOL(table), values, sizeof(values)));
		GOOD(hipMemcpyFromSymbol(&sum, HIP_SYMBOL(total), sizeof(sum)));
		app::digest(&sum, sizeof(sum));
	}
	return app::done();
}
