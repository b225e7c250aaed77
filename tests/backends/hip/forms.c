/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hip-forms: reads instructions "name operands" from standard input. For each instruction it prints the number of its
 * accesses in memory.def, and "seen" (the reader reports them), "refused WHY" (the reader refuses the instruction), or
 * "none".
 */
#include <stdio.h>
#include <string.h>

#include "backends/hip/amdgpu/isa/access.h"

int main(void)
{
	char line[256];

	while (fgets(line, sizeof(line), stdin)) {
		struct hip_access accesses[HIP_MAX_ACCESSES];
		char *operands = line + strcspn(line, " \n");
		uint32_t n;

		line[strcspn(line, "\n")] = 0;
		if (*operands)
			*operands++ = 0;
		n = hip_accesses(line, operands, accesses);
		if (n && accesses[0].why)
			printf("%u refused %s\n", n, accesses[0].why);
		else
			printf("%u %s\n", n, n ? "seen" : "none");
	}
	return 0;
}
