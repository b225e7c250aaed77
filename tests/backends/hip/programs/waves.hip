/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a wave exchange values. */
#include "app.h"

extern "C" __global__ void talk(const uint32_t *in, uint64_t *out)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	uint64_t odd = __ballot(in[i] % 2);

	out[i] = odd ^ __shfl_xor(in[i], 5) ^ (__any(in[i] > 0xf0000000u) ? 1u : 0u) ^
		 static_cast<uint64_t>(__popcll(odd & ((1ull << (threadIdx.x % 64)) - 1))) << 32;
}

int main()
{
	app::array<uint32_t> in(app::numbers(256));
	app::array<uint64_t> out(256);

	talk<<<2, 128>>>(in.data, out.data);
	app::count("talk", 256);
	out.digest();
	return app::done();
}
