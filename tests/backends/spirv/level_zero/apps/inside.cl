/* SPDX-License-Identifier: Apache-2.0 */
__constant uint table[4] = { 3, 1, 2, 7 };

/* Each lane loads a word, a constant and a private value, stores two private values, and executes an atomic. */
__kernel void inside(__global const uint *in, __global uint *bins, uint n)
{
	uint i = get_global_id(0);
	volatile uint own[2];

	own[0] = in[i];
	own[1] = table[i % 4];
	atomic_add(&bins[own[i % 2] % n], i);
}
