/* SPDX-License-Identifier: Apache-2.0 */
/* Template instances and kernels in namespaces, with mangled names. */
#include "../app.h"

namespace deep {

template <typename T, int N> __global__ void power(const T *in, T *out)
{
	uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
	T x = 1;

	for (int k = 0; k < N; k++)
		x *= in[i];
	out[i] = x;
}

} // namespace deep

int main()
{
	std::vector<float> floats(128);
	std::vector<uint32_t> from = app::numbers(128);

	for (int i = 0; i < 128; i++)
		floats[i] = 1.0f / static_cast<float>(i + 1);
	app::array<float> fin(floats), fout(128);
	app::array<uint32_t> in(from), out(128);

	deep::power<float, 5><<<2, 64>>>(fin.data, fout.data);
	app::count("_ZN4deep5powerIfLi5EEEvPKT_PS1_", 128);
	deep::power<uint32_t, 3><<<1, 128>>>(in.data, out.data);
	app::count("_ZN4deep5powerIjLi3EEEvPKT_PS1_", 128);
	fout.digest();
	out.digest();
	return app::done();
}
