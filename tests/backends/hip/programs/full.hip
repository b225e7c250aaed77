/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that uses every register of both kinds, and one that does not: the first one leaves no
 * register for a probe at its exit. */
#include "app.h"

extern "C" __global__ void everything(uint32_t *v)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, x = v[i];

	__asm__ volatile("v_mov_b32 v255, %0\n\tv_accvgpr_write_b32 a255, %0\n\tv_mov_b32 %0, v255"
			 : "+v"(x) : : "v255", "a255");
	v[i] = x + 1;
}

extern "C" __global__ void plain(uint32_t *v)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] *= 3;
}

int main()
{
	app::array<uint32_t> v(app::numbers(256));

	everything<<<4, 64>>>(v.data);
	app::count("everything", 256);
	plain<<<4, 64>>>(v.data);
	app::count("plain", 256);
	v.digest();
	return app::done();
}
