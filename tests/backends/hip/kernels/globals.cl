/* SPDX-License-Identifier: Apache-2.0 */
// the kernel reads global variables and constants of the application's code object
// launch 640 1 1 64 1 1
global uint counter = 5;
global uint table[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
constant uint squares[16] = { 0, 1, 4, 9, 16, 25, 36, 49, 64, 81, 100, 121, 144, 169, 196, 225 };

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = ID;

	out[i] = table[in[i] & 7] + squares[in[i] & 15];
	if (i == 0)
		out[1000] = counter;
}
