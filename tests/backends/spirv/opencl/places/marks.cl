/* SPDX-License-Identifier: Apache-2.0 */
/* Marks of gpubpf/mark.h in OpenCL C; "values" is the sum of their values. */
//@ options: -I../../../../../include
#include <gpubpf/mark.h>

#define WITHIN(v) GPUBPF_MARK(step, v)

// begin in all lanes; step with -1 to i % 4 - 1; third in every third lane, in two lines without braces; left in others
//@ run: marked 64 16 buf:256
//@ mem: marked mark 288:0
//@ told: marked mark values=650
//@ told-source: marked mark lines=6494
static void both(uint n)
{
	GPUBPF_MARK(left, n + 1);
}

__kernel void marked(__global uint *out)
{
	uint i = (uint)get_global_id(0), n = 0;

	GPUBPF_MARK(begin, 7);
	for (uint k = 0; k <= i % 4; k++) {
		GPUBPF_MARK(step, (int)k - 1);
		n += k;
	}
	if (i % 3 == 0)
		GPUBPF_MARK(third,
			    n++);
	else
		both(n);
	out[i] = n;
}

//@ run: alone 64 16 buf:256
//@ refuses-source: alone mark cannot probe an expression that a macro partly produces
//@ mem-il: alone mark 64:0
//@ told-il: alone mark values=2016
__kernel void alone(__global uint *out)
{
	WITHIN((int)get_global_id(0));
	out[get_global_id(0)] = 1;
}
