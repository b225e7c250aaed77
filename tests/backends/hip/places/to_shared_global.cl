/* SPDX-License-Identifier: Apache-2.0 */
// a global load that writes shared memory, in gfx90a's syntax
// refused mem.all mem.shared: a load that goes to shared memory
// only gfx90a
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_mov_b32 m0, 0\ns_nop 0\nglobal_load_dword %0, off lds\ns_waitcnt 0" : : "v"(in + ID) : "m0", "memory");
	out[ID] = in[ID];
}
