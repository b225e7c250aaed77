/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that specialization.c loads as SPIR-V: one specialization constant of each size, set before the build. */
#define CONSTANT __attribute__((overloadable))
CONSTANT char __spirv_SpecConstant(int id, char otherwise);
CONSTANT short __spirv_SpecConstant(int id, short otherwise);
CONSTANT int __spirv_SpecConstant(int id, int otherwise);
CONSTANT long __spirv_SpecConstant(int id, long otherwise);
CONSTANT float __spirv_SpecConstant(int id, float otherwise);
CONSTANT bool __spirv_SpecConstant(int id, bool otherwise);

__kernel void special(__global ulong *out, __global float *scaled)
{
	size_t i = get_global_id(0);
	ulong v = __spirv_SpecConstant(0, 3) * i;

	if (__spirv_SpecConstant(1, (bool)false))
		v += (uchar)__spirv_SpecConstant(2, (char)5);
	v += (ushort)__spirv_SpecConstant(3, (short)7);
	out[i] = v + __spirv_SpecConstant(4, 11L);
	scaled[i] = i * __spirv_SpecConstant(5, 0.5f);
}
