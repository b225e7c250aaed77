/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that have long mangled names and take structs by value. */
#include "../threads.cuh"

template <typename T, int N> struct scaled {
	T factor[N];
};

template <typename T, int N> __global__ void apply(T *out, scaled<T, N> by)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	out[i] = by.factor[i % N] * T(i);
}

int main()
{
	device_array<double> a(4096);
	device_array<int> b(4096);

	apply<double, 3><<<32, 128>>>(a.data, scaled<double, 3>{{ 0.5, 1.5, 2.5 }});
	apply<int, 5><<<64, 64>>>(b.data, scaled<int, 5>{{ 1, 2, 3, 4, 5 }});
	return report(b.digest(a.digest()), 2 * 4096);
}
