/* SPDX-License-Identifier: Apache-2.0 */
/* Stores to a private array at one of two indices. Intel's CPU compiler (2026.22.10) loses some if it vectorises: in
 * the unprobed kernel `chosen`, and in the probed kernel `beside`. `counted` shows the latter loss without a probe. */
//@ run: chosen 128 32 buf:512 buf:512
//@ mem: chosen mem 256:1024
//@ told: chosen line accesses=1536
//@ run: beside 128 32 buf:512 buf:512
//@ mem: beside mem 224:896
//@ told: beside line accesses=5984
//@ run: counted 128 32 buf:512 buf:512 buf:4
//@ mem: counted mem 928:3712
//@ told: counted line accesses=7392
__kernel void chosen(__global int *out, __global const int *in)
{
	int i = get_global_id(0), p[8];

	for (int k = 0; k < 8; k++)
		p[k] = k * 80;
	p[in[i] & 64 ? 7 : 5] = 3;
	out[i] = p[i & 7];
}

__kernel void beside(__global int *out, __global const int *in)
{
	int i = get_global_id(0), l = get_local_id(0), p[8], wide[32];

	for (int k = 0; k < 8; k++)
		p[k] = k * 49;
	for (int k = 0; k < 32; k++)
		wide[k] = k * 34;
	p[i & 7] = l;
	if (l & 3)
		p[(in[i] & 64 ? i : 7) & 7] = 5;
	out[i] = p[i & 7] + wide[i & 31];
}

static void count(ulong at)
{
	if (at) {
		atomic_inc((volatile __global int *)at);
		atomic_inc((volatile __global int *)at);
	}
}

__kernel void counted(__global int *out, __global const int *in, __global int *sum)
{
	int i = get_global_id(0), l = get_local_id(0), p[8], wide[32];

	for (int k = 0; k < 8; k++)
		p[k] = k * 49;
	for (int k = 0; k < 32; k++)
		wide[k] = k * 34;
	count((ulong)sum);
	p[i & 7] = l;
	if (l & 3) {
		count((ulong)sum);
		p[(in[i] & 64 ? i : 7) & 7] = 5;
	}
	count((ulong)sum);
	out[i] = p[i & 7] + wide[i & 31];
}
