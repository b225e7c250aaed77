/* SPDX-License-Identifier: Apache-2.0 */
/* Creates, destroys, releases and resets contexts between launches; the program's device memory stays. */
#include "app.h"

extern "C" __global__ void add(uint32_t *v, uint32_t n)
{
	v[blockIdx.x * blockDim.x + threadIdx.x] += n;
}

static void launch(app::array<uint32_t> &v)
{
	static uint32_t n = 1;

	add<<<2, 128>>>(v.data, n++);
	app::count("add", 256);
	GOOD(hipDeviceSynchronize());
}

int main()
{
	app::array<uint32_t> v(app::numbers(256));
	hipCtx_t context;

	launch(v);
	GOOD(hipCtxCreate(&context, 0, 0));
	launch(v);
	GOOD(hipCtxDestroy(context));
	launch(v);
	GOOD(hipDevicePrimaryCtxRetain(&context, 0));
	launch(v);
	GOOD(hipDevicePrimaryCtxRelease(0));
	launch(v);
	GOOD(hipDevicePrimaryCtxReset(0));
	launch(v);
	v.digest();
	return app::done();
}
