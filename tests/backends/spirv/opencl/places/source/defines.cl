/* SPDX-License-Identifier: Apache-2.0 */
/* Macros from the build options, as arguments of macros that hide accesses and branches. Counted by hand. */

//@ options: -DLAST=15 -DBACK=-1 -DNOTHING= -DNAME=i

//@ run: limits 64 16 buf:4096 buf:4096
//@ mem: limits mem 270:1080

//@ run: named 64 16 buf:4096 buf:4096
//@ refuses: named mem macro partly produces (line 30)

#define AT(p, k) p[(k) & 255]
#define SUM(a, b) a + b
#define WITHIN(x, low, high) ((x) >= (low) && (x) <= (high))
__kernel void limits(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	AT(b, i) = AT(a, i + LAST) + SUM(AT(a, BACK + 64), NOTHING 3);
	if (WITHIN(i, 8, LAST) && WITHIN(i, 0, LAST + BACK))
		AT(b, i + LAST * 8) = AT(a, LAST);
	AT(b, i + 160) = 4 BACK;
}

/* The reader must not expand these macros: the option -DNAME=i names something else. */
__kernel void named(__global int *a, __global int *b)
{
	int i = get_global_id(0);

	AT(b, i) = AT(a, NAME);
}
