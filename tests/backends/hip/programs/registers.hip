/* SPDX-License-Identifier: Apache-2.0 */
/* Many live values: one kernel uses most registers, and one uses all. */
#include "app.h"

extern "C" __global__ void __launch_bounds__(64) crowd(const uint32_t *in, uint32_t *out)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, v[96];

#pragma unroll
	for (int k = 0; k < 96; k++)
		v[k] = in[(i + 7 * k) % 256];
#pragma unroll
	for (int k = 0; k < 96; k++)
		v[k] = v[k] * v[(k + 31) % 96] + v[(k + 17) % 96];
#pragma unroll
	for (int k = 1; k < 96; k++)
		v[0] ^= v[k] >> (k % 32);
	out[i] = v[0];
}

/* Uses all registers: a probe's state fits only into accumulation registers. */
extern "C" __global__ void __launch_bounds__(64) all(const uint32_t *in, uint32_t *out)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, x = in[i];

	asm volatile("v_mov_b32 v255, %0\n\tv_mov_b32 %0, v255" : "+v"(x) : : "v255");
	out[i] ^= x;
}

int main()
{
	app::array<uint32_t> in(app::numbers(256)), out(256);

	crowd<<<4, 64>>>(in.data, out.data);
	app::count("crowd", 256);
	all<<<4, 64>>>(in.data, out.data);
	app::count("all", 256);
	out.digest();
	return app::done();
}
