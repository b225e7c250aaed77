/* SPDX-License-Identifier: Apache-2.0 */
/* Block memory and barriers: of a fixed size, of a size chosen at launch, with a barrier in a loop,
 * and atomics. */
#include "app.h"

extern "C" __global__ void sums(const uint32_t *in, uint32_t *out)
{
	__shared__ uint32_t part[128];
	uint32_t t = threadIdx.x;

	part[t] = in[blockIdx.x * 128 + t] & 0xffff;
	__syncthreads();
	for (uint32_t half = 64; half; half /= 2) {
		if (t < half)
			part[t] += part[t + half];
		__syncthreads();
	}
	if (!t)
		out[blockIdx.x] = part[0];
}

extern "C" __global__ void turn(const uint32_t *in, uint32_t *out, uint32_t by)
{
	extern __shared__ uint32_t row[];
	uint32_t t = threadIdx.x, at = blockIdx.x * blockDim.x;

	row[t] = in[at + t];
	__syncthreads();
	out[at + t] = row[(t + by) % blockDim.x];
}

extern "C" __global__ void tally(const uint32_t *in, uint32_t *out)
{
	__shared__ uint32_t bins[16];
	uint32_t t = threadIdx.x;

	if (t < 16)
		bins[t] = 0;
	__syncthreads();
	atomicAdd(&bins[in[blockIdx.x * 128 + t] >> 28], t);
	__syncthreads();
	if (t < 16)
		out[blockIdx.x * 16 + t] = bins[t];
}

int main()
{
	app::array<uint32_t> in(app::numbers(512)), few(4), out(512), bins(4 * 16);

	sums<<<4, 128>>>(in.data, few.data);
	app::count("sums", 512);
	few.digest();
	for (unsigned by = 1; by < 4; by++) {
		turn<<<4, 128, 128 * sizeof(uint32_t)>>>(in.data, out.data, by);
		app::count("turn", 512);
	}
	out.digest();
	tally<<<4, 128>>>(in.data, bins.data);
	app::count("tally", 512);
	bins.digest();
	return app::done();
}
