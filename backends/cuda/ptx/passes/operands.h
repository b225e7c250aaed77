/* SPDX-License-Identifier: Apache-2.0 */
/* Private to insn_probe.c and its parts: emits code that puts each operand word of a place into a register. */
#ifndef GPUBPF_BACKENDS_CUDA_PTX_OPERANDS_H
#define GPUBPF_BACKENDS_CUDA_PTX_OPERANDS_H

#include "backends/cuda/ptx/analysis/access.h"
#include "backends/cuda/ptx/analysis/control.h"
#include "edit.h"

/* registers of the PTX block around the instruction, as printf formats */
#define PTX_OPERAND "%" CUDA_OPERAND      /* PTX_OPERAND "%u": a word */
#define PTX_AT "%%gpubpf_at"           /* the address in its state space */
#define PTX_ACTIVE "%%gpubpf_active"   /* the active mask */

/* the place whose code is emitted */
struct insn_place {
	struct ptx_splice *in;
	struct ptx_text text;
	const struct ptx_site *at;
	const struct gpubpf_place_kind *kind;
	struct ptx_access access;     /* the access, at places of accesses; the address, at barriers that are objects in
				    * memory */
	struct ptx_control control;   /* at places of barriers and branches */
	bool has_address, has_active; /* PTX_AT, PTX_ACTIVE are set */
};

#define put(a, ...) ptx_addf(&(a)->text, &(a)->in->err, __VA_ARGS__)

/* insn_probe.c: returns the PTX line for refusals; sets a word to a constant. */
uint32_t ptx_line_of(const struct insn_place *a);
void ptx_emit_constant(struct insn_place *a, uint32_t word, uint64_t value);

/* The functions below put element i of a field into a word's register. operands_memory.c */
void ptx_need_address(struct insn_place *a);
bool ptx_is_generic(const struct insn_place *a);
/* Returns the name of a space for isspacep. */
const char *ptx_isspacep_name(const struct insn_place *a, uint32_t space);
void ptx_check_constants(struct insn_place *a);
void ptx_emit_address(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_offset(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_space(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_access(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_count(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_hint(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_bytes(struct insn_place *a, uint32_t word, uint32_t i);
/* Returns true if the number of bytes is a constant of the place, equal in all lanes. */
bool ptx_has_constant_bytes(const struct insn_place *a);
void ptx_emit_value(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_rmw(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_operand(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_old(struct insn_place *a, uint32_t word, uint32_t i);

/* operands_control.c */
void ptx_emit_barrier(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_barrier_kind(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_lanes(struct insn_place *a, uint32_t word, uint32_t i);
/* Sets CUDA_TAKEN as a register of the place's block. */
void ptx_emit_taken_mask(struct insn_place *a);
void ptx_emit_taken(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_active(struct insn_place *a, uint32_t word, uint32_t i);

/* operands_named.c */
void ptx_emit_register(struct insn_place *a, uint32_t word, uint32_t i);
void ptx_emit_mark(struct insn_place *a, uint32_t word, uint32_t i);

#endif
