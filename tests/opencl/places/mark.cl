/* SPDX-License-Identifier: Apache-2.0 */
/* One mark with one name and one value, of which compilers make less. */
//@ options: -I../../../include
#include <gpubpf/mark.h>

//@ run: single 64 16 buf:256
//@ mem: single mark 64:0
//@ told: single mark values=320
__kernel void single(__global uint *out)
{
	out[get_global_id(0)] = 2;
	GPUBPF_MARK(single, 5);
}
