/* SPDX-License-Identifier: Apache-2.0 */
// the same with a global address, in this processor's syntax
// refused mem.all mem.shared: a load that goes to shared memory
// only gfx90a
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_mov_b32 m0, 0\ns_nop 0\nglobal_load_dword %0, off lds\ns_waitcnt 0" : : "v"(in + ID) : "m0", "memory");
	out[ID] = in[ID];
}
