/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

/*
 * The first work-item of a group reads a word LOOKS times; the word never changes. The other work-items wait for the
 * first at the barrier. The argument of the program sets LOOKS; the default is 8.
 */
static const char source[] =
	"kernel void waits(global const volatile uint *from, global uint *to)\n"
	"{\n"
	"	uint i = get_global_id(0);\n"
	"\n"
	"	if (get_local_id(0) == 0)\n"
	"		for (uint looks = 0; looks < LOOKS && from[1] == 1; looks++)\n"
	"			;\n"
	"	barrier(CLK_GLOBAL_MEM_FENCE);\n"
	"	to[i] = i;\n"
	"}\n";

int main(int argc, char **argv)
{
	char text[sizeof(source) + 64];

	snprintf(text, sizeof(text), "#define LOOKS %luu\n%s", argc > 1 ? strtoul(argv[1], NULL, 0) : 8ul, source);
	return inside_source(text, "waits", 4096, 4096, 64);
}
