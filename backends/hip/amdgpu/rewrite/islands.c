/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does: assigns offsets to the items of a listing, inserts islands (listing.h) for branches out of range, and encodes
 * the bytes.
 * Before: the size of each item is known, but no offset.
 * After: the members `via` of items and islands, the pools and the bytes are set. Every branch reaches its target.
 * Requires: a listing from hip_listing_read().
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/model/diag.h"
#include "listing.h"

#define MAX_ROUNDS 64 /* limit of layout passes; each new island can move other branches out of range */
#define ALIGN_BYTES 256

static uint32_t get_item_size(const struct hip_listing *l, const struct hip_item *item)
{
	switch (item->kind) {
	case HIP_ITEM_INSN:
	case HIP_ITEM_LITERAL:
		return l->insns.list[item->what].size;
	case HIP_ITEM_WORD:
	case HIP_ITEM_BRANCH:
		return 4;
	case HIP_ITEM_POOL:
		return 4 * l->pools[item->what].n;
	case HIP_ITEM_ALIGN:
		return -item->at & (ALIGN_BYTES - 1);
	default:
		return 0;
	}
}

static void lay_out(struct hip_listing *l)
{
	l->size = 0;
	for (uint32_t i = 0; i < l->nitems; i++) {
		struct hip_item *item = &l->items[i];

		item->at = l->size;
		if (item->kind == HIP_ITEM_LABEL)
			l->labels.list[item->label].at = item->at;
		else if (item->kind == HIP_ITEM_POOL)
			l->pools[item->what].at = item->at;
		l->size += get_item_size(l, item);
	}
}

static bool reaches(const struct hip_listing *l, uint32_t from, uint32_t to)
{
	return (from < to ? to - from : from - to) <= l->draft->reach;
}

static uint32_t get_island(const struct hip_listing *l, uint32_t island)
{
	return l->pools[l->islands[island].pool].at + 4 * l->islands[island].slot;
}

/* Returns the offset that a branch goes to: the island `via`, or the label if `via` is HIP_NONE. */
static uint32_t branch_goal(const struct hip_listing *l, uint32_t label, uint32_t via)
{
	return via == HIP_NONE ? l->labels.list[label].at : get_island(l, via);
}

/* Returns the pool closest to the target that a branch at `from` reaches, or HIP_NONE. The range has a margin, because
 * pools may still grow. */
static uint32_t find_pool(const struct hip_listing *l, uint32_t from, uint32_t to)
{
	uint32_t most = l->draft->reach - l->draft->reach / 16, low = 0, high = l->npools;
	bool forward = to > from;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2, begin = l->pools[middle].at,
			 end = begin + 4 * l->pools[middle].n;

		if (forward ? end <= from + most : begin + most < from)
			low = middle + 1;
		else
			high = middle;
	}
	if (forward) /* low is the first pool out of range */
		return low && l->pools[low - 1].at > from ? low - 1 : HIP_NONE;
	return low < l->npools && l->pools[low].at + 4 * l->pools[low].n <= from ? low : HIP_NONE;
}

