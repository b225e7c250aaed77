/* SPDX-License-Identifier: Apache-2.0 */
// uses accumulation registers; the twin saves the entry state next to them
// launch 256 1 1 64 1 1
// only gfx90a gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint x = in[ID], y;

	__asm__ volatile("v_accvgpr_write_b32 a31, %1\n\ts_nop 4\n\tv_accvgpr_read_b32 %0, a31\n\ts_nop 4" : "=v"(y)
			 : "v"(x * 3 + 1) : "a31");
	out[ID] = y ^ n;
}
