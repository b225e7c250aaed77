// SPDX-License-Identifier: Apache-2.0
// A kernel that nobody leaves: it has an entry, and where it would end nothing stands.
extern "C" __global__ void endless(unsigned *out)
{
	for (;;)
		atomicAdd(out + (blockIdx.x * blockDim.x + threadIdx.x) % 32, 1);
}
