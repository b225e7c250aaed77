/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inserts probes into a kernel's code. New code follows the kernel's, and no instruction of the kernel moves. Each EXIT
 * becomes a branch, under the same predicates, to the exit's probe, whose EXITs end the thread. If no code after the
 * last EXIT ever executes, the probe replaces that EXIT. The first instruction becomes a branch to the entry's probe,
 * after which it executes, and the kernel continues. If the probe's registers are above the kernel's, the branch can
 * replace the first instruction that waits instead. Then the kernel's first reads complete meanwhile. An instruction
 * with a probe becomes a branch too (insn_probe.h), and so does one that reads a variable in c[0x3] (constant_stub.h). Each of
 * these passes patches the instruction where the pass before it has put it.
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

/* half of an address in the bank's memory, an immediate of instruction `at` */
struct sass_constant_address {
	uint32_t at, off;
	bool high;
};

struct sass_patched_code {
	struct sass_insn *insns;   /* malloc'd: the code section, beginning with the kernel's code; padded to 128
	                            * bytes */
	uint32_t n;
	uint32_t *stands;          /* malloc'd: per instruction of the kernel, the index where it executes or where a
	                            * branch replaces it */
	uint32_t entry, exit;      /* index of the probes' first instructions; SASS_NONE: none */
	uint32_t regs;             /* registers per thread of the twin, as EIATTR_REGCOUNT counts them */
	uint32_t base;             /* the register that the probes' R0 became */
	uint32_t frame;            /* bytes of stack that probes need */
	uint32_t given;            /* number of scoreboards added to the kernel's instructions */
	bool counts;               /* it counts a block's lanes in a word of shared memory that the twin adds
	                            * (backends/cuda/sass/isa/lane_count.h) */
	struct sass_constant_address *addresses; /* malloc'd: immediates that the agent fills in */
	uint32_t naddresses;
};

/* entry and exit may be NULL. 0; -EINVAL and the reason why the probes do not fit; -ENOMEM. */
int sass_patch_kernel(const struct sass_code *code, uint32_t regs, const struct sass_probe *entry, const struct sass_probe *exit,
	       const struct sass_insn_probes *around, struct sass_patched_code *grafted, struct gpubpf_diag *diag);
void sass_patched_code_finish(struct sass_patched_code *grafted);

/* An EXIT of a probe becomes a branch over the `behind` instructions that follow it. */
struct sass_insn sass_exit_to_branch(const struct sass_arch *arch, struct sass_insn insn, uint32_t behind);

#endif
