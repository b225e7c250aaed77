/* SPDX-License-Identifier: Apache-2.0 */
// shared memory of the work-group, with barriers in a loop
// launch 640 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	local uint s[64];
	uint t = LOCAL;

	s[t] = in[ID];
	meet();
	for (uint d = 32; d; d /= 2) {
		if (t < d)
			s[t] += s[t + d];
		meet();
	}
	if (t == 0)
		out[GROUP] = s[0];
}
