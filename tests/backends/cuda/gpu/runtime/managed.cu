/* SPDX-License-Identifier: Apache-2.0 */
/* Managed variables and managed memory, which host and kernels share. */
#include "../threads.cuh"

__managed__ unsigned long long sum;
__managed__ unsigned scale = 3;

__global__ void managed(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = i * scale;
	atomicAdd(&sum, (unsigned long long)out[i]);
}

int main()
{
	device_array<unsigned> out(64 * 128);
	uint64_t hash = 14695981039346656037u;

	for (int i = 0; i < 4; i++) {
		managed<<<64, 128>>>(out.data);
		check(cudaDeviceSynchronize());
		scale += (unsigned)(sum % 7);
		hash = out.digest(hash ^ sum);
	}
	return report(hash, 4 * 64 * 128);
}
