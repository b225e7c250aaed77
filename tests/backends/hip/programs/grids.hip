/* SPDX-License-Identifier: Apache-2.0 */
/* Several kernels of one program in turn, in grids of one, two and three dimensions. */
#include "app.h"

__device__ static uint32_t linear()
{
	uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
	uint32_t thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;

	return block * blockDim.x * blockDim.y * blockDim.z + thread;
}

extern "C" __global__ void one(uint32_t *out)
{
	out[linear()] += blockIdx.x;
}

extern "C" __global__ void two(uint32_t *out)
{
	out[linear()] += 100 * threadIdx.y + blockIdx.y;
}

extern "C" __global__ void three(uint32_t *out)
{
	out[linear()] ^= threadIdx.z << 20 | blockIdx.z << 24 | threadIdx.x;
}

extern "C" __global__ void nothing()
{
}

int main()
{
	app::array<uint32_t> out(480);

	for (int i = 0; i < 3; i++) {
		one<<<dim3(4), dim3(120)>>>(out.data);
		app::count("one", 480);
		two<<<dim3(2, 3), dim3(16, 5)>>>(out.data);
		app::count("two", 480);
		three<<<dim3(2, 1, 2), dim3(5, 4, 6)>>>(out.data);
		app::count("three", 480);
		nothing<<<1, 1>>>();
		app::count("nothing", 1);
	}
	out.digest();
	return app::done();
}
