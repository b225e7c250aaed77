/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The twin of a GPU kernel as assembly text. At the kernel's entry only its initial registers are live, and at s_endpgm
 * no register is live. So the twin saves the initial state in two vector registers above all registers of the kernel
 * and the probes. The lanes of the register `state` hold the scalar registers and EXEC, and `items` holds the work-item
 * ids.
 *
 *   `gpubpf_twin_<kernel>`: the twin's entry. Saves the state, and sets the initial registers of the entry probe.
 *   `HIP_STUB_TO_ENTRY`: an s_nop, which the linker replaces by a branch to the entry probe.
 *   `HIP_STUB_ENTERED`: the entry probe returns here. Restores the initial registers of the kernel.
 *   `gpubpf_kernel`: the kernel's instructions. Each s_endpgm with a probe is a branch to gpubpf_leaving.
 *   `gpubpf_leaving`: sets the initial registers of the exit probe, and EXEC as at the entry.
 *   `HIP_STUB_TO_EXIT`: the branch to the exit probe. The twin ends with this probe, or it returns to HIP_STUB_LEFT.
 *   `gpubpf_pc_<i>`: replaces an s_getpc_b64 of the kernel, patch i. It sets two registers to constants, which the
 *   agent writes HIP_STUB_PC_LO and HIP_STUB_PC_HI bytes after the label. The constants are the value in the original
 *   kernel, so the twin accesses the original's variables, constants and functions.
 *   `gpubpf_place_<i>`: the stub of probes at an instruction (insn_probe.c).
 *
 * The kernel's code is split into segments. The stubs of the places in a segment follow it, so that branches reach
 * them. The segment ends with a branch to the next segment. If a branch does not reach its target, islands extend its
 * range (listing.h).
 *
 * If a place is at an instruction or in a function, the twin also contains the functions that the kernel calls. They
 * follow the kernel's code, and calls go to these copies.
 *
 * A probe of a block's first lane runs after the entry probe, with only this lane in EXEC (HIP_STUB_TO_BEGIN,
 * HIP_STUB_BEGUN). For a probe of the last lane (HIP_STUB_TO_END) the twin counts waves, because all lanes of a wave
 * end together. The counter is the last four bytes of the work-group's memory, after the memory of the kernel and the
 * launch. The first wave sets it to 0, then each wave adds 1; a barrier follows both steps. At gpubpf_ending each wave
 * subtracts 1. The wave that makes the counter 0 is the last one.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_STUB_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_STUB_H

#include "core/target.h"
#include "backends/hip/amdgpu/analysis/code.h"
#include "backends/hip/amdgpu/object/descriptor.h"
#include "operands.h"

/* The probe body that runs at a place. */
struct hip_site_body {
	uint32_t body; /* index + 1; 0: none */
	uint32_t id;   /* number of the place among the places of its kind */
};

/* A probe at the kernel's entry, or at all of its ends. */
struct hip_kernel_probe {
	uint32_t site; /* index of the site in the job; UINT32_MAX: no probe */
	struct hip_descriptor descriptor;
};
enum hip_kernel_probe_kind { HIP_AT_ENTRY, HIP_AT_BEGIN, HIP_AT_EXIT, HIP_AT_END, HIP_NKERNEL_PROBES };

/* A probe body: the compiled code of a site at instructions or in functions. The twin contains it once. */
struct hip_body {
	uint32_t site; /* in the job */
	enum gpubpf_site kind;
	struct hip_descriptor descriptor;
	/* bits of the operands that it reads: enum hip_lane_operand, enum hip_uniform_operand */
	uint32_t lane_operands, uniform_operands;
};

