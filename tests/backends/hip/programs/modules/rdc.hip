/* SPDX-License-Identifier: Apache-2.0 */
/* Relocatable device code: a function and a variable of another file (rdc_part.hip). */
#include "../app.h"

extern __device__ uint32_t salt;
__device__ uint32_t scramble(uint32_t x);

extern "C" __global__ void linked(const uint32_t *in, uint32_t *out)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = scramble(in[i]) + salt;
}

void other(const uint32_t *in, uint32_t *out);

int main()
{
	app::array<uint32_t> in(app::numbers(128)), out(128);

	linked<<<2, 64>>>(in.data, out.data);
	app::count("linked", 128);
	out.digest();
	other(in.data, out.data);
	app::count("other_kernel", 128);
	out.digest();
	return app::done();
}
