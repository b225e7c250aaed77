/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the files that write stubs of instruction probes: the state of the writer. */
#ifndef GPUBPF_SASS_STUB_WORK_H
#define GPUBPF_SASS_STUB_WORK_H

#include "insn_probe.h"
#include "patch.h"

#define SAVED_REGS 2               /* number of registers after the registers of the bodies: one for saved
                                    * predicates, and a scratch register */

struct stub_writer {
	const struct sass_insn_probes *insn_probes;
	const struct sass_code *code;
	struct sass_patched_code *out;
	unsigned pending;
	unsigned barrier;  /* a convergence barrier that the kernel does not use; SASS_BARRIERS: there is none */
	uint32_t saved_at; /* register for the saved predicates; the next register is the scratch register */
	uint32_t value_reg[SASS_NINPUTS]; /* value_reg[i]: first of the two registers of per-lane value i of the
	                                   * place */
	const struct sass_access *access; /* the access whose values the registers hold. If the instruction has two
	                                   * accesses, switch_access() changes it between bodies. */
};

static inline void emit(struct stub_writer *p, struct sass_insn insn)
{
	p->out->insns[p->out->n++] = insn;
}

/* Allocates two registers, from `at` on, for each per-lane value that a body reads. Returns the first register after
 * these registers. */
uint32_t sass_stub_assign_value_regs(const struct sass_insn_probes *insn_probes, uint32_t at,
				     uint32_t value_reg[SASS_NINPUTS]);
/* Returns the first of the two registers of a per-lane value. */
uint32_t sass_stub_value_reg(const struct stub_writer *p, enum sass_input value);

/* Emit moves of the values in the set `values` (bits of enum sass_input) to their registers. The functions handle,
 * in this order: values of access a, values of the branch `own`, and register operands of `own`. */
void sass_stub_emit_access_values(struct stub_writer *p, const struct sass_access *a, uint32_t values);
void sass_stub_emit_branch_values(struct stub_writer *p, struct sass_insn own, uint32_t values);
void sass_stub_emit_operands(struct stub_writer *p, struct sass_insn own, uint32_t values);
/* Emits a wait for the result of the atomic instruction `own`. Then moves the old value of memory to its registers. */
void sass_stub_emit_old_value(struct stub_writer *p, const struct sass_access *a, struct sass_insn own);

/* Returns the memory space of an access; GPUBPF_GENERIC if the address may be in one of several spaces. */
enum gpubpf_mem_space sass_stub_access_space(const struct sass_access *a);
/* Returns the value of a place value that is the same for all lanes. */
uint32_t sass_stub_place_constant(const struct sass_insn_probe *at, enum sass_input value);

#endif
