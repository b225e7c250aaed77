/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which registers, predicates and barriers a probe may use.
 * Probes use registers above the kernel's where this costs no occupancy. Then no operation of the kernel that is in
 * flight can touch them. Else probes use R0 and up. At an exit they then wait for all that is in flight, and loads and
 * stores of the kernel without a scoreboard get one.
 *
 * Does:     allocates a register window for the probes and lists what the kernel leaves free.
 * Before:   sass_code_read() has read the code.
 * After:    struct sass_reg_window says where the probes' R0 goes and how many registers a thread has.
 * Requires: the number of registers that the image states; no liveness analysis of the kernel.
 */
#ifndef GPUBPF_SASS_LIVE_H
#define GPUBPF_SASS_LIVE_H

#include "code.h"
#include "core/target.h"

struct gpubpf_diag;

/* The live operation of the target: at the entry no register of the kernel is live. */
struct gpubpf_live sass_live(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place);

/* the register window of probes */
struct sass_reg_window {
	bool above;                /* it lies above the kernel's registers */
	uint32_t base;             /* the register that the probes' R0 becomes */
	uint32_t regs;             /* registers per thread with the probes, as EIATTR_REGCOUNT counts them */
};
/* Registers that probes may need and still lie above the kernel's without a loss of occupancy; 0: they cannot. */
uint32_t sass_max_regs_above(const struct sass_code *code, uint32_t regs);
/* The window for probes that need `need` registers in a kernel that has `regs`. 0; -EINVAL and the reason why they do
 * not fit. */
int sass_alloc_reg_window(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_reg_window *room, struct gpubpf_diag *diag);

/* A window above the kernel's registers at any cost of occupancy. 0; -EINVAL and the reason. */
int sass_alloc_regs_above(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_reg_window *room, struct gpubpf_diag *diag);

/* The highest convergence barrier that the kernel does not use; SASS_BARRIERS: it uses all. */
#define SASS_BARRIERS 16
unsigned sass_find_free_barrier(const struct sass_code *code);
/* Predicates that the kernel may write, as bits. */
unsigned sass_predicates_used(const struct sass_code *code);
/* Does the instruction, of any form, write a predicate with variable latency? And does it do so without a scoreboard?
 * Then the predicate is dead, or a later operation of the same unit has a scoreboard. */
bool sass_predicate_is_slow(struct sass_insn insn);
bool sass_predicate_lacks_board(const struct sass_arch *arch, struct sass_insn insn);
/* The instruction with a scoreboard for that predicate. */
struct sass_insn sass_with_predicate_board(struct sass_insn insn);
/* Does the kernel's code have a barrier at which a block's lanes wait (BAR)? code->barrier also counts barriers of
 * clusters and of callees. */
bool sass_has_bar(const struct sass_code *code);

#endif
