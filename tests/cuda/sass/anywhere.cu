/* SPDX-License-Identifier: Apache-2.0 */
/* through pointers of which nobody knows where they lead */
extern "C" __global__ void anywhere(const unsigned long long *pointers, int n)
{
	unsigned value;

	asm volatile("ld.u32 %0, [%1+8];" : "=r"(value) : "l"(pointers[threadIdx.x]));
	asm volatile("st.u32 [%0+12], %1;" :: "l"(pointers[threadIdx.x + n]), "r"(value) : "memory");
}