/* The description of a twin, from which its assembly text is written. */
struct gpubpf_function;
struct hip_draft {
	const struct hip_isa *isa;
	bool wave32;
	const char *name;     /* name of the twin; it has no character that a quoted assembly symbol cannot have */
	const uint8_t *bytes; /* code of the kernel, followed by the functions that the twin contains */
	const struct hip_code *code;
	/* [site of the job] debug information of the function that contains the site; NULL: unknown */
	const struct gpubpf_function **functions;
	struct hip_descriptor kernel, twin;
	/* probes at the kernel's entry and ends; LLVM compiles each as a GPU kernel gpubpf_inline_<site> */
	struct hip_kernel_probe kernel_probe[HIP_NKERNEL_PROBES];
	uint32_t state, items; /* vector registers that hold the state at entry (see the top of this file) */
	/* first of two accumulation registers that hold `state` and `items` while the kernel runs; UINT32_MAX: the
	 * vector registers keep them */
	uint32_t spill_accum;

	/* The body of each place at instructions and in functions: [patch of the code][access of the
	 * instruction][kind]. NULL: no such places. */
	struct hip_site_body (*site_body)[HIP_MAX_ACCESSES][GPUBPF_NSITES];
	struct hip_body *bodies;
	uint32_t nbodies;
	/* Vector registers. While a probe runs, the lanes of `saved_reg` and the registers after it hold the kernel's
	 * scalar registers. The lanes of `uniform_reg` hold the operands that are equal in all lanes. lane_reg[i] holds
	 * per-lane operand i (UINT32_MAX: no probe reads it). `ncopies` registers from `copies` on hold the kernel's
	 * vector registers that probes overwrite. */
	uint32_t saved_reg, uniform_reg, lane_reg[HIP_NLANE_OPERANDS], copies, ncopies;
	uint32_t scalars, vectors; /* numbers of scalar and vector registers that the bodies use */
	/* bytes of the kernel's arguments, with the words that the agent sets at each launch */
	uint32_t arguments;
	uint32_t reach; /* maximum distance of a branch in bytes */
};

#define HIP_BRANCH_RANGE_BYTES 131068       /* a signed 16-bit number of words (ISA guides, "SOPP") */

/* Saved values in the lanes of `saved_reg`. The first draft->scalars lanes hold s0 and up. These values follow; a
 * number is relative to draft->scalars. */
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

/* Labels that the linker needs. The linker writes a branch to a probe at each TO label. The probe returns to the label
 * after it in this list. If there is none, the twin ends with the probe. */
#define HIP_STUB_TO_ENTRY "gpubpf_to_entry"
#define HIP_STUB_ENTERED "gpubpf_entered"
#define HIP_STUB_TO_BEGIN "gpubpf_to_begin"
#define HIP_STUB_BEGUN "gpubpf_begun"
#define HIP_STUB_TO_EXIT "gpubpf_to_exit"
#define HIP_STUB_LEFT "gpubpf_left"
#define HIP_STUB_TO_END "gpubpf_to_end"
/* The same for body number %u: the branch to the body, and the label that the body returns to. */
#define HIP_STUB_TO_BODY "gpubpf_to_body_%u"
#define HIP_STUB_FROM_BODY "gpubpf_from_body_%u"

enum { HIP_STUB_PC_LO = 4, HIP_STUB_PC_HI = 12 };

/* number of scalar registers, from s0 on, that stubs at instructions use */
#define HIP_STUB_SGPRS 2
#define HIP_STATE_SGPRS 3      /* number of scalar registers that stubs at the kernel's entry and ends use */

/* Bytes that the twin adds to the work-group's memory for the wave counter. The counter has four bytes; the rest aligns
 * it for any size of the launch's dynamic memory. */
#define HIP_STUB_GROUP_BYTES 8

static inline bool hip_has(const struct hip_draft *draft, enum hip_kernel_probe_kind kind)
{
	return draft->kernel_probe[kind].site != UINT32_MAX;
}

/* Writes the assembly text of the twin, which hip_listing_read() parses. Returns 0 or -ENOMEM. The caller frees
 * text->data. */
int hip_stub_write(const struct hip_draft *draft, struct gpubpf_blob *text);

#endif
