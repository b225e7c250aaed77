/* SPDX-License-Identifier: Apache-2.0 */
/* Launches one kernel repeatedly; its last block is only partly used. */
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

#define ELEMENTS 1000
#define BLOCK 128
#define LAUNCHES 20

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, unsigned n)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		c[i] = a[i] + b[i];
}

int main()
{
	const unsigned blocks = (ELEMENTS + BLOCK - 1) / BLOCK;
	std::vector<float> a(ELEMENTS), b(ELEMENTS), c(ELEMENTS);
	const size_t size = ELEMENTS * sizeof(float);
	float *device[3];
	int wrong = 0;

	for (unsigned i = 0; i < ELEMENTS; i++) {
		a[i] = i % 7;
		b[i] = i % 5;
	}
	for (float *&d : device)
		if (hipMalloc(reinterpret_cast<void **>(&d), size) != hipSuccess) {
			fprintf(stderr, "no AMD GPU\n");
			return 77;
		}
	if (hipMemcpy(device[0], a.data(), size, hipMemcpyHostToDevice) != hipSuccess ||
	    hipMemcpy(device[1], b.data(), size, hipMemcpyHostToDevice) != hipSuccess)
		return 1;
	for (int i = 0; i < LAUNCHES; i++)
		vector_add<<<blocks, BLOCK>>>(device[0], device[1], device[2], ELEMENTS);
	if (hipMemcpy(c.data(), device[2], size, hipMemcpyDeviceToHost) != hipSuccess)
		return 1;
	for (unsigned i = 0; i < ELEMENTS; i++)
		wrong += c[i] != a[i] + b[i];
	printf("vector_add: %d launches of %u threads in blocks of %d: %s\n", LAUNCHES, blocks * BLOCK, BLOCK,
	       wrong ? "WRONG" : "right");
	return wrong != 0;
}
