/* SPDX-License-Identifier: Apache-2.0 */
/* The processors that we make code for, and what of them matters outside of LLVM. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ISA_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ISA_H

#include <stdbool.h>
#include <stdint.h>

enum hip_family { HIP_GFX90A, HIP_GFX940, HIP_GFX11, HIP_GFX12 };

struct hip_isa {
	const char *name;          /* "gfx90a" */
	uint32_t mach;             /* in e_flags (AMDGPU Usage, "ELF Header") */
	enum hip_family family;
	/* encodings (SOPP) and limits that differ */
	uint32_t branch, nop, code_end, endpgm;
	bool wave32;               /* it has both; else waves of 64 lanes alone */
	bool accum;                /* accumulation registers in one file with the others */
	bool wide_sgprs;           /* every wave has all scalar registers; else the descriptor says how many */
	bool ids_in_traps;         /* work-group ids come in ttmp registers */
};

const struct hip_isa *hip_isa_of_flags(uint32_t e_flags);
/* By a name as runtimes give it: "gfx90a", "gfx90a:sramecc+:xnack-". NULL: not known. */
const struct hip_isa *hip_isa_of_name(const char *name);

#endif
