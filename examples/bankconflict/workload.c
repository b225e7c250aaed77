/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

/* Transposes a tile of 16 by 16 numbers: each work-item writes in a row and reads in a column of local memory. */
static const char source[] =
	"kernel void turn(global const uint *from, global uint *to)\n"
	"{\n"
	"	local uint tile[256];\n"
	"	uint i = get_local_id(0), x = i % 16, y = i / 16;\n"
	"\n"
	"	tile[y * 16 + x] = from[get_global_id(0)];\n"
	"	barrier(CLK_LOCAL_MEM_FENCE);\n"
	"	to[get_global_id(0)] = tile[x * 16 + y];\n"
	"}\n";

int main(void)
{
	return inside_source(source, "turn", 4096, 4096, 256);
}
