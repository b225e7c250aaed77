/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declares the functions that emit code for operands of a place. The code puts each operand word into a register that
 * the probe reads. Used by insn_probe.c and the files operands_*.c.
 */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_OPERANDS_H
#define GPUBPF_BACKENDS_CUDA_PTX_OPERANDS_H

#include "backends/cuda/ptx/analysis/access.h"
#include "backends/cuda/ptx/analysis/control.h"
#include "edit.h"

/* registers of the { } block around the instruction, for use in printf formats */
#define PTX_OPERAND "%" CUDA_OPERAND      /* PTX_OPERAND "%u": a word */
#define PTX_AT "%%gpubpf_at"           /* the access's address in its state space */
#define PTX_ACTIVE "%%gpubpf_active"   /* the active mask */

/* place for which code is emitted */
struct insn_place {
	struct ptx_splice *in;
	struct ptx_text text;
	const struct ptx_site *at;
	const struct gpubpf_place_kind *kind;
	struct ptx_access access;     /* the memory access, or the address of the barrier object */
	struct ptx_control control;   /* at a barrier or branch: its description */
	bool has_address, has_active; /* the code so far sets PTX_AT or PTX_ACTIVE, respectively */
};

#define put(a, ...) ptx_addf(&(a)->text, &(a)->in->err, __VA_ARGS__)

/*
 * insn_probe.c: ptx_line_of() returns the PTX line for messages. ptx_emit_constant() sets a word's register to a
 * constant.
 */
uint32_t ptx_line_of(const struct insn_place *a);
void ptx_emit_constant(struct insn_place *a, uint32_t word, uint64_t value);

/*
 * Most functions below emit code that puts element i of a field into a word's register. The functions up to
 * ptx_emit_old() are in operands_memory.c.
 */
void ptx_need_address(struct insn_place *a);
bool ptx_is_generic(const struct insn_place *a);
/* Returns the name of a state space for the instruction isspacep. */
const char *ptx_isspacep_name(const struct insn_place *a, uint32_t space);
void ptx_check_constants(struct insn_place *a);
void ptx_emit_address(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_offset(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_space(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_access(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_count(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_hint(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_bytes(struct insn_place *a, uint32_t word, uint32_t i);
/* Returns true if the number of bytes is a constant in the PTX, so it is the same in all lanes. */
bool ptx_has_constant_bytes(const struct insn_place *a);
void ptx_emit_value(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_rmw(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_operand(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_old(struct insn_place *a, uint32_t word, uint32_t i);

/* operands_control.c */
void ptx_emit_barrier(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_barrier_kind(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_lanes(struct insn_place *a, uint32_t word, uint32_t i);
/* Emits code that declares and sets CUDA_TAKEN in the place's { } block. */
void ptx_emit_taken_mask(struct insn_place *a);
void ptx_emit_taken(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_active(struct insn_place *a, uint32_t word, uint32_t i);

/* operands_named.c */
void ptx_emit_register(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_mark(struct insn_place *a, uint32_t word, uint32_t i);

#endif
