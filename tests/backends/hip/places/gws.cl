/* SPDX-License-Identifier: Apache-2.0 */
// a barrier of all work-groups
// launch 64 1 1 64 1 1
// refused barrier: a barrier of the whole device
// only gfx90a gfx942 gfx1100
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("v_mov_b32 v40, %0\ns_mov_b32 m0, 0\ns_nop 0\nds_gws_barrier v40 gds\ns_waitcnt 0" : : "v"(n) : "m0", "v40");
	out[ID] = in[ID];
}
