/* SPDX-License-Identifier: Apache-2.0 */
// matrix instructions, which write their registers late
// launch 128 1 1 64 1 1
// only gfx90a gfx942
typedef float float4_ __attribute__((ext_vector_type(4)));

kernel void k(global uint *out, global const uint *in, uint n)
{
	float4_ sum = { 0, 0, 0, 0 };

	for (uint i = 0; i < 4; i++)
		sum = __builtin_amdgcn_mfma_f32_4x4x1f32((float)(in[ID] % 16 + i), (float)(in[ID + 1] % 16), sum, 0, 0, 0);
	out[ID] = (uint)(sum.x + 3 * sum.y + 5 * sum.z + 7 * sum.w);
}
