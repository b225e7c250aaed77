/* SPDX-License-Identifier: Apache-2.0 */
/* Resets the device between launches: its memory is freed, but the counts in it must not be lost. */
#include "app.h"

extern "C" __global__ void scale(uint32_t *v, uint32_t by)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}

int main()
{
	for (uint32_t round = 2; round < 5; round++) {
		app::array<uint32_t> v(app::numbers(1024));

		scale<<<8, 128>>>(v.data, round);
		app::count("scale", 1024);
		v.digest();
		GOOD(hipDeviceSynchronize());
		v.data = nullptr; /* the reset frees it */
		GOOD(hipDeviceReset());
	}
	return app::done();
}
