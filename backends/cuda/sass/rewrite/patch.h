/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts probes into a kernel's code. New code follows the kernel's code, so the kernel's addresses do not change.
 *
 * Exits: each EXIT becomes a branch to the exit probe, under the same predicates. The EXITs of the probe end the
 * thread. If no code after the last EXIT ever executes, the exit probe replaces that EXIT.
 *
 * Entry: the first instruction becomes a branch to the entry probe. After the probe follow a copy of the instruction
 * and a branch back to the kernel. If all probe registers are above the kernel's, the branch replaces the first
 * instruction that waits for a scoreboard instead (the late entry). The probe then overlaps the latency of the kernel's
 * first loads.
 *
 * Instructions: a branch to a stub replaces an instruction with a probe (insn_probe.h). It also replaces an instruction
 * that reads a variable in c[0x3] (constant_stub.h). If an earlier pass has copied the instruction, a later pass
 * replaces the copy.
 *
 * Does:     allocates registers, predicates and barriers for the probes, and writes the new code.
 * Before:   sass_code_read() has read the code; sass_reuse_entry_values() and the joins of probes are done.
 * After:    struct sass_patched_code holds the complete code of the twin.
 * Requires: probes without uniform operations.
 */
#ifndef GPUBPF_SASS_PATCH_H
#define GPUBPF_SASS_PATCH_H

#include "insn_probe.h"
#include "backends/cuda/sass/analysis/code.h"
#include "backends/cuda/sass/probe/probe.h"

struct gpubpf_diag;

/* An immediate that the agent fills in with the low or high half of an address. The address is that of offset `off`
 * in the __constant__ bank. at: index of the instruction with the immediate. */
struct sass_constant_address {
	uint32_t at, off;
	bool high;
};

struct sass_patched_code {
	struct sass_insn *insns; /* malloc'd: the code of the twin. It begins with the kernel's code and is padded to
	                          * a multiple of 128 bytes. */
	uint32_t n;
	uint32_t *location;     /* malloc'd: location[i]: index of instruction i of the kernel, or of its copy in a
	                         * probe. A branch to a stub may have replaced the instruction there. */
	uint32_t entry, exit;   /* indices of the first instructions of the entry probe and of the exit probe;
	                         * SASS_NONE: no such probe */
	uint32_t regs;          /* registers per thread of the twin, as EIATTR_REGCOUNT counts registers */
	uint32_t base;          /* number of the register that the probes use as their R0 */
	uint32_t frame;         /* bytes of stack that the probes need */
	uint32_t nadded_boards; /* number of instructions of the kernel to which a scoreboard was added */
	bool counts;            /* the twin counts the lanes of a block in a word of shared memory that it adds
	                            * (backends/cuda/sass/isa/lane_count.h) */
	struct sass_constant_address *addresses; /* malloc'd: immediates that the agent fills in */
	uint32_t naddresses;
};

/* Patches the code of a kernel with `regs` registers. entry and exit may be NULL. Returns 0, -ENOMEM, or -EINVAL
 * with the reason in *diag why the probes do not fit. */
int sass_patch_kernel(const struct sass_code *code, uint32_t regs, const struct sass_probe *entry,
		      const struct sass_probe *exit, const struct sass_insn_probes *insn_probes,
		      struct sass_patched_code *patched, struct gpubpf_diag *diag);
void sass_patched_code_finish(struct sass_patched_code *patched);

/* Returns a probe's instruction `insn` unchanged unless it is an EXIT. For an EXIT, returns a branch over the `behind`
 * instructions that follow it. */
struct sass_insn sass_exit_to_branch(const struct sass_arch *arch, struct sass_insn insn, uint32_t behind);

#endif
