/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin of a kernel of machine code, as assembly. At a kernel's entry nothing is live but its initial
 * state, at s_endpgm nothing at all. So the twin keeps the initial state in two vector registers above all
 * that kernel and probes use: `state` has the scalar registers and EXEC in its lanes, `items` the work-item
 * ids.
 *
 *   gpubpf_twin_<kernel>   keeps the state; gives the entry probe its own; the probe's end comes back to
 *   HIP_STUB_TO_ENTRY      an s_nop that the linker makes a branch to the entry probe
 *   HIP_STUB_ENTERED       where the probe's end comes back to: gives the kernel its own state
 *   gpubpf_kernel          the kernel's instructions, but for each probed s_endpgm, which is a branch to
 *   gpubpf_leaving         gives the exit probe its own state, with EXEC as it was at entry;
 *   HIP_STUB_TO_EXIT       the branch there; the end of the exit probe is the twin's
 *   gpubpf_pc_<i>          s_getpc_b64 of the kernel, patch i: sets two registers to constants that the agent
 *                          writes, HIP_STUB_PC_LO and _HI bytes behind the label. They are what it gave in the
 *                          original, so all that the kernel reaches from there (variables, constants,
 *                          functions) is the original's.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_STUB_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_STUB_H

#include "core/target.h"
#include "code.h"
#include "descriptor.h"

/* What a twin is made of. */
struct hip_draft {
	const struct hip_isa *isa;
	bool wave32;
	const char *name;          /* of the twin; no character that needs quoting but what "" quotes */
	const uint8_t *bytes;      /* the kernel's */
	uint64_t address;          /* of them in the original's file */
	const struct hip_code *code;
	struct hip_descriptor kernel, twin;
	/* of the probes' own kernels gpubpf_inline_<site>; site UINT32_MAX: there is none */
	struct hip_descriptor entry, exit;
	uint32_t entry_site, exit_site;
	uint32_t state, items;     /* vector registers */
	uint32_t aside;            /* two accumulation registers that have them while the kernel runs; UINT32_MAX: none */
};

/* labels that the linker needs; the branches at the first and last go to what LLVM made of the probes */
#define HIP_STUB_TO_ENTRY "gpubpf_to_entry"
#define HIP_STUB_ENTERED "gpubpf_entered"
#define HIP_STUB_TO_EXIT "gpubpf_to_exit"

enum { HIP_STUB_PC_LO = 4, HIP_STUB_PC_HI = 12 };

/* Scalar registers that the stubs use themselves, from s0 on. */
#define HIP_STUB_SGPRS 2

/* What s_getpc_b64 there gives, as an address in the original's file. */
static inline uint64_t hip_stub_pc(const struct hip_draft *draft, const struct hip_patch *patch)
{
	return draft->address + patch->off + 4;
}

int hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text);

#endif
