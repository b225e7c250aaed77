/* SPDX-License-Identifier: Apache-2.0 */
// whole waves return at different places
// launch 640 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint g = GROUP;

	if (g & 1) {
		out[1024 + g] = 1; /* no other work-group writes this word */
		return;
	}
	if (in[g] & 1)
		return;
	out[ID] = in[g] + g;
}
