/* SPDX-License-Identifier: Apache-2.0 */
// waves of a work-group exit at different times and places, some lanes before others
// launch 1024 1 1 256 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = GROUP * 256 + LOCAL, turns = (in[LOCAL / 64] & 7) * 40;

	if (GROUP == 1)
		return;
	if (LOCAL / 64 == 2)
		return;
	if (in[i] & 1)
		return;
	for (uint t = 0; t < turns; t++)
		out[i] += in[(i + t) & 1023];
}
