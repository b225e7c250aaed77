/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of gpubpf/mark.h: each thread runs as many rounds as its number says, and marks each round. */
#include "app.h"
#include <gpubpf/mark.h>

extern "C" __global__ void rounds(const uint32_t *in, uint32_t *out)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, sum = in[i];

	for (uint32_t t = 0; t < threadIdx.x % 5; t++) {
		sum = sum * 3 + t;
		GPUBPF_MARK(round, (int)t - (int)threadIdx.x);
	}
	out[i] = sum;
}

int main()
{
	app::array<uint32_t> in(app::numbers(256)), out(256);

	rounds<<<2, 128>>>(in.data, out.data);
	app::count("rounds", 256);
	out.digest();
	return app::done();
}
