// SPDX-License-Identifier: Apache-2.0
// A kernel that asks how much shared memory its block has.
extern "C" __global__ void asks(unsigned *out)
{
	unsigned size;

	asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(size));
	out[blockIdx.x * blockDim.x + threadIdx.x] = size;
}

int main()
{
	asks<<<1, 32>>>(nullptr);
	return 0;
}
