/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cfi.c: what .eh_frame says of a place in code (DWARF 5, 6.4; Linux Standard Base, 10.6): where the caller's registers are.
 * Of the registers of x86-64 those that calls preserve. Every byte is read inside the bounds that it is given.
 */
#ifndef GPUBPF_HOOKS_CFI_H
#define GPUBPF_HOOKS_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CFI_RBX, CFI_RBP, CFI_R12, CFI_R13, CFI_R14, CFI_R15, CFI_RETURN, CFI_REGISTERS, CFI_RSP };

struct cfi_where {
	enum { CFI_SAME, CFI_LOST, CFI_AT_CFA, CFI_AT_REGISTER } how; /* the same register; nowhere; in memory: at CFA or register + offset */
	uint8_t base;              /* of AT_REGISTER */
	int32_t offset;
};

/* The canonical frame address is a register's value and an offset, or what is in memory there. */
struct cfi_row {
	uint8_t base;              /* CFI_RSP, or below CFI_RETURN */
	bool loaded;
	int32_t offset;
	struct cfi_where reg[CFI_REGISTERS];
};

/* what is mapped to be read */
struct cfi_range {
	uint64_t from, to;
};

/* The row of the place, by the table (.eh_frame_hdr) at `header`; all that is read lies in the range. False: the table does not
 * have it, or says it in a way that is not read here. */
bool cfi_find(struct cfi_range range, uint64_t header, uint64_t place, struct cfi_row *row);

#endif
