/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics of 32 and 64 bits, and one made of compare-and-swap. */
#include "app.h"

extern "C" __global__ void tally(const uint32_t *in, uint32_t *bins, unsigned long long *all)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	atomicAdd(&bins[in[i] >> 28], 1u);
	atomicMax(&bins[16], in[i]);
	atomicXor(&bins[17], in[i]);
	atomicAdd(&all[0], static_cast<unsigned long long>(in[i]) << 8);
	atomicMin(&all[1], static_cast<unsigned long long>(in[i]) * in[i]);
}

extern "C" __global__ void product(const uint32_t *in, unsigned long long *to)
{
	unsigned long long old = *to, seen;
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	do {
		seen = old;
		old = atomicCAS(to, seen, seen * (2 * static_cast<unsigned long long>(in[i]) + 1));
	} while (old != seen);
}

int main()
{
	app::array<uint32_t> in(app::numbers(512)), bins(18);
	app::array<unsigned long long> all(2, ~0ull), to(1, 1);

	tally<<<8, 64>>>(in.data, bins.data, all.data);
	app::count("tally", 512);
	product<<<1, 48>>>(in.data, to.data);
	app::count("product", 48);
	bins.digest();
	all.digest();
	to.digest();
	return app::done();
}
