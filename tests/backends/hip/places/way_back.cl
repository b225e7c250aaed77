/* SPDX-License-Identifier: Apache-2.0 */
// a call whose return address is in registers that calls of a twin do not use
// refused mem.all: it calls functions through pointers
// only gfx90a gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_getpc_b64 s[40:41]\n1: .long 0x8028ff28, 2f-1b, 0x8229ff29, 0\n s_swappc_b64 exec, s[40:41]\n s_endpgm\n"
			 "2: s_endpgm\n" : : : "scc", "s40", "s41", "memory");
	out[ID] = in[ID];
}
