/* SPDX-License-Identifier: Apache-2.0 */
// refused mem.all atomic: it calls functions, whose instructions are not in its twin

static NOINLINE uint twice(global uint *p)
{
	return *p * 2;
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = twice(out + n);
	ADD(out, 1);
}
