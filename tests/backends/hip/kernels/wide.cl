/* SPDX-License-Identifier: Apache-2.0 */
// each work-group has several waves
// launch 1024 1 1 256 1 1
#undef WAVES
#define WAVES 256u
kernel void k(global uint *out, global const uint *in, uint n)
{
	out[ID] = in[ID] ^ LOCAL;
}
