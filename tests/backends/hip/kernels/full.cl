/* SPDX-License-Identifier: Apache-2.0 */
// the kernel uses every vector register: an exit probe needs accumulation registers
// launch 64 1 1 64 1 1
// refused vector registers: gfx1100 gfx1201
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint x = in[ID];

	__asm__ volatile("v_mov_b32 v255, %0\n\tv_mov_b32 %0, v255" : "+v"(x) : : "v255");
	out[ID] = x;
}
