/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spirv-forms: prints isa.def's result for each instruction in the grammars of the SPIR-V headers, one per line. A line
 * has "core" or "OpenCL.std", the name, and the result: "seen" (gpubpf reports the accesses), "refused WHY", "none"
 * (the instruction accesses no memory) or "unknown". If a program probes memory, gpubpf refuses unknown instructions.
 */
#include <spirv/unified1/OpenCL.std.h>
#include <spirv/unified1/spirv.h>
#include <stdio.h>

#include "backends/spirv/spirv/module/named.h"

struct form {
	uint32_t first, last;
	const char *what, *why;
};

static const struct form core[] = {
#define SPV_ACCESS(op, ...) { Spv##op, Spv##op, "seen", "" },
#define SPV_ATOMIC SPV_ACCESS
#define SPV_GROUP_ACCESS SPV_ACCESS
#define SPV_UNSEEN(first, last, spaces, why) { Spv##first, Spv##last, "refused", why },
#define SPV_NO_ACCESS(first, last) { Spv##first, Spv##last, "none", "" },
#include "backends/spirv/spirv/module/isa.def"
	{ 0, UINT32_MAX, "unknown", "" },
};

static const struct form extended[] = {
#define SPV_EXT_ACCESS(op, ...) { OpenCLstd_##op, OpenCLstd_##op, "seen", "" },
#define SPV_EXT_UNSEEN(first, last, spaces, why) { OpenCLstd_##first, OpenCLstd_##last, "refused", why },
#define SPV_EXT_NO_ACCESS(first, last) { OpenCLstd_##first, OpenCLstd_##last, "none", "" },
#include "backends/spirv/spirv/module/isa.def"
	{ 0, UINT32_MAX, "unknown", "" },
};

static void print_forms(const char *set, const struct form *forms, const struct gpubpf_spv_opcode *opcodes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct form *of = forms;

		while (opcodes[i].number < of->first || opcodes[i].number > of->last)
			of++;
		printf("%s %s %s%s%s\n", set, opcodes[i].name, of->what, *of->why ? " " : "", of->why);
	}
}

int main(void)
{
	print_forms("core", core, gpubpf_spv_opcodes, gpubpf_spv_nopcodes);
	print_forms("OpenCL.std", extended, gpubpf_spv_extended, gpubpf_spv_nextended);
	return 0;
}
