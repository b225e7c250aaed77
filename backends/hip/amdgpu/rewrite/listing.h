/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Assembles a twin's code, from the text that stub.c writes to bytes. LLVM assembles each distinct instruction once.
 * Nearly all instructions repeat, and their bytes are copied here. Branches are encoded here too, because only here are
 * their distances known.
 *
 * The text has these lines:
 *   NAME: a label.
 *   .long WORD: the word of an instruction, verbatim.
 *   .branch WORD LABEL: a branch, a word whose lower half becomes the distance to the label.
 *   .p2align 8: the next item is aligned to 256 bytes.
 *   .pool: control does not reach this point, so islands may be inserted.
 *   INSTRUCTION: its s_branch, s_cbranch_* and s_call_b64 go to a label.
 * Every line except a label begins with a tab.
 *
 * An island is an s_branch in a pool. A branch whose label is further away than the draft's `reach` goes to an island
 * on the way. The island goes to the label, or to the next island. It changes no register, so it can be between any
 * branch and its label.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_LISTING_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_LISTING_H

#include "stub.h"

#define HIP_NONE UINT32_MAX

/* distinct strings, by their index */
struct hip_strings {
	struct hip_string {
		const char *s; /* points into the text of hip_stub_write(), not terminated */
		uint32_t length;
		uint32_t at, size; /* an instruction: offset and size of its bytes in `code`. A label: its
					    * offset in the twin, HIP_NONE if undefined */
		uint32_t islands;  /* a label's first island, or HIP_NONE */
	} *list;
	uint32_t n, room, *slots, nslots;
};

/* JUMP: a branch whose instruction is not assembled yet */
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
	uint32_t what;  /* index of the instruction (INSN, LITERAL, JUMP) or pool (POOL), or the word (WORD,
				    * BRANCH) */
	uint32_t label; /* the label (JUMP, BRANCH, LABEL) or the instruction's last word (LITERAL) */
	uint32_t at;
	uint32_t via; /* BRANCH: the island to which it goes, HIP_NONE for the label */
};

struct hip_island {
	uint32_t pool, slot, label, via;
	uint32_t next; /* the next island for the same label, or HIP_NONE */
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
/* Lays out all items so that all branches reach, and writes the bytes. Returns 0, -ENOMEM, or -EINVAL if a branch
 * cannot reach. */
int hip_listing_place(struct hip_listing *l, struct gpubpf_diag *diag);
/* Returns a label's offset, or HIP_NONE if there is no such label. */
uint32_t hip_listing_find(const struct hip_listing *l, const char *name);
/* Writes the bytes as a relocatable object, with the twin's descriptor, and the labels that the linker needs as
 * symbols. */
int hip_listing_write(const struct hip_listing *l, struct gpubpf_blob *object);

#endif
