/* SPDX-License-Identifier: Apache-2.0 */
/* If PoCL (3.1, LLVM 15) vectorises work-item loops, it computes a wrong private array, even in the unprobed
 * kernel. Its scalar loops and other methods (POCL_WORK_GROUP_METHOD), Oclgrind and Intel's runtime all agree. */
//@ run: lost 128 32 buf:512 buf:512 buf:8192 i32:5
__kernel void lost(__global int *out, __global const int *in, __global uchar *bytes, int n)
{
	int i = get_global_id(0), p[8];

	for (int k = 0; k < 8; k++)
		p[k] = k * 96;
	barrier(CLK_LOCAL_MEM_FENCE);
	bytes[64 * i + (in[i] & 63)] = p[(p[1] + p[n & 7]) & 7];
	p[i & 7] = bytes[64 * i];
	out[i] = p[5];
}
