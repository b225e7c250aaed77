/* SPDX-License-Identifier: Apache-2.0 */
/* A cooperative launch: all blocks of the grid wait for each other. */
#include <cooperative_groups.h>
#include "../threads.cuh"

__global__ void cooperative(unsigned *out)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;

	out[i] = i;
	cooperative_groups::this_grid().sync();
	out[n + i] = out[n - 1 - i];
}

int main()
{
	device_array<unsigned> out(2 * 16 * 128);
	void *args[] = { &out.data };

	check(cudaLaunchCooperativeKernel((const void *)cooperative, dim3(16), dim3(128), args, 0, 0));
	return report(out.digest(), 16 * 128);
}
