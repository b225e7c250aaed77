/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the registers, predicates and barriers that a probe may use.
 * Probes use registers above the kernel's where this costs no occupancy. Then no operation of the kernel in flight can
 * access them. Else probes use the registers from R0 on; then the exit probe waits for all operations in flight, and
 * loads and stores of the kernel without a scoreboard get one.
 *
 * Does:     allocates a register window for the probes and lists what the kernel leaves free.
 * Before:   sass_code_read() has read the code.
 * After:    struct sass_reg_window says where the probes' R0 goes and how many registers a thread has.
 * Requires: the number of registers that the image declares. There is no liveness analysis of the kernel.
 */
#ifndef GPUBPF_SASS_LIVE_H
#define GPUBPF_SASS_LIVE_H

#include "code.h"
#include "core/target.h"

struct gpubpf_diag;

/* The `live` operation of struct gpubpf_target. At the entry no register of the kernel is live. */
struct gpubpf_live sass_live(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);

/* the register window of probes */
struct sass_reg_window {
	bool above;    /* the window is above the kernel's registers */
	uint32_t base; /* the register that the probes' R0 becomes */
	uint32_t regs; /* registers per thread with the probes, as EIATTR_REGCOUNT counts them */
};
/* Returns how many registers probes may use above the kernel's without a loss of occupancy; 0: none. */
uint32_t sass_max_regs_above(const struct sass_code *code, uint32_t regs);
/* Computes the window for probes that need `need` registers in a kernel that has `regs`. Returns 0, or -EINVAL with
 * the reason in *diag why they do not fit. */
int sass_alloc_reg_window(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_reg_window *room,
			  struct gpubpf_diag *diag);

/* Computes a window above the kernel's registers at any cost of occupancy. Returns 0, or -EINVAL with the reason in
 * *diag. */
int sass_alloc_regs_above(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_reg_window *room,
			  struct gpubpf_diag *diag);

/* Returns the highest convergence barrier that the kernel does not use; SASS_BARRIERS: it uses all. */
#define SASS_BARRIERS 16
unsigned sass_find_free_barrier(const struct sass_code *code);
/* Returns the predicates that the kernel may write, as bits. */
unsigned sass_predicates_used(const struct sass_code *code);
/* sass_predicate_is_slow(): does the instruction, of any form, write a predicate with variable latency?
 * sass_predicate_lacks_board(): and without a scoreboard? Compilers omit it if the predicate is dead, or if a later
 * operation of the same unit has a scoreboard. */
bool sass_predicate_is_slow(struct sass_insn insn);
bool sass_predicate_lacks_board(const struct sass_arch *arch, struct sass_insn insn);
/* Returns the instruction with a write scoreboard for that predicate. */
struct sass_insn sass_with_predicate_board(struct sass_insn insn);
/* Does the kernel itself contain BAR, where the lanes of a block wait for each other? code->barrier is also set for
 * barriers of clusters and of callees. */
bool sass_has_bar(const struct sass_code *code);

#endif