static int add_island(struct hip_listing *l, uint32_t pool, uint32_t label, uint32_t *island)
{
	struct hip_string *of = &l->labels.list[label];
	struct hip_island *grown;

	if (!(l->nislands & (l->nislands - 1))) { /* double the capacity if the count is a power of two */
		grown = realloc(l->islands, (l->nislands ? 2 * l->nislands : 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		l->islands = grown;
	}
	*island = l->nislands++;
	l->islands[*island] = (struct hip_island){ pool, l->pools[pool].n++, label, HIP_NONE, of->islands };
	of->islands = *island;
	return 0;
}

/* Finds or adds an island that a branch at `from` reaches and that leads to the label. Returns 0, -ENOMEM, or -ERANGE
 * if no pool is in range. */
static int find_island(struct hip_listing *l, uint32_t from, uint32_t label, uint32_t *island)
{
	const struct hip_string *of = &l->labels.list[label];
	uint32_t pool = find_pool(l, from, of->at);

	if (pool == HIP_NONE)
		return -ERANGE;
	for (uint32_t i = of->islands; i != HIP_NONE; i = l->islands[i].next)
		if (l->islands[i].pool == pool) {
			*island = i;
			return 0;
		}
	return add_island(l, pool, label, island);
}

/* Checks that a branch at `from` reaches its label, or its island *via. If not, chooses another island. Returns 1 if
 * *via changed, 0 if not, or a negative error. */
static int route_branch(struct hip_listing *l, uint32_t from, uint32_t label, uint32_t *via)
{
	if (l->labels.list[label].at == HIP_NONE)
		return -ENOENT;
	if (reaches(l, from, branch_goal(l, label, *via)))
		return 0;
	*via = HIP_NONE;
	return reaches(l, from, l->labels.list[label].at) ? 1 : find_island(l, from, label, via) ?: 1;
}

static int refuse(const struct hip_listing *l, uint32_t label, int err, struct gpubpf_diag *diag)
{
	const struct hip_string *to = &l->labels.list[label];

	if (err == -ENOMEM)
		return err;
	return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
			       err == -ENOENT ?
				       "a branch goes to the middle of a replaced instruction (%.*s)" :
				       "its code with probes is too large: no point between a branch and its target %.*s "
				       "is in range for an intermediate branch; probe fewer places",
			       (int)to->length, to->s);
}

/* Checks all branches and islands, and chooses other islands where needed. Returns 1 if any changed, 0 if not, or a
 * negative error. */
static int route_branches(struct hip_listing *l, struct gpubpf_diag *diag)
{
	int err = 0, changed = 0;

	for (uint32_t i = 0; err >= 0 && i < l->nitems; i++)
		if (l->items[i].kind == HIP_ITEM_BRANCH) {
			err = route_branch(l, l->items[i].at, l->items[i].label, &l->items[i].via);
			changed |= err;
			if (err < 0)
				return refuse(l, l->items[i].label, err, diag);
		}
	for (uint32_t i = 0; i < l->nislands; i++) {
		uint32_t via = l->islands[i].via;

		err = route_branch(l, get_island(l, i), l->islands[i].label, &via);
		l->islands[i].via = via; /* not &l->islands[i].via above: route_branch() may reallocate the list */
		changed |= err;
		if (err < 0)
			return refuse(l, l->islands[i].label, err, diag);
	}
	return changed;
}

/* Writes a branch at offset `at` to offset `to`. The distance in the low 16 bits counts words from the next
 * instruction. */
static void write_branch(struct hip_listing *l, uint32_t at, uint32_t word, uint32_t to)
{
	word = (word & 0xffff0000) | (uint16_t)(((int64_t)to - at - 4) / 4);
	memcpy(l->bytes + at, &word, sizeof(word));
}

static void write_item(struct hip_listing *l, const struct hip_item *item)
{
	const struct hip_string *insn;

	switch (item->kind) {
	case HIP_ITEM_INSN:
		insn = &l->insns.list[item->what];
		memcpy(l->bytes + item->at, l->code + insn->at, insn->size);
		break;
	case HIP_ITEM_LITERAL:
		insn = &l->insns.list[item->what];
		memcpy(l->bytes + item->at, l->code + insn->at, insn->size);
		memcpy(l->bytes + item->at + insn->size - 4, &item->label, 4);
		break;
	case HIP_ITEM_WORD:
		memcpy(l->bytes + item->at, &item->what, 4);
		break;
	case HIP_ITEM_BRANCH:
		write_branch(l, item->at, item->what, branch_goal(l, item->label, item->via));
		break;
	case HIP_ITEM_ALIGN:
		for (uint32_t off = 0; off < get_item_size(l, item); off += 4)
			memcpy(l->bytes + item->at + off, &l->draft->isa->nop, 4);
		break;
	default:
		break;
	}
}

static int write_bytes(struct hip_listing *l)
{
	l->bytes = malloc(l->size + 4);
	if (!l->bytes)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->nitems; i++)
		write_item(l, &l->items[i]);
	for (uint32_t i = 0; i < l->nislands; i++)
		write_branch(l, get_island(l, i), l->draft->isa->branch,
			     branch_goal(l, l->islands[i].label, l->islands[i].via));
	return 0;
}

int hip_listing_place(struct hip_listing *l, struct gpubpf_diag *diag)
{
	int changed = 1;

	for (uint32_t round = 0; changed > 0 && round < MAX_ROUNDS; round++) {
		lay_out(l);
		changed = route_branches(l, diag);
	}
	if (changed > 0)
		return gpubpf_diag_set(diag, GPUBPF_E_INJECT, GPUBPF_NOPC,
				       "its code with probes is too large: the layout of its branches does not converge; "
				       "probe fewer places");
	return changed < 0 ? changed : write_bytes(l);
}
