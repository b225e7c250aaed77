/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the files that write stubs of instruction probes: the state of the writer. */
#ifndef GPUBPF_SASS_STUB_WORK_H
#define GPUBPF_SASS_STUB_WORK_H

#include "insn_probe.h"
#include "patch.h"

#define SAVED_REGS 2               /* registers after the bodies': saved predicates, and a scratch register */

struct stub_writer {
	const struct sass_insn_probes *around;
	const struct sass_code *code;
	struct sass_patched_code *out;
	unsigned pending;
	unsigned barrier;          /* a convergence barrier that the kernel does not use; SASS_BARRIERS: there is
	                            * none */
	uint32_t saved_at;         /* the first of the SAVED_REGS registers */
	uint32_t given[SASS_NINPUTS]; /* registers of the place's values, two each */
	const struct sass_access *access; /* the access whose values are in registers; it changes between bodies if the
	                                   * instruction has two accesses */
};

static inline void emit(struct stub_writer *p, struct sass_insn insn)
{
	p->out->insns[p->out->n++] = insn;
}

/* Allocates registers from `at` on for the per-lane values that bodies read. Returns the first register after them. */
uint32_t sass_stub_assign_value_regs(const struct sass_insn_probes *around, uint32_t at, uint32_t given[SASS_NINPUTS]);
/* The first of the two registers of a per-lane value. */
uint32_t sass_stub_value_reg(const struct stub_writer *p, enum sass_input given);

/* Write the code that loads the values in the set `given`: values of the access, of the branch `own`, and of the
 * operands of the instruction `own`. */
void sass_stub_emit_access_values(struct stub_writer *p, const struct sass_access *a, uint32_t given);
void sass_stub_emit_branch_values(struct stub_writer *p, struct sass_insn own, uint32_t given);
void sass_stub_emit_operands(struct stub_writer *p, struct sass_insn own, uint32_t given);
/* Waits for the instruction's result, and loads the value that memory had before. */
void sass_stub_emit_old_value(struct stub_writer *p, const struct sass_access *a, struct sass_insn own);

/* The space of an access; generic if it may be in one of several. */
enum gpubpf_mem_space sass_stub_access_space(const struct sass_access *a);
/* The value of a place that is the same for all lanes. */
uint32_t sass_stub_place_constant(const struct sass_insn_probe *at, enum sass_input given);

#endif
