/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the checker: the state of the twin that is being checked, and functions that several passes use. */
#ifndef GPUBPF_SASS_CHECK_WORK_H
#define GPUBPF_SASS_CHECK_WORK_H

#include "check.h"
#include "backends/cuda/sass/isa/form.h"
#include "backends/cuda/sass/isa/scoreboard.h"
#include "backends/cuda/sass/rewrite/insn_probe.h"
#include "backends/cuda/sass/rewrite/twin.h"

#define SASS_CHECK_PREDICATE_CYCLES 8       /* minimum number of cycles from the start of a stub until it may save
                                             * predicates, because the kernel may have written them shortly before.
                                             * The branch to the stub takes additional cycles. */

struct checked {
	const struct sass_code *code; /* the code of the kernel */
	uint32_t regs, text, info;    /* regs: number of registers of the kernel. text: index of its code
	                                    * section. info: index of its section .nv.info.<kernel>. */
	struct sass_cubin twin;
	struct sass_insn *insns;                /* malloc'd: the instructions of the twin, decoded from its bytes */
	uint32_t first_added, first_stub;       /* first_added: index of the first instruction that the twin adds,
	                                         * after the kernel's code or at its last EXIT. Stubs of instruction
	                                         * probes and constant reads begin at index first_stub; without stubs
	                                         * it is ninsns. */
	uint32_t ninsns;                        /* number of instructions of the twin; the instructions from
	                                         * first_stub on are stubs */
	uint32_t entry_branch, entry_copy;      /* entry_branch: index of the kernel's instruction that the branch to
	                                         * the entry probe replaces. entry_copy: index of the copy of that
	                                         * instruction, after the entry probe. */
	uint32_t new_regs, entry, exit;         /* new_regs: number of registers that the twin declares. `entry` and
	                                         * `exit` are the indices of the first instructions of the two
	                                         * probes, or SASS_NONE. */
	uint32_t convergence_branch, lane_code; /* convergence_branch: index of the branch in the exit probe that
	                                         * lanes take unless their whole warp is converged. Its target
	                                         * lane_code is the code that each lane runs separately. SASS_NONE:
	                                         * none. */
	bool counts;                            /* the twin has the code that counts the lanes of a block */
	const struct sass_insn_probes *insn_probes;
	const struct sass_cubin *app;
	const struct sass_binding *bindings; /* addresses of variables that the agent fills in */
	uint32_t nbindings;
	uint8_t *stub_flags; /* malloc'd: flags of enum sass_stub_flag for each instruction from
	                                    * first_stub on; a stub pass sets them */
	bool *has_stub;      /* malloc'd; has_stub[i]: a branch to a stub replaces instruction i of the kernel */
	uint32_t *location;  /* malloc'd: location[i]: index in the twin of instruction i of the kernel, or of the
	                      * branch to its stub. This is i, or the index of the copy after a probe. */
	struct gpubpf_diag *diag;
};

enum sass_stub_flag {
	SASS_IN_STUB = 1,
	SASS_IN_STUB_OWN = 2
}; /* SASS_IN_STUB: the instruction belongs to a stub.
                                                                 * SASS_IN_STUB_OWN: it is the stub's copy of the
                                                                 * kernel's instruction. */

/* Sets c->diag to "the check of the twin's machine code failed at 0x70: what" for instruction `at`. Returns -EINVAL. */
int sass_check_fail(struct checked *c, uint32_t at, const char *what);
/* Like sass_check_fail(), for a mistake that does not concern one instruction. */
int sass_check_fail_whole(struct checked *c, const char *what);
/* Returns the index of the instruction that the relative branch i targets; it may lie outside of the code. Returns
 * -1 if the target is not the start of an instruction, or if i lies outside of the code. */
int64_t sass_check_target(const struct checked *c, uint32_t i);
/* Sets *low to the lowest register that the instructions at indices `from` to `to` - 1 use, and *top to the highest
 * such register plus 1. Skips copies of the kernel's instructions. If no register is used, *low is SASS_RZ and *top
 * is 0. */
