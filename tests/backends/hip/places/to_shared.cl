/* SPDX-License-Identifier: Apache-2.0 */
// a buffer load that writes shared memory, not registers
// refused mem.all mem.shared: a load that goes to shared memory
// only gfx90a gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_mov_b32 m0, 0\ns_nop 0\nbuffer_load_dword off, s[40:43], 0 lds\ns_waitcnt 0"
			 : : : "m0", "s40", "s41", "s42", "s43", "memory");
	out[ID] = in[ID];
}
