/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembles a twin's code, from the text that stub.c writes to bytes. Nearly all instructions occur many times. So LLVM
 * assembles each distinct instruction once, and this code copies the bytes. It also encodes the branches, because it
 * determines their distances.
 *
 * The text has these lines. Every line except a label begins with a tab.
 *   `NAME`: a label.
 *   `.long WORD`: one word of an instruction.
 *   `.branch WORD LABEL`: a branch. The lower 16 bits of WORD are replaced by the distance to the label.
 *   `.p2align 8`: the next item is aligned to 256 bytes.
 *   `.pool`: control does not reach this point, so islands may be inserted.
 *   `INSTRUCTION`: an instruction. The target of s_branch, s_cbranch_* and s_call_b64 is a label.
 *
 * An island is an s_branch in a pool. If a label is out of a branch's range (draft->reach), the branch goes to an
 * island in between. The island goes to the label, or to the next island. An island changes no register, so it can be
 * inserted between any branch and its label.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_LISTING_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_LISTING_H

#include "stub.h"

#define HIP_NONE UINT32_MAX

/* A set of distinct strings. A string is identified by its index in the list. */
struct hip_strings {
	struct hip_string {
		const char *s; /* points into the text of hip_stub_write(), not NUL-terminated */
		uint32_t length;
		/* an instruction: offset and size in hip_listing.code, in bytes. A label: offset in the twin, HIP_NONE
		 * if undefined. */
		uint32_t at, size;
		uint32_t islands; /* a label: index of its first island, or HIP_NONE */
	} *list;
	uint32_t n, room, *slots, nslots;
};

/* JUMP: a branch whose mnemonic is not assembled yet. It becomes a BRANCH. */
enum hip_item_kind {
	HIP_ITEM_INSN,
	HIP_ITEM_LITERAL,
	HIP_ITEM_WORD,
	HIP_ITEM_JUMP,
	HIP_ITEM_BRANCH,
	HIP_ITEM_LABEL,
	HIP_ITEM_POOL,
	HIP_ITEM_ALIGN,
};

struct hip_item {
	enum hip_item_kind kind;
	/* index of the instruction (INSN, LITERAL, JUMP) or of the pool (POOL), or the word (WORD, BRANCH) */
	uint32_t what;
	uint32_t label; /* index of the label (JUMP, BRANCH, LABEL), or the instruction's last word (LITERAL) */
	uint32_t at;
	uint32_t via; /* of a BRANCH: index of the island that it goes to, or HIP_NONE if it goes to the label */
};

struct hip_island {
	uint32_t pool, slot, label, via;
	uint32_t next; /* index of the next island for the same label, or HIP_NONE */
};

struct hip_pool {
	uint32_t at, n; /* offset in the twin; number of islands */
};

struct hip_listing {
	const struct hip_draft *draft;
	struct hip_strings insns, labels;
	struct hip_item *items;
	struct hip_pool *pools;
	struct hip_island *islands;
	uint32_t nitems, room, npools, nislands;
	uint8_t *code; /* bytes of the distinct instructions, concatenated */
	uint32_t code_size;
	uint8_t *bytes; /* bytes of the twin's code */
	uint32_t size;
};

int hip_listing_read(const struct hip_draft *draft, const struct gpubpf_blob *text, struct hip_listing *l,
		     struct gpubpf_diag *diag);
void hip_listing_finish(struct hip_listing *l);
/* Assigns an offset to every item so that all branches reach their targets, and sets l->bytes. Returns 0, -ENOMEM, or
 * -EINVAL if some branch cannot reach its target. */
int hip_listing_place(struct hip_listing *l, struct gpubpf_diag *diag);
/* Returns a label's offset, or HIP_NONE if there is no such label. */
uint32_t hip_listing_find(const struct hip_listing *l, const char *name);
/* Writes the bytes as a relocatable object, with the twin's descriptor. Labels that the linker needs become symbols. */
int hip_listing_write(const struct hip_listing *l, struct gpubpf_blob *object);

#endif
