/* SPDX-License-Identifier: Apache-2.0 */
// a gfx12 barrier other than the barrier of the work-group
// launch 64 1 1 64 1 1
// refused barrier: a barrier of a scope other than the group
// only gfx1201
kernel void k(global uint *out, global const uint *in, uint n)
{
	__asm__ volatile("s_barrier_signal -2\ns_barrier_wait -2");
	out[ID] = in[ID];
}
