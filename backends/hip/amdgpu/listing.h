/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of a twin, from the text that stub.c writes to bytes. LLVM assembles each different instruction once; what repeats,
 * which is nearly all, is put together here, and so are branches, as only here it is known how far they go.
 *
 * A line of the text is
 *   NAME:                  a label
 *   \t.long WORD           an instruction's word, as it is
 *   \t.branch WORD LABEL   a branch: a word whose lower half becomes the distance to the label
 *   \t.p2align 8           what follows lies at a multiple of 256 bytes
 *   \t.pool                control does not come here: islands may be here
 *   \tINSTRUCTION          in which s_branch, s_cbranch_* and s_call_b64 go to a label
 *
 * An island is an s_branch in a pool: a branch whose label is further away than the draft's `reach` goes to one on the way there,
 * which goes to the label, or to the next one. It changes no register, so it can be between any branch and its label.
 */
#ifndef GPUBPF_BACKENDS_HIP_AMDGPU_LISTING_H
#define GPUBPF_BACKENDS_HIP_AMDGPU_LISTING_H

#include "stub.h"

#define HIP_NONE UINT32_MAX

/* different strings, by their numbers */
struct hip_strings {
	struct hip_string {
		const char *s;             /* in the text */
		uint32_t length;
		uint32_t at, size;         /* an instruction's bytes, among all of them; a label's place, HIP_NONE: it is nowhere */
		uint32_t islands;          /* a label's first; HIP_NONE: it has none */
	} *list;
	uint32_t n, room, *slots, nslots;
};

/* JUMP: a branch whose instruction is still to be assembled */
enum hip_item_kind {
	HIP_ITEM_INSN, HIP_ITEM_LITERAL, HIP_ITEM_WORD, HIP_ITEM_JUMP, HIP_ITEM_BRANCH, HIP_ITEM_LABEL, HIP_ITEM_POOL, HIP_ITEM_ALIGN,
};

struct hip_item {
	enum hip_item_kind kind;
	uint32_t what;             /* INSN, LITERAL, JUMP: the instruction's number; WORD, BRANCH: the word; POOL: its number */
	uint32_t label;            /* JUMP, BRANCH, LABEL; LITERAL: the instruction's last word */
	uint32_t at;
	uint32_t via;              /* BRANCH: the island that it goes to; HIP_NONE: the label */
};

struct hip_island {
	uint32_t pool, slot, label, via;
	uint32_t next;             /* of the same label; HIP_NONE: none is */
};

struct hip_pool {
	uint32_t at, n;            /* n: islands */
};

struct hip_listing {
	const struct hip_draft *draft;
	struct hip_strings insns, labels;
	struct hip_item *items;
	struct hip_pool *pools;
	struct hip_island *islands;
	uint32_t nitems, room, npools, nislands;
	uint8_t *code;             /* of the different instructions, one behind the other */
	uint32_t code_size;
	uint8_t *bytes;            /* of the twin */
	uint32_t size;
};

int hip_listing_read(const struct hip_draft *draft, const struct gpubpf_blob *text, struct hip_listing *l, struct gpubpf_diag *diag);
void hip_listing_finish(struct hip_listing *l);
/* Where everything lies, so that all branches reach; its bytes. -EINVAL: some do not. */
int hip_listing_place(struct hip_listing *l, struct gpubpf_diag *diag);
/* A label's place; HIP_NONE: there is none of this name. */
uint32_t hip_listing_find(const struct hip_listing *l, const char *name);
/* The bytes as a relocatable object, with the twin's descriptor, and the labels that the linker needs as symbols. */
int hip_listing_write(const struct hip_listing *l, struct gpubpf_blob *object);

#endif
