/* SPDX-License-Identifier: Apache-2.0 */
// results of 32-bit and 64-bit atomics
// launch 640 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	ADD((global ulong *)out, (ulong)in[ID]);
	ADD(out + 8 + (in[ID] & 31), 1u);
	__scoped_atomic_fetch_max(out + 64, in[ID], __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
