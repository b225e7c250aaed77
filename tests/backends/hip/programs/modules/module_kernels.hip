/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that other programs load as a code object and as a bundle. */
#include <hip/hip_runtime.h>
#include <cstdint>

extern "C" {

__device__ uint32_t seed = 7;
__device__ uint64_t calls;

__global__ void mix(const uint32_t *in, uint32_t *out, uint32_t n)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = (in[i] ^ seed) * 2654435761u;
	atomicAdd(reinterpret_cast<unsigned long long *>(&calls), 1ull);
}

__global__ void fold(uint32_t *data, short shift, uint64_t add)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = (data[i] >> shift) + static_cast<uint32_t>(add);
}

}
