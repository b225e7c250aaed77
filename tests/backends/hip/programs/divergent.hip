/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes leave early, at several places, in partial waves. */
#include "app.h"

extern "C" __global__ void leave(const uint32_t *in, uint32_t *out, uint32_t n)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	if (in[i] % 3 == 0) {
		out[i] = 1;
		return;
	}
	if (in[i] % 5 == 0)
		return;
	for (uint32_t k = 0; k < in[i] % 7; k++) {
		if (k == 4)
			return;
		out[i] += in[i] >> k;
	}
	out[i] ^= i;
}

int main()
{
	app::array<uint32_t> in(app::numbers(1000)), out(1000);

	for (unsigned threads : { 64u, 100u, 256u }) {
		unsigned blocks = (1000 + threads - 1) / threads;

		leave<<<blocks, threads>>>(in.data, out.data, 1000);
		app::count("leave", blocks * threads);
	}
	out.digest();
	return app::done();
}
