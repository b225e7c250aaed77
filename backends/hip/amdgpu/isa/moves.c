/* SPDX-License-Identifier: Apache-2.0 */
/* Encodings are from the CDNA2 ISA guide, "VOP3P" and "VOP1". */
#include "moves.h"

#include <string.h>

#include "disassembler.h"

#define PK_MOV 0xd3b3       /* v_pk_mov_b32: upper 16 bits of the first word */
#define MOV 0x7e000200      /* v_mov_b32_e32: destination at bit 17, source at bit 0 */
#define VECTOR 256          /* source operands from this number on are vector registers */
#define CONSTANT 128        /* source operands from this number on are constants, which have no second half */

static uint32_t encode_move(uint32_t to, uint32_t from, uint32_t half)
{
	return MOV | to << 17 | (from < CONSTANT ? from + half : from);
}

static void split_move(uint32_t words[2])
{
	uint32_t to = words[0] & 0xff, low = words[1] & 0x1ff, high = words[1] >> 9 & 0x1ff;
	uint32_t low_half = words[0] >> 11 & 1, high_half = words[0] >> 12 & 1;

	if (words[0] >> 16 != PK_MOV || low >= VECTOR || high >= VECTOR)
		return;
	words[0] = encode_move(to, low, low_half);
	words[1] = encode_move(to + 1, high, high_half);
}

void hip_split_moves(const struct hip_isa *isa, uint8_t *text, size_t size)
{
	LLVMDisasmContextRef disasm;
	uint32_t words[2];
	char line[256];
	size_t n;

	if (isa->family != HIP_GFX90A)
		return;
	disasm = hip_disassembler_create(isa, false);
	for (size_t at = 0; disasm && at < size; at += n) {
		n = LLVMDisasmInstruction(disasm, text + at, size - at, at, line, sizeof(line));
		if (n == sizeof(words)) {
			memcpy(words, text + at, n);
			split_move(words);
			memcpy(text + at, words, n);
		}
		n = n ? n : 4;
	}
	if (disasm)
		LLVMDisasmDispose(disasm);
}
