/* SPDX-License-Identifier: Apache-2.0 */
// lanes return at different places
// launch 640 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID;

	if (in[i] & 1)
		return;
	if ((in[i] & 6) == 2) {
		out[i] = 3;
		return;
	}
	for (uint t = 0; t < (in[i] & 31); t++) {
		out[i] += in[(i + t) & 1023];
		if (out[i] & 0x40000)
			return;
	}
}
