/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

/* Reads 16 numbers for each number that it writes. */
static const char source[] =
	"kernel void gather(global const uint *from, global uint *to)\n"
	"{\n"
	"	uint i = get_global_id(0), n = get_global_size(0), sum = 0;\n"
	"\n"
	"	for (uint k = 0; k < 16; k++)\n"
	"		sum = sum * 31 + from[(i * 17 + k * 256) % n];\n"
	"	to[i] = sum;\n"
	"}\n";

int main(void)
{
	return inside_source(source, "gather", 4096, 4096, 64);
}
