/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Determines where control goes after an instruction, and which lanes stay active. The instruction is the mnemonic and
 * the operands in the notation of LLVM's disassembler.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_FLOW_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_FLOW_H

#include <stdbool.h>

enum hip_flow { HIP_FALLS_THROUGH, HIP_BRANCHES, HIP_MAY_BRANCH, HIP_ENDS, HIP_UNKNOWN };

/* Returns where control goes after an instruction of a GPU kernel. */
enum hip_flow hip_flow_of(const char *name);
/*
 * Returns true if the instruction removes lanes from EXEC by a condition, so that lanes diverge.
 * At the top of conditional code this is s_and_saveexec, or v_cmpx, which also does the comparison (gfx10 and later).
 * At the end of a loop, the instruction removes the lanes that leave the loop, and *at_loop_end is set.
 *
 * A later branch on an empty EXEC does not count, because it only skips code. An "else" does not count either, because
 * its lanes diverged earlier.
 */
bool hip_narrows_exec(const char *name, const char *operands, bool *at_loop_end);
/* Returns true for conditional branches that either all lanes of a wave take, or none. */
bool hip_is_uniform_branch(const char *name);
/* Returns true if the instruction waits for other waves at a barrier. Sets *why to the reason why a probe cannot
 * describe the barrier, or NULL. */
bool hip_is_wait(const char *name, const char *operands, const char **why);

#endif
