// SPDX-License-Identifier: Apache-2.0
// A kernel that never ends: it has an entry place, but no exit place.
extern "C" __global__ void endless(unsigned *out)
{
	for (;;)
		atomicAdd(out + (blockIdx.x * blockDim.x + threadIdx.x) % 32, 1);
}
