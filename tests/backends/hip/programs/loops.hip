/* SPDX-License-Identifier: Apache-2.0 */
/* Nested loops whose lengths depend on data. */
#include "app.h"

extern "C" __global__ void collatz(const uint32_t *in, uint32_t *steps, uint32_t n)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, taken = 0;

	if (i < n) {
		for (uint64_t x = in[i] % 1000 + 1; x != 1; x = x % 2 ? 3 * x + 1 : x / 2)
			taken++;
		steps[i] = taken;
	}
}

extern "C" __global__ void nested(const uint32_t *in, uint32_t *out)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, sum = 0;

	for (uint32_t a = 0; a < in[i] % 9; a++)
		for (uint32_t b = a; b < 12; b += 1 + in[i] % 2) {
			if ((a ^ b) == 5)
				break;
			sum += a * b + 1;
		}
	out[i] = sum;
}

int main()
{
	app::array<uint32_t> in(app::numbers(512)), out(512);

	collatz<<<8, 64>>>(in.data, out.data, 500);
	app::count("collatz", 512);
	out.digest();
	nested<<<4, 128>>>(in.data, out.data);
	app::count("nested", 512);
	out.digest();
	return app::done();
}
