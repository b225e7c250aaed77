/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoded instruction, which every stage after loading reads. One entry stands for 8 bytes of the program. So an
 * index (a "pc") is the number that the kernel's verifier, llvm-objdump and .BTF.ext use. The second half of a 64-bit
 * immediate load is an entry of kind GPUBPF_INSN_HI.
 */
#ifndef GPUBPF_CORE_INSN_H
#define GPUBPF_CORE_INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpubpf_arena;
struct gpubpf_diag;

enum gpubpf_reg {
	GPUBPF_R0,
	GPUBPF_R1,
	GPUBPF_R2,
	GPUBPF_R3,
	GPUBPF_R4,
	GPUBPF_R5,
	GPUBPF_R6,
	GPUBPF_R7,
	GPUBPF_R8,
	GPUBPF_R9,
	GPUBPF_R10,
	GPUBPF_NREGS,
};

#define GPUBPF_STACK_SIZE 512  /* bytes of stack per frame, as in the kernel */
#define GPUBPF_MAX_FRAMES 8    /* depth of calls between sub-programs, as in the kernel */
#define GPUBPF_STACK_ROWS (2 * GPUBPF_MAX_FRAMES) /* the frames, and one more per frame for a key of
						   * bpf_for_each_map_elem(): core/model/facts.h */
#define GPUBPF_MAX_INSNS 1000000
#define GPUBPF_LOOP_MAX (8u << 20) /* maximum iterations of bpf_loop(), as the kernel's BPF_MAX_LOOPS */

enum gpubpf_insn_kind {
	GPUBPF_INSN_ALU,        /* dst = dst op (src or imm) */
	GPUBPF_INSN_LOAD,       /* dst = *(width *)(src + off) */
	GPUBPF_INSN_STORE,      /* *(width *)(dst + off) = src or imm */
	GPUBPF_INSN_ATOMIC,     /* atomic op on *(width *)(dst + off) with src */
	GPUBPF_INSN_JUMP,       /* goto target */
	GPUBPF_INSN_JCOND,      /* if (dst op (src or imm)) goto target */
	GPUBPF_INSN_CALL,       /* call helper number imm */
	GPUBPF_INSN_CALL_LOCAL, /* call the sub-program that begins at target */
	GPUBPF_INSN_EXIT,
	GPUBPF_INSN_IMM64, /* dst = imm64, or the value that imm_kind specifies; takes two entries */
	GPUBPF_INSN_HI,    /* second half of IMM64; never a target */
};

/* op of ALU, JCOND and ATOMIC; the values are dense and begin at 0 in each list */
enum gpubpf_alu_op {
#define GPUBPF_ALU(name, code, mnemonic, meaning) GPUBPF_##name,
#include "opcodes.def"
	GPUBPF_NALU,
};
enum gpubpf_jmp_op {
#define GPUBPF_JMP(name, code, mnemonic, predicate) GPUBPF_##name,
#include "opcodes.def"
	GPUBPF_NJMP,
};
enum gpubpf_atomic_op {
#define GPUBPF_ATOMIC(name, imm, mnemonic, meaning) GPUBPF_##name,
#include "opcodes.def"
	GPUBPF_NATOMIC,
};

/* meaning of a 64-bit immediate load (RFC 9669 5.4), with the numbers of the src field */
enum gpubpf_imm_kind {
	GPUBPF_IMM_CONST = 0,     /* imm64 */
	GPUBPF_IMM_MAP = 1,       /* maps[imm] of the program's unit: a map pointer */
	GPUBPF_IMM_MAP_VALUE = 2, /* address of byte imm64 of the only value of maps[imm] (global data) */
	GPUBPF_IMM_FUNC = 4,      /* sub-program that begins at target: a callback */
	GPUBPF_IMM_STACK = 16,    /* r10 of the first frame, as in imm64. No object contains this kind: loading
				   * inserts it (core/load/tail.c) */
};

struct gpubpf_insn {
	uint8_t kind;  /* enum gpubpf_insn_kind */
	uint8_t op;    /* enum gpubpf_{alu,jmp,atomic}_op by kind; imm_kind for IMM64 */
	uint8_t width; /* operand size in bytes. ALU and JCOND: 4 or 8; memory and atomics: 1, 2, 4, 8; END: bits
			   * / 8 */
	uint8_t dst;   /* enum gpubpf_reg */
	uint8_t src;   /* enum gpubpf_reg */
	bool reg;      /* the source is the register src, not imm */
	bool sext;     /* LOAD: sign-extending */
	uint8_t ext;   /* MOVSX: source width in bits. END: 'l' converts to little endian, 'b' to big endian, 's'
			   * swaps (bswap) */
	int16_t off;   /* LOAD, STORE, ATOMIC: displacement in bytes */
	bool ordered;  /* a LOAD acquires, a STORE releases; aligned to its width */
	int32_t imm;
	uint32_t target; /* JUMP, JCOND, CALL_LOCAL, IMM_FUNC: target pc */
	int64_t imm64;   /* IMM64; for a map value the byte offset into it */
};

/* the on-disk form. Equals struct bpf_insn of <linux/bpf.h>, little-endian */
struct gpubpf_raw_insn {
	uint8_t code;
	uint8_t regs; /* dst in bits 0-3, src in bits 4-7 */
	int16_t off;
	int32_t imm;
};

/*
 * Decodes n instructions into out[n] and checks each against the encoding rules of RFC 9669. It refuses unknown
 * opcodes, reserved fields that are not zero, and jumps that leave the program or land in the second half of a 64-bit
 * load. Maps stay as in the file: imm holds the src==1/2 immediate, and the caller resolves it to an index. Returns 0,
 * or -EINVAL with the pc and the rule in diag.
 */
int gpubpf_insn_decode(const struct gpubpf_raw_insn *raw, size_t n, struct gpubpf_insn *out, struct gpubpf_diag *diag);

/*
 * Formats one instruction as the kernel's verifier log does, for example "r1 = *(u32 *)(r10 -4)". Returns as
 * snprintf().
 */
int gpubpf_insn_format(const struct gpubpf_insn *insn, uint32_t pc, char *buf, size_t size);

#endif
