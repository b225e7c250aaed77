/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

/*
 * Four branches. All neighbours agree on the first. Every second work-item takes the second, and one of 32 takes the
 * third. The fourth is a loop with one round per bit of the work-item's number. The source line shows where work-items
 * diverge.
 */
static const char source[] =
	"kernel void branches(global const uint *from, global uint *to)\n"
	"{\n"
	"	uint i = get_global_id(0), v = from[i];\n"
	"\n"
	"	if (i < 2048)\n"
	"		v = v * 3 + 1;\n"
	"	if (i & 1)\n"
	"		v ^= 0x5555;\n"
	"	if (i % 32 == 7)\n"
	"		v += 1000;\n"
	"	for (uint bits = i & 7; bits; bits >>= 1)\n"
	"		v = v * 31 + bits;\n"
	"	to[i] = v;\n"
	"}\n";

int main(void)
{
	return inside_source(source, "branches", 4096, 4096, 64);
}
