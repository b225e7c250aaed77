// SPDX-License-Identifier: Apache-2.0
// A kernel that calls a function. In relocatable code the function has its own section.
__device__ __noinline__ unsigned far(unsigned x)
{
	unsigned sum = x;

	for (int i = 0; i < 4; i++)
		sum = sum * 1103515245 + x;
	return sum;
}

extern "C" __global__ void calls(unsigned *out)
{
	out[blockIdx.x * blockDim.x + threadIdx.x] = far(threadIdx.x);
}
