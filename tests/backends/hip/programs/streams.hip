/* SPDX-License-Identifier: Apache-2.0 */
/* Launches on three streams in turn, and on a non-blocking stream. */
#include "app.h"

extern "C" __global__ void step(uint32_t *data, uint32_t by)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	data[i] = data[i] * 3 + by;
}

int main()
{
	app::array<uint32_t> data(app::numbers(3 * 128));
	hipStream_t stream[3];

	GOOD(hipStreamCreate(&stream[0]));
	GOOD(hipStreamCreate(&stream[1]));
	GOOD(hipStreamCreateWithFlags(&stream[2], hipStreamNonBlocking));
	for (uint32_t round = 0; round < 6; round++)
		for (int i = 0; i < 3; i++) {
			step<<<2, 64, 0, stream[i]>>>(data.data + 128 * i, round + i);
			app::count("step", 128);
		}
	for (hipStream_t s : stream)
		GOOD(hipStreamSynchronize(s));
	data.digest();
	return app::done();
}
