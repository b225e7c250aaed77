/* SPDX-License-Identifier: Apache-2.0 */
/* Where control and lanes go after an instruction, by its mnemonic and operands as LLVM's disassembler prints them. */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_FLOW_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_FLOW_H

#include <stdbool.h>

enum hip_flow { HIP_FALLS_THROUGH, HIP_BRANCHES, HIP_MAY_BRANCH, HIP_ENDS, HIP_UNKNOWN };

/* Returns where control goes after an instruction of a kernel. */
enum hip_flow hip_flow_of(const char *name);
/* Returns true if lanes diverge because the instruction narrows EXEC by a condition. At the top of conditional code
 * this is s_and_saveexec, or v_cmpx, which on gfx10 also compares. At a loop's end the instruction removes the lanes
 * that are done, and *at_loop_end is set. Branches on an empty EXEC that follow only skip code. An "else" selects lanes
 * that diverged earlier, so it does not count. */
bool hip_narrows_exec(const char *name, const char *operands, bool *at_loop_end);
/* Returns true for conditional branches that all lanes of a wave take, or none. */
bool hip_is_uniform_branch(const char *name);
/* Returns true if the instruction waits for other waves. why: the reason for which a probe cannot describe it, or
 * NULL. */
bool hip_is_wait(const char *name, const char *operands, const char **why);

#endif
