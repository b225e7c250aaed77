/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of the examples: vector_add 20 times over 10,112 threads. */
#include "../threads.cuh"

extern "C" __global__ void vector_add(const float *a, const float *b, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = a[i] + b[i];
}

int main()
{
	device_array<float> a(10000), b(10000), out(10000);

	for (int i = 0; i < 20; i++)
		vector_add<<<79, 128>>>(a.data, b.data, out.data, 10000);
	return report(out.digest(), 20 * 79 * 128);
}
