/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

/*
 * The last work-item has no right neighbour. It reads a number after the end of the buffer, and does not use this
 * number.
 */
static const char source[] =
	"kernel void neighbours(global const uint *from, global uint *to)\n"
	"{\n"
	"	uint i = get_global_id(0), here = from[i];\n"
	"	uint right = from[i + 1];\n"
	"\n"
	"	to[i] = i + 1 < get_global_size(0) ? here + right : here;\n"
	"}\n";

int main(void)
{
	return inside_source(source, "neighbours", 4095, 4095, 63);
}
