/* SPDX-License-Identifier: Apache-2.0 */
/* Many values alive at once: a kernel that wants most of the registers there are. */
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

int main()
{
	app::array<uint32_t> in(app::numbers(256)), out(256);

	crowd<<<4, 64>>>(in.data, out.data);
	app::count("crowd", 256);
	out.digest();
	return app::done();
}
