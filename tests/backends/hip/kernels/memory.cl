/* SPDX-License-Identifier: Apache-2.0 */
// the kernel itself uses scratch memory
// launch 320 1 1 64 1 1
kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID, a[64], x = i;

	for (uint t = 0; t < 64; t++)
		a[t] = in[(i + t) & 1023];
	for (uint t = 0; t < 40; t++) {
		x = a[x & 63] + t;
		a[(x >> 6) & 63] ^= x;
	}
	out[i] = x + a[x & 63];
}
