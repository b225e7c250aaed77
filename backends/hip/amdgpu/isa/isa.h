/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processors for which gpubpf generates code, and their properties that LLVM's interface does not expose.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_ISA_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_ISA_H

#include <stdbool.h>
#include <stdint.h>

#define HIP_EF_MACH 0x0ff          /* mask of the processor in e_flags (EF_AMDGPU_MACH) */

enum hip_family { HIP_GFX90A, HIP_GFX940, HIP_GFX11, HIP_GFX12 };

struct hip_isa {
	const char *name; /* "gfx90a" */
	uint32_t mach;    /* the processor's number in e_flags (AMDGPU Usage, "ELF Header") */
	enum hip_family family;
	/* instruction words (SOPP encodings) that differ between processors */
	uint32_t branch, nop, code_end, endpgm;
	bool wave32; /* waves have 32 or 64 lanes; false: always 64 */
	/* there are accumulation registers, which share one register file with the vector registers */
	bool accum;
	bool wide_sgprs;   /* every wave has all scalar registers; false: the descriptor states their number */
	bool ids_in_traps; /* a wave receives its work-group ids in ttmp (trap temporary) registers */
};

const struct hip_isa *hip_isa_of_flags(uint32_t e_flags);
/* Finds a processor by the name that a runtime reports, for example "gfx90a" or "gfx90a:sramecc+:xnack-". Returns NULL
 * if it is unknown. */
const struct hip_isa *hip_isa_of_name(const char *name);

#endif
