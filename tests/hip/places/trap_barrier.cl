/* SPDX-License-Identifier: Apache-2.0 */
// a barrier of gfx12 other than the group's
// launch 64 1 1 64 1 1
// refused barrier: a barrier that is not the group's
// only gfx1201
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_barrier_signal -2\ns_barrier_wait -2");
	out[ID] = in[ID];
}
