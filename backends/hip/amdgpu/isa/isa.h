/* SPDX-License-Identifier: Apache-2.0 */
/* The processors that we generate code for, and their properties that matter outside of LLVM. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ISA_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ISA_H

#include <stdbool.h>
#include <stdint.h>

#define HIP_EF_MACH 0x0ff          /* e_flags: EF_AMDGPU_MACH */

enum hip_family { HIP_GFX90A, HIP_GFX940, HIP_GFX11, HIP_GFX12 };

struct hip_isa {
	const char *name; /* "gfx90a" */
	uint32_t mach;    /* in e_flags (AMDGPU Usage, "ELF Header") */
	enum hip_family family;
	/* encodings (SOPP) and limits that differ between processors */
	uint32_t branch, nop, code_end, endpgm;
	bool wave32;       /* waves of 32 and of 64 lanes; else of 64 lanes only */
	bool accum;        /* accumulation registers share one register file with the vector registers */
	bool wide_sgprs;   /* every wave has all scalar registers; else the descriptor states their number */
	bool ids_in_traps; /* work-group ids are in ttmp registers */
};

const struct hip_isa *hip_isa_of_flags(uint32_t e_flags);
/* Finds a processor by the name that a runtime reports: "gfx90a", "gfx90a:sramecc+:xnack-". NULL: unknown. */
const struct hip_isa *hip_isa_of_name(const char *name);

#endif
