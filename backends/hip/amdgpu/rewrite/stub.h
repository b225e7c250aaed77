/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin of a kernel of machine code, as assembly. At a kernel's entry only its initial state is live, and at
 * s_endpgm nothing is. So the twin saves the initial state in two vector registers above all that kernel and probes
 * use. The lanes of `state` hold the scalar registers and EXEC, and `items` holds the work-item ids.
 *
 *   gpubpf_twin_<kernel>: saves the state and sets up the entry probe's own state.
 *   HIP_STUB_TO_ENTRY: an s_nop that the linker replaces by a branch to the entry probe.
 *   HIP_STUB_ENTERED: the entry probe returns here. Restores the kernel's own state.
 *   gpubpf_kernel: the kernel's instructions. Each probed s_endpgm is a branch to gpubpf_leaving.
 *   gpubpf_leaving: sets up the exit probe's own state, with EXEC as at entry.
 *   HIP_STUB_TO_EXIT: the branch to the exit probe. The probe ends the twin, or returns to HIP_STUB_LEFT.
 *   gpubpf_pc_<i>: replaces s_getpc_b64 of the kernel, patch i. It sets two registers to constants that the agent
 *   writes, HIP_STUB_PC_LO and _HI bytes after the label. They equal the original's value, so the kernel reaches the
 *   original's variables, constants and functions.
 *   gpubpf_place_<i>: code around single instructions, see insn_probe.c.
 *
 * The kernel's code is in segments. The stubs of a segment's places follow it, within the range of branches, and its
 * end branches to the next segment. Targets that are further away, the kernel's own branches included, are reached over
 * islands (listing.h).
 *
 * If probed instructions are in functions or around calls, the functions that the kernel calls follow its code in the
 * twin. Calls go to these copies, relative to their position.
 *
 * Probes of a block's first lane run after the entry probe, with EXEC of that lane only (HIP_STUB_TO_BEGIN,
 * HIP_STUB_BEGUN).
 * For probes of its last lane (HIP_STUB_TO_END) the twin counts waves, since all lanes of a wave end at once. The
 * counter is four bytes of the group's memory, after the kernel's own and the launch's. The first wave sets it to 0,
 * then each wave adds 1, with a barrier after both steps. At gpubpf_ending each wave subtracts 1; the wave that makes
 * it 0 is the last.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_STUB_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_STUB_H

#include "core/target.h"
#include "backends/hip/amdgpu/analysis/code.h"
#include "backends/hip/amdgpu/object/descriptor.h"
#include "operands.h"

/* the body that runs at a place */
struct hip_site_body {
	uint32_t body; /* index + 1; 0: none */
	uint32_t id;   /* number of the place within its kind */
};

/* a probe at the kernel's entry, or at all of its ends */
struct hip_kernel_probe {
	uint32_t site; /* in the job; UINT32_MAX: none */
	struct hip_descriptor descriptor;
};
enum hip_kernel_probe_kind { HIP_AT_ENTRY, HIP_AT_BEGIN, HIP_AT_EXIT, HIP_AT_END, HIP_NKERNEL_PROBES };

/* a probe at single instructions */
struct hip_body {
	uint32_t site; /* in the job */
	enum gpubpf_site kind;
	struct hip_descriptor descriptor;
	uint32_t lane_operands, uniform_operands; /* operands that it reads, enum hip_lane_operand and
						   * hip_uniform_operand as bits */
};

/* The input from which the text of a twin is written. */
struct gpubpf_function;
struct hip_draft {
	const struct hip_isa *isa;
	bool wave32;
	const char *name;     /* name of the twin; every character is valid within "" of assembly */
	const uint8_t *bytes; /* the bytes of the kernel and of its functions in the twin */
	const struct hip_code *code;
	const struct gpubpf_function **functions; /* [site of the job] the function at which the site is; NULL: unknown */
	struct hip_descriptor kernel, twin;
	struct hip_kernel_probe kernel_probe[HIP_NKERNEL_PROBES]; /* probes at the kernel's entry and ends, compiled as
								   * kernels gpubpf_inline_<site> */
	uint32_t state, items; /* vector registers that hold the state at entry (see the top of this file) */
	uint32_t spill_accum;  /* first of two accumulation registers that hold `state` and `items` while the kernel
				    * runs; UINT32_MAX: not needed */

	/* The bodies at single instructions and in functions, or NULL: [patch of the code][access of the
	 * instruction][kind]. A body is a probe that the twin contains once and that stubs call. */
	struct hip_site_body (*site_body)[HIP_MAX_ACCESSES][GPUBPF_NSITES];
	struct hip_body *bodies;
	uint32_t nbodies;
	/* Vector registers. The lanes of `saved_reg` hold the kernel's scalar registers while a probe runs. Operands
	 * equal in all lanes are in the lanes of `uniform_reg`, the others in `lane_reg` (UINT32_MAX: no probe reads
	 * it). `ncopies` registers from `copies` on hold the kernel's vector registers that a probe uses. */
	uint32_t saved_reg, uniform_reg, lane_reg[HIP_NLANE_OPERANDS], copies, ncopies;
	uint32_t scalars, vectors; /* number of scalar and of vector registers that the bodies use */
	uint32_t arguments;        /* bytes of the kernel's arguments and of the words after them for probes */
	uint32_t reach;            /* maximum distance of a branch in bytes */
};

#define HIP_BRANCH_RANGE_BYTES 131068       /* 16 bits that count words from the next one (ISA guides, "SOPP") */

/* Lanes of `saved_reg`. The first lanes hold s0 and up; after these, each value here adds a lane. */
enum hip_saved_lane {
	HIP_SAVED_RETURN,
	HIP_SAVED_SCC = 2,
	HIP_SAVED_MODE,
	HIP_SAVED_M0,
	HIP_SAVED_VCC,
	HIP_SAVED_EXEC = 7,
	HIP_SAVED_ARRIVED = 9,
	HIP_SAVED_NARROWED = 11,
	HIP_NSAVED = 13,
};

/* Labels that the linker needs. At each TO label is a branch to a probe that LLVM compiled. The probe returns to the
 * next label of this list, or ends the twin. */
#define HIP_STUB_TO_ENTRY "gpubpf_to_entry"
#define HIP_STUB_ENTERED "gpubpf_entered"
#define HIP_STUB_TO_BEGIN "gpubpf_to_begin"
#define HIP_STUB_BEGUN "gpubpf_begun"
#define HIP_STUB_TO_EXIT "gpubpf_to_exit"
#define HIP_STUB_LEFT "gpubpf_left"
#define HIP_STUB_TO_END "gpubpf_to_end"
/* the same for body number %u: the branch to it, and the label to which it returns */
#define HIP_STUB_TO_BODY "gpubpf_to_body_%u"
#define HIP_STUB_FROM_BODY "gpubpf_from_body_%u"

enum { HIP_STUB_PC_LO = 4, HIP_STUB_PC_HI = 12 };

/* Number of scalar registers that the code of stubs uses, from s0 on: while the kernel's state is live, */
#define HIP_STUB_SGPRS 2
#define HIP_STATE_SGPRS 3      /* and where only the state at entry is live */

/* Bytes that the twin adds to the group's memory to count waves: room for four aligned bytes at any alignment of the
 * launch's memory. */
#define HIP_STUB_GROUP_BYTES 8

static inline bool hip_has(const struct hip_draft *draft, enum hip_kernel_probe_kind kind)
{
	return draft->kernel_probe[kind].site != UINT32_MAX;
}

/* Writes the twin's text, which hip_listing_read() parses. */
int hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text);

#endif
