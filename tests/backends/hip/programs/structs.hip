/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters by value: structs of odd sizes, one with an array, small types in between. */
#include "app.h"

struct three {
	unsigned char byte[3];
};
struct mixed {
	double d;
	char c;
	short s;
	uint64_t q;
	float f[5];
};

extern "C" __global__ void take(three t, char a, mixed m, short b, uint32_t *out, bool yes, double last)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = t.byte[i % 3] + a + m.c + m.s + b + static_cast<uint32_t>(m.d + m.f[i % 5] + last) + yes +
		 static_cast<uint32_t>(m.q >> (i % 32));
}

int main()
{
	app::array<uint32_t> out(192);
	mixed m = { 2.5, 'x', -7, 0x123456789abcdef0u, { 1, 2, 3, 4, 5 } };

	take<<<3, 64>>>(three{ { 1, 200, 30 } }, 'a', m, 321, out.data, true, 1e3);
	app::count("take", 192);
	out.digest();
	return app::done();
}
