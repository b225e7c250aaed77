/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

/*
 * Each work-item adds its number to one of 16 sums by an atomic add. As "workload racy", it uses a load and a store,
 * between which another work-item may change the sum.
 */
static const char source[] =
	"kernel void add(global const uint *from, global volatile uint *to)\n"
	"{\n"
	"	uint i = get_global_id(0), n = from[i], sum;\n"
	"\n"
	"#ifdef RACY\n"
	"	sum = to[i % 16];\n"
	"	to[i % 16] = sum + n;\n"
	"#else\n"
	"	atomic_add(&to[i % 16], n);\n"
	"#endif\n"
	"}\n";

int main(int argc, char **argv)
{
	char text[sizeof(source) + 64];

	snprintf(text, sizeof(text), "%s%s", argc > 1 && !strcmp(argv[1], "racy") ? "#define RACY\n" : "", source);
	return inside_source(text, "add", 16384, 16384, 64);
}
