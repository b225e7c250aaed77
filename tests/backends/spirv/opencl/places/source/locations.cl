/* SPDX-License-Identifier: Apache-2.0 */
/* Builtins of the source location from macros. libclang has no cursor kind for them, as for ?: without a middle operand. */
//@ run: located 64 16 buf:256
//@ mem: located branch 64:0 mem.plain 56:0

//@ run: either 64 16 buf:256
//@ refuses: either branch conditional without a middle operand
#define LINE __builtin_LINE()
#define ARG(x) x
__kernel void located(__global int *o)
{
	int i = get_global_id(0), line = ARG(ARG(LINE)), other = LINE + 1;

	if (i > 7)
		o[i] = line + other;
}

__kernel void either(__global int *o)
{
	int i = get_global_id(0), one = ARG(i & 3) ?: 4;

	o[i] = one;
}
