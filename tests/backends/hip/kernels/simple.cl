/* SPDX-License-Identifier: Apache-2.0 */
// the kernel has one s_endpgm; some lanes have no work
// launch 640 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID;

	if (i < n && i % 3)
		out[i] = in[i] + n;
}
