/* SPDX-License-Identifier: Apache-2.0 */
/* Some lanes return before the barriers at which the other lanes wait. */
#include "../threads.cuh"

__global__ void early_return(unsigned *out, unsigned n)
{
	__shared__ unsigned tile[256];
	unsigned t = threadIdx.x;

	if (t >= n)
		return;
	tile[t] = t * 3;
	__syncthreads();
	if (t == 7)
		return;
	__syncthreads();
	out[blockIdx.x * 256 + t] = tile[n - 1 - t];
}

int main()
{
	device_array<unsigned> out(64 * 256);

	early_return<<<64, 256>>>(out.data, 200);
	return report(out.digest(), 64 * 256);
}
