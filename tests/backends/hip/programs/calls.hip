/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that stay calls, not inlined. */
#include "app.h"

__device__ __attribute__((noinline)) uint32_t inner(uint32_t a, uint32_t b)
{
	return a * 31 + (b ^ a >> 3);
}

__device__ __attribute__((noinline)) uint32_t outer(uint32_t a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		a = inner(a, i);
	return a;
}

extern "C" __global__ void caller(const uint32_t *in, uint32_t *out)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (in[i] % 4 == 1)
		return;
	out[i] = outer(in[i], in[i] % 6);
}

int main()
{
	app::array<uint32_t> in(app::numbers(128)), out(128);

	caller<<<2, 64>>>(in.data, out.data);
	app::count("caller", 128);
	out.digest();
	return app::done();
}
