/* SPDX-License-Identifier: Apache-2.0 */
// s_setvskip makes the wave skip vector instructions, also the ones of a probe
// launch 64 1 1 64 1 1
// refused skips vector instructions
// only gfx90a gfx942
kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = in[ID];
	__asm__ volatile("s_waitcnt 0\ns_setvskip -1, 0\ns_endpgm");
}
