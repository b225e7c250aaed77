/* SPDX-License-Identifier: Apache-2.0 */
// source lines that are conditional, in a loop, and in a function that is inlined twice
// launch 256 1 1 128 1 1
static inline __attribute__((always_inline)) void twice(void)
{
	__asm__ volatile("s_nop 2");                                       //= line:*lines.cl:@ //= line:*lines.cl:@ on=l<9
}

kernel void k(global uint *out, global const uint *in, uint n)
{
	uint i = GROUP * 128 + LOCAL;

	__asm__ volatile("s_nop 1");                                       //= line:named/lines.cl:@
	twice();
	if (LOCAL < 9) {
		__asm__ volatile("s_nop 1");                               //= line:lines.cl:@ on=l<9
		twice();
	}
	__attribute__((opencl_unroll_hint(1))) for (uint t = 0; t < LOCAL % 3; t++)
		__asm__ volatile("s_nop 4");                               //= line:*:@ turns=2 on=l%3>t
	out[i] = in[i] + n;
}
