/* SPDX-License-Identifier: Apache-2.0 */
// the twin must not change the shared memory of the work-group, and its barriers must work
// launch 768 1 1 192 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	local uint s[192];
	local uchar odd[3];
	uint i = GROUP * 192 + LOCAL, sum = 0;

	s[LOCAL] = in[i];
	if (LOCAL < 3)
		odd[LOCAL] = in[i];
	meet();
	for (uint t = 0; t < 3; t++)
		sum += odd[t] + s[(LOCAL + 64 * t) % 192];
	meet();
	s[LOCAL] = sum;
	meet();
	out[i] = s[191 - LOCAL];
}
