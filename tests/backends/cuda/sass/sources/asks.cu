// SPDX-License-Identifier: Apache-2.0
// Kernels that read their block's shared memory size: one directly, one through a function; from
// sm_90 on a third reads the total size, with the part reserved by the system.
#define ME (blockIdx.x * blockDim.x + threadIdx.x)

extern "C" __global__ void asks(unsigned *out)
{
	unsigned size;

	asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(size));
	out[ME] = size;
}

__device__ __noinline__ unsigned size(void)
{
	unsigned size;

	asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(size));
	return size;
}

extern "C" __global__ void lets_ask(unsigned *out)
{
	out[ME] = size() + size();
}

extern "C" __global__ void asks_all(unsigned *out)
{
	unsigned size;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
	asm volatile("mov.u32 %0, %%aggr_smem_size;" : "=r"(size));
#else
	asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(size));
#endif
	out[ME] = size;
}

int main()
{
	asks<<<1, 32>>>(nullptr);
	lets_ask<<<1, 32>>>(nullptr);
	asks_all<<<1, 32>>>(nullptr);
	return 0;
}