void sass_check_find_reg_span(const struct checked *c, uint32_t from, uint32_t to, uint32_t *low, uint32_t *top);
/* Returns the index of the instruction of the exit probe that waits for the kernel's operations in flight. Usually
 * this is the first instruction. If the kernel falls through into the probe, it is the second. A wait in the first
 * would not see a scoreboard that the kernel's last instruction has just set. */
uint32_t sass_check_wait_index(const struct checked *c);
/* The first function returns the scoreboards, as bits, that the exit probe waits for at its start. The second
 * function returns the scoreboards that may still be set when the entry probe ends. */
unsigned sass_check_exit_waits(const struct checked *c);
unsigned sass_check_entry_pending(const struct checked *c);

/* Checks that every instruction of the kernel that writes a predicate with variable latency sets a scoreboard. Skips
 * instructions that are replaced by a branch to a stub. */
int sass_check_predicate_boards(struct checked *c);

/* Is instruction i of the twin a copy of one of the kernel's instructions, after the entry probe or in a stub? */
bool sass_check_is_moved(const struct checked *c, uint32_t i);

static inline struct sass_insn insn_at(const struct checked *c, uint32_t i)
{
	return c->insns[i];
}

static inline bool same(struct sass_insn a, struct sass_insn b)
{
	return sass_is_same(a, b);
}

/* Are the instructions equal, except for control bits? */
static inline bool same_except_control(struct sass_insn a, struct sass_insn b)
{
	return sass_is_same_except_control(a, b);
}

/* Is `is` equal to `was`, except for an added scoreboard? `was` must lack that scoreboard. */
static inline bool has_added_board(struct sass_insn was, struct sass_insn is)
{
	return sass_lacks_board(was) && same(is, sass_with_board(was, SASS_PROBE_SB));
}

/* -- pass: the kernel's instructions are unchanged -- */
int sass_check_kernel_insns(struct checked *c);
/* Is `is` equal to `was`, except perhaps for one added scoreboard? */
bool sass_check_is_unchanged(const struct checked *c, struct sass_insn was, struct sass_insn is);
/* Is instruction i an unconditional relative branch, exactly as sass_bra() builds it? */
bool sass_check_is_bare_branch(const struct checked *c, uint32_t i);

/* -- pass: stubs of instruction probes -- */
int sass_check_insn_probes(struct checked *c);

/* -- pass: stubs of reads of __constant__ variables -- */
int sass_check_constant(struct checked *c);

/* -- pass: every instruction from first_stub on belongs to a stub of the two passes above, or is padding -- */
int sass_check_unclaimed(struct checked *c);

/* -- pass: the code that counts the lanes of a block runs on every path, in shared memory that nothing else uses -- */
int sass_check_counting(struct checked *c);
/* -- pass: no function that the kernel may call reads the size of shared memory, which the counter enlarges -- */
int sass_check_callee_sizes(struct checked *c, const struct sass_kernel *kernel);

/* -- pass: the instructions, barriers, branches and registers of probes -- */
int sass_check_added_insns(struct checked *c);

/* -- pass: the entry probe preserves the kernel's registers -- */
int sass_check_entry(struct checked *c);

/* -- pass: the exit probe waits for the kernel's operations in flight -- */
int sass_check_exit(struct checked *c);

/* -- pass: where the exit probe writes registers, no operation on them is in flight without a scoreboard -- */
int sass_check_flight(struct checked *c);

/* -- pass: if the exit probe reads a register that it has not written yet, the entry probe has computed the value -- */
int sass_check_reused_values(struct checked *c);

/* -- pass: each instruction of a probe waits for the operations of that probe on its registers -- */
int sass_check_pending(struct checked *c);

/* -- pass: probes keep the latencies that the hardware does not check -- */
int sass_check_timing(struct checked *c);

/* -- pass: the twin's list of exits matches its code -- */
int sass_check_exit_list(struct checked *c);

/* -- pass: relocations of the twin's code, and copies of the functions that it calls. May also return -ENOMEM. -- */
int sass_check_texts(struct checked *c, const struct sass_kernel *kernel);

#endif
