/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the registers, predicates and barriers that a probe may use.
 *
 * Probes use registers above the kernel's if this costs no occupancy. Operations of the kernel that are in flight
 * cannot access these registers. Otherwise probes use the registers from R0 on. Then the exit probe waits for all
 * operations in flight, and the twin adds a scoreboard to loads and stores of the kernel that have none.
 *
 * Does:     allocates a register window for the probes and finds the predicates and barriers that the kernel leaves
 *           free.
 * Before:   sass_code_read() has read the code.
 * After:    struct sass_reg_window says which register the probes use as their R0 and how many registers a thread has.
 * Requires: the image declares the kernel's number of registers. The kernel's own liveness is not analyzed.
 */
#ifndef GPUBPF_SASS_LIVE_H
#define GPUBPF_SASS_LIVE_H

#include "code.h"
#include "core/target.h"

struct gpubpf_diag;

/* Implements the `live` operation of struct gpubpf_target. At the entry no register of the kernel is live. */
struct gpubpf_live sass_live(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);

/* the register window of probes */
struct sass_reg_window {
	bool above;    /* the window is above the kernel's registers */
	uint32_t base; /* number of the register that the probes use as their R0 */
	uint32_t regs; /* registers per thread with the probes, as EIATTR_REGCOUNT counts them */
};
/* Returns how many registers above the kernel's `regs` registers probes may use without a loss of occupancy. */
uint32_t sass_max_regs_above(const struct sass_code *code, uint32_t regs);
/* Computes the window for probes that need `need` registers in a kernel with `regs` registers. Returns 0, or -EINVAL
 * with the reason in *diag if they do not fit. */
int sass_alloc_reg_window(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_reg_window *room,
			  struct gpubpf_diag *diag);

/* Computes a window above the kernel's registers, even if this costs occupancy. Returns 0, or -EINVAL with the
 * reason in *diag. */
int sass_alloc_regs_above(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_reg_window *room,
			  struct gpubpf_diag *diag);

/* Returns the highest convergence barrier that the kernel does not use; SASS_BARRIERS: it uses all. */
#define SASS_BARRIERS 16
unsigned sass_find_free_barrier(const struct sass_code *code);
/* Returns the predicates that the kernel may write, as bits. */
unsigned sass_predicates_used(const struct sass_code *code);
/* sass_predicate_is_slow(): does the instruction, of any form, write a predicate with variable latency?
 * sass_predicate_lacks_board(): does that predicate also have no scoreboard? Compilers omit the scoreboard if the
 * predicate is dead, or if a later operation of the same unit has a scoreboard. */
bool sass_predicate_is_slow(struct sass_insn insn);
bool sass_predicate_lacks_board(const struct sass_arch *arch, struct sass_insn insn);
/* Returns a copy of the instruction with the scoreboard SASS_PROBE_SB for that predicate. */
struct sass_insn sass_with_predicate_board(struct sass_insn insn);
/* Does the kernel's code contain BAR, at which the threads of a block wait for each other? Unlike this function,
 * code->barrier also covers barriers of clusters and of callees. */
bool sass_has_bar(const struct sass_code *code);

#endif
