/* SPDX-License-Identifier: Apache-2.0 */
// a struct by value
// launch 320 1 1 64 1 1
struct given {
	uint a[5];
	ulong b;
};

kernel void k(global uint *out, global const uint *in, uint n, struct given s)
{
	out[ID] = in[ID] + s.a[ID % 5] + (uint)s.b;
}
