/* SPDX-License-Identifier: Apache-2.0 */
// partial waves
// launch 400 1 1 40 1 1
#undef WAVES
#define WAVES 40u
kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = in[ID] * 3;
}
