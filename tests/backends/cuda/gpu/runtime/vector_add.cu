/* SPDX-License-Identifier: Apache-2.0 */
#include "../threads.cuh"

__global__ void vector_add(float *out, const float *a, const float *b, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = a[i] + b[i] + i;
}

int main()
{
	device_array<float> out(100000), a(100000), b(100000);

	for (int i = 0; i < 10; i++)
		vector_add<<<391, 256>>>(out.data, a.data, b.data, 100000);
	return report(out.digest(), 10ull * 391 * 256);
}
