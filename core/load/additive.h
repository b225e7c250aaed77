/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between additive.c and additive_flow.c. */
#ifndef GPUBPF_LOAD_ADDITIVE_H
#define GPUBPF_LOAD_ADDITIVE_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/bpf.h>

#define ADDITIVE_REGISTERS 11
#define ADDITIVE_SLOTS 64 /* words of the stack */

/* how the content of a register or stack slot depends on the value that the program looked up */
enum part {
	PART_NONE,
	PART_POINTER, /* the value's address, or NULL */
	PART_VALUE,   /* the value */
	PART_SUM,     /* the value plus other numbers */
	/* any number where the look-up found no value: the missing value is 0, so the number may count as a sum */
	PART_EITHER,
	PART_OTHER,
};

struct additive_state {
	bool on_path, reached, missing; /* missing: the look-up found no value on every path to this point */
	uint8_t part[ADDITIVE_REGISTERS];
	uint8_t slot[ADDITIVE_SLOTS]; /* slot i is at r10 - 8 * (i + 1) */
};

/* The instructions on the paths from `lookup` to `end`. Each path to `end` passes the look-up. */
struct additive_flow {
	const struct bpf_insn *insns;
	uint32_t n, lookup, end;
	int32_t key, key_size;        /* bytes of the stack that hold the key */
	bool compares;                /* jumps may compare the value with numbers */
	uint32_t load;                /* result: the only instruction that loads the value, or 0 */
	struct additive_state *state; /* [n + 1] state before each instruction on these paths */
};

/*
 * Computes the states of the flow. Returns false if an instruction could change the key, or uses the value in another way
 * than by additions, or if memory runs out. The caller frees flow->state in each case.
 */
bool additive_follow(struct additive_flow *flow);
/* Returns true if the jump at `at` continues at `to` if the look-up found no value. */
bool additive_shows_missing(const struct additive_flow *flow, uint32_t at, uint32_t to);
static inline bool additive_is_second_half(const struct bpf_insn *insns, uint32_t i)
{
	return i && insns[i - 1].code == (BPF_LD | BPF_IMM | BPF_DW);
}
/* Returns true if the instruction is a jump and not a call or exit. Stores the target's index in *to. */
bool additive_jump(const struct bpf_insn *insns, uint32_t at, int64_t *to);

#endif
