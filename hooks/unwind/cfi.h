/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.c: reads .eh_frame to find where a function has saved its caller's registers, for a code address in the function
 * (DWARF 5, 6.4; Linux Standard Base, 10.6). It covers the callee-saved registers of x86-64. Every read stays inside
 * the memory range that the caller passes.
 */
#ifndef GPUBPF_HOOKS_CFI_H
#define GPUBPF_HOOKS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CFI_RBX, CFI_RBP, CFI_R12, CFI_R13, CFI_R14, CFI_R15, CFI_RETURN, CFI_REGISTERS, CFI_RSP };

struct cfi_where {
	/*
	 * Where a register is saved: in the register, not recoverable, in memory at CFA + offset, or in memory at
	 * register `base` + offset.
	 */
	enum { CFI_SAME, CFI_LOST, CFI_AT_CFA, CFI_AT_REGISTER } how;
	uint8_t base; /* base register of CFI_AT_REGISTER */
	int32_t offset;
};

/*
 * How to restore the caller's frame. The canonical frame address (CFA) is base + offset. If `loaded` is true, the CFA
 * is the memory word at base + offset.
 */
struct cfi_row {
	uint8_t base; /* CFI_RSP, or a register number below CFI_RETURN */
	bool loaded;
	int32_t offset;
	struct cfi_where reg[CFI_REGISTERS];
};

/* readable mapped memory */
struct cfi_range {
	uint64_t from, to;
};

/*
 * Find the row of code address `place` in the table (.eh_frame_hdr) at `header`. All reads stay inside the range.
 * Returns false if the table does not cover the address, or uses an encoding that is not supported.
 */
bool cfi_find(struct cfi_range range, uint64_t header, uint64_t place, struct cfi_row *row);

#endif
