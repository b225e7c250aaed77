/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The decoded instruction, which every stage after loading reads. One struct stands for 8 bytes of the program. So an
 * index (a "pc") is the number that the Linux kernel's verifier, llvm-objdump and .BTF.ext use. The second half of a
 * 64-bit immediate load has the kind GPUBPF_INSN_HI.
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

#define GPUBPF_STACK_SIZE 512  /* bytes of stack per frame, as in the Linux kernel */
#define GPUBPF_MAX_FRAMES 8    /* maximum depth of calls between sub-programs, as in the Linux kernel */
/* maximum number of frames: each frame of the call chain may have one key frame (core/model/facts.h) */
#define GPUBPF_STACK_ROWS (2 * GPUBPF_MAX_FRAMES)
#define GPUBPF_MAX_INSNS 1000000
/*
 * Maximum number of times that a call of a function executes may_goto without a jump. The Linux kernel has such a limit
 * too, of 2^23 or of a time. A thread of a GPU delays its warp, so the limit here is lower.
 */
#define GPUBPF_MAY_GOTO_MAX 8192
#define GPUBPF_LOOP_MAX (8u << 20) /* maximum iterations of bpf_loop(): BPF_MAX_LOOPS of the Linux kernel */

enum gpubpf_insn_kind {
	GPUBPF_INSN_ALU,    /* dst = dst op (src or imm) */
	GPUBPF_INSN_LOAD,   /* dst = *(width *)(src + off) */
	GPUBPF_INSN_STORE,  /* *(width *)(dst + off) = src or imm */
	GPUBPF_INSN_ATOMIC, /* atomic op on *(width *)(dst + off) with src */
	GPUBPF_INSN_JUMP,   /* goto target */
	/* if (dst op (src or imm)) goto target; the operation MAY_GOTO reads no register */
	GPUBPF_INSN_JCOND,
	GPUBPF_INSN_CALL,       /* call helper number imm */
	GPUBPF_INSN_CALL_LOCAL, /* call the sub-program that begins at target */
	GPUBPF_INSN_EXIT,
	/* dst = imm64, or the value that enum gpubpf_imm_kind specifies; followed by an entry of kind HI */
	GPUBPF_INSN_IMM64,
	GPUBPF_INSN_HI, /* second half of IMM64; never a jump target */
};

/* values of member `op` for ALU, JCOND and ATOMIC; each list begins at 0 and has no gaps */
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

/* the kinds of 64-bit immediate loads (RFC 9669 5.4), numbered like the src field */
enum gpubpf_imm_kind {
	GPUBPF_IMM_CONST = 0,     /* imm64 */
	GPUBPF_IMM_MAP = 1,       /* a map pointer: maps[imm] of the program's unit */
	GPUBPF_IMM_MAP_VALUE = 2, /* address of byte imm64 of the only value of maps[imm] (global data) */
	GPUBPF_IMM_FUNC = 4,      /* address of the sub-program that begins at target, for a callback */
	/* r10 of the first frame, in imm64. No object contains this kind; core/load/tail.c inserts it */
	GPUBPF_IMM_STACK = 16,
};

struct gpubpf_insn {
	uint8_t kind; /* enum gpubpf_insn_kind */
	uint8_t op;   /* enum gpubpf_alu_op, gpubpf_jmp_op or gpubpf_atomic_op; for IMM64 enum gpubpf_imm_kind */
	/* operand size in bytes: 4 or 8 for ALU and JCOND, 1, 2, 4 or 8 for memory, number of bits / 8 for END */
	uint8_t width;
	uint8_t dst; /* enum gpubpf_reg */
	uint8_t src; /* enum gpubpf_reg */
	bool reg;    /* the source is the register src, not imm */
	bool sext;   /* LOAD: sign-extending */
	/* MOVSX: source width in bits. END: 'l' for little endian, 'b' for big endian, 's' for bswap */
	uint8_t ext;
	int16_t off;  /* LOAD, STORE, ATOMIC: displacement in bytes */
	bool ordered; /* load-acquire or store-release; the address is aligned to the width */
	int32_t imm;
	uint32_t target; /* JUMP, JCOND, CALL_LOCAL, IMM_FUNC: pc of the target */
	int64_t imm64;   /* IMM64: the immediate; for a map value the byte offset in the value */
};

/* an encoded instruction as in an object file, equal to struct bpf_insn of <linux/bpf.h>; little-endian */
struct gpubpf_raw_insn {
	uint8_t code;
	uint8_t regs; /* destination register in bits 0 to 3, source register in bits 4 to 7 */
	int16_t off;
	int32_t imm;
};

/*
 * Decodes n instructions into out[n] and checks each by the encoding rules of RFC 9669. Refuses unknown opcodes,
 * reserved fields that are not zero, and jumps that leave the program or land in the second half of a 64-bit load. For
 * a map, imm stays as in the file; the caller replaces it by an index. Returns 0, or -EINVAL with the pc and the rule
 * in diag.
 */
int gpubpf_insn_decode(const struct gpubpf_raw_insn *raw, size_t n, struct gpubpf_insn *out, struct gpubpf_diag *diag);

/*
 * insn_codec.c: writes or reads an instruction (core/wire/fields.h). Repeats the checks of gpubpf_insn_decode(), because
 * a reader does not trust the sender. The program has `ninsns` instructions, and its unit `nmaps` maps.
 */
struct gpubpf_codec;
void gpubpf_codec_insn(struct gpubpf_codec *c, struct gpubpf_insn *insn, uint32_t ninsns, uint32_t nmaps);

/*
 * Formats one instruction like the Linux kernel's verifier log, for example "r1 = *(u32 *)(r10 -4)". Returns like
 * snprintf().
 */
int gpubpf_insn_format(const struct gpubpf_insn *insn, uint32_t pc, char *buf, size_t size);

#endif
