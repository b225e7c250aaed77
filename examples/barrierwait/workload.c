/* SPDX-License-Identifier: Apache-2.0 */
#include "inside.h"

int main(int argc, char **argv)
{
	return inside_run(argc, argv, "sum", 4096, 4096, 64);
}
