/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts probes into a kernel's code. New code follows the kernel's, so the kernel's addresses do not change. Each
 * EXIT becomes a branch, under the same predicates, to the exit probe, whose EXITs end the thread. If no code after the
 * last EXIT ever executes, the exit probe replaces that EXIT. The first instruction becomes a branch to the entry
 * probe. A copy of the instruction follows the probe, and a branch back to the kernel. If all probe registers are above
 * the kernel's, the branch replaces the first instruction that waits for a scoreboard instead (the late entry). The
 * probe then overlaps the latency of the kernel's first loads. A branch to a stub replaces an instruction with a probe
 * (insn_probe.h) and one that reads a variable in c[0x3] (constant_stub.h). If an earlier of these passes has copied
 * the instruction, a later one replaces the copy.
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

/* an immediate that the agent fills in: half of the address of offset `off` in the __constant__ bank. at: index of
 * the instruction. */
struct sass_constant_address {
	uint32_t at, off;
	bool high;
};

struct sass_patched_code {
	struct sass_insn *insns; /* malloc'd: the code of the twin, which begins with the kernel's; padded to 128
	                            * bytes */
	uint32_t n;
	uint32_t *location;     /* malloc'd: per instruction of the kernel: index of the instruction or of its
	                            * copy in a probe; a branch to a stub may replace it there */
	uint32_t entry, exit;   /* indices of the first instructions of the entry and exit probes; SASS_NONE: none */
	uint32_t regs;          /* registers per thread of the twin, as EIATTR_REGCOUNT counts them */
	uint32_t base;          /* number of the register that R0 of the probes becomes */
	uint32_t frame;         /* bytes of stack that probes need */
	uint32_t nadded_boards; /* number of instructions of the kernel that got a scoreboard */
	bool counts;            /* the twin counts the lanes of a block in a word of shared memory that it adds
	                            * (backends/cuda/sass/isa/lane_count.h) */
	struct sass_constant_address *addresses; /* malloc'd: immediates that the agent fills in */
	uint32_t naddresses;
};

/* Patches the kernel `code`, which has `regs` registers. entry and exit may be NULL. Returns 0; -EINVAL with the
 * reason in *diag why the probes do not fit; -ENOMEM. */
int sass_patch_kernel(const struct sass_code *code, uint32_t regs, const struct sass_probe *entry,
		      const struct sass_probe *exit, const struct sass_insn_probes *insn_probes,
		      struct sass_patched_code *patched, struct gpubpf_diag *diag);
void sass_patched_code_finish(struct sass_patched_code *patched);

/* Returns an instruction of a probe; an EXIT becomes a branch over the `behind` instructions that follow it. */
struct sass_insn sass_exit_to_branch(const struct sass_arch *arch, struct sass_insn insn, uint32_t behind);

#endif
