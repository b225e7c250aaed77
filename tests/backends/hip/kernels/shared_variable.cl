/* SPDX-License-Identifier: Apache-2.0 */
// kernel and twin change the same variable, so the second launch sees the changes of the first
// launch 64 1 1 64 1 1
// differs
global uint counter;

kernel void k(global uint *out, global const uint *in, uint n)
{
	ADD(&counter, 1u);
	meet();
	out[ID] = __scoped_atomic_load_n(&counter, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) > 64;
}
