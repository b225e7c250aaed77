/* SPDX-License-Identifier: Apache-2.0 */
// the kernel uses all shared memory of its work-group
// launch 64 1 1 64 1 1
// refused it uses all of a group's memory
kernel void k(global uint *out, global const uint *in, uint n)
{
	local uint s[16384];

	s[LOCAL] = in[LOCAL];
	meet();
	out[LOCAL] = s[in[LOCAL] & 16383];
}
