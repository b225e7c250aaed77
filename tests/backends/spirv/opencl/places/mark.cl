/* SPDX-License-Identifier: Apache-2.0 */
/* A single mark with a constant value, which compilers may simplify. */
//@ options: -I../../../../../include
#include <gpubpf/mark.h>

//@ run: single 64 16 buf:256
//@ mem: single mark 64:0
//@ told: single mark values=320
//@ mem: single call 64:0 call_exit 64:0
__attribute__((noinline)) static uint next(uint n)
{
	return n * 3 + 1;
}

__kernel void single(__global uint *out)
{
	out[get_global_id(0)] = next(out[get_global_id(0)]);
	GPUBPF_MARK(single, 5);
}
