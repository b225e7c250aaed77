/* SPDX-License-Identifier: Apache-2.0 */
// the kernel uses every register of both kinds
// launch 64 1 1 64 1 1
// only gfx90a gfx942
// refused vector registers
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint x = in[ID];

	__asm__ volatile("v_mov_b32 v255, %0\n\tv_accvgpr_write_b32 a255, %0\n\tv_mov_b32 %0, v255" : "+v"(x) : : "v255", "a255");
	out[ID] = x;
}
