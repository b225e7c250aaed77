/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks dynptrs (helpers 197 to 203), with the rules of the Linux kernel (kernel/bpf/verifier.c).
 *
 * A dynptr is 16 bytes of the stack, two slots of kind B_DYNPTR. The register of each slot has the type R_DYNPTR. A
 * dynptr of a ring holds a reference from its reserve to its submit or discard, also if the reserve failed. A store to a
 * dynptr of a map value ends that dynptr. Memory from bpf_dynptr_data() ends with its dynptr.
 */
#include "core/verify/verify.h"

#define BYTES 16
#define UPPER_HALF 1

/* The slot at `off` is a half of a dynptr. Returns the offset of the lower half. */
static int get_begin(const struct stack_slot *slot, int off)
{
	return (off & ~7) - (slot->reg.size == UPPER_HALF ? 8 : 0);
}

static bool has_record(const struct verifier *v, const struct stack_slot *slot)
{
	return reg_map(v, &slot->reg)->type->ops & GPUBPF_OP_BIT(GPUBPF_OP_RESERVE_DYNPTR);
}

/* Ends the dynptr at `begin`: its bytes become unreadable, and so do the pointers into its memory. */
static int end_dynptr(struct verifier *v, struct frame *f, int begin)
{
	uint32_t ref = slot_of(f, begin)->reg.ref;

	for (int b = begin; b < begin + BYTES; b++)
		slot_of(f, b)->kind[b & 7] = B_INVALID;
	return ref_release(v, ref);
}

int dynptr_overwrite(struct verifier *v, struct frame *f, int lo, int end)
{
	for (int b = lo; b < end; b++) {
		struct stack_slot *slot = slot_of(f, b);

		if (slot->kind[b & 7] != B_DYNPTR)
			continue;
		mark_precise(v, slot->read);
		if (has_record(v, slot))
			return refuse(v, GPUBPF_E_DYNPTR,
				      "overwrites the dynptr at r10%+d, which is not submitted or discarded",
				      get_begin(slot, b));
		end_dynptr(v, f, get_begin(slot, b));
	}
	return 0;
}

static int check_existing(struct verifier *v, const struct gpubpf_helper *h, int i, const struct frame *f, int off)
{
	const struct stack_slot *slot = slot_of(f, off);

	if (slot->kind[0] != B_DYNPTR || get_begin(slot, off) != off)
		return refuse(v, GPUBPF_E_DYNPTR, "passes r10%+d to %s, which is not a dynptr", off, h->name);
	mark_precise(v, slot->read);
	mark_precise(v, slot_of(f, off + 8)->read);
	if (h->arg[i] == GPUBPF_ARG_DYNPTR_RECORD && !has_record(v, slot))
		return refuse(v, GPUBPF_E_DYNPTR, "passes a dynptr of map %s, which is not a ring, to %s",
			      reg_map(v, &slot->reg)->name, h->name);
	return 0;
}

int dynptr_check_arg(struct verifier *v, const struct gpubpf_helper *h, int i)
{
	struct gpubpf_access a = { .align = 8, .map = GPUBPF_NO_MAP, .size_min = BYTES };
	const struct reg p = cur_regs(v)[GPUBPF_R1 + i];
	int off = p.off + (int)p.s.w64.smin, err;

	if (p.type != R_STACK || !scalar_is_const(&p.s))
		return refuse(v, GPUBPF_E_HELPER_ARG,
			      "passes %s to %s, which requires a dynptr at a constant place of the stack",
			      type_name(&p), h->name);
	if (off % 8)
		return refuse(v, GPUBPF_E_MISALIGNED, "passes a dynptr at r10%+d to %s, which is not a multiple of 8",
			      off, h->name);
	err = stack_reach(v, &p, BYTES, &a);
	if (err >= 0 && h->arg[i] == GPUBPF_ARG_DYNPTR_NEW)
		err = stack_helper(v, &p, BYTES, true, h->name, &a);
	else if (err >= 0)
		err = check_existing(v, h, i, v->cur->frame[p.frame], off);
	if (err < 0)
		return err;
	a.size_min = BYTES;
	facts_arg(v, i, &a);
	return 0;
}

static uint8_t get_common_align(const struct reg *p, uint8_t align)
{
	struct tnum t = tnum_add(p->s.var, tnum_const((uint64_t)(int64_t)p->off));

	while (align > 1 && !tnum_is_aligned(t, align))
		align /= 2;
	return align;
}

int dynptr_begin(struct verifier *v, const struct reg *at, const struct reg *data, int map)
{
	struct frame *f = v->cur->frame[at->frame];
	int off = at->off + (int)at->s.w64.smin, err = 0;
	uint32_t ref = 0;

	if (data)
		ref = new_id(v);
	else
		err = ref_acquire(v, &ref);
	for (int half = 0; half < 2; half++) {
		struct stack_slot *slot = slot_of(f, off + 8 * half);

		for (int k = 0; k < 8; k++)
			slot->kind[k] = B_DYNPTR;
		reg_const(&slot->reg, 0);
		slot->reg.type = R_DYNPTR;
		slot->reg.ref = ref;
		slot->reg.map = (int16_t)map;
		slot->reg.size = half ? UPPER_HALF : 0;
		slot->reg.frame = data ? get_common_align(data, 8) : 8;
		slot->read = 0;
	}
	return err;
}

int dynptr_end(struct verifier *v, const struct reg *at)
{
	return end_dynptr(v, v->cur->frame[at->frame], at->off + (int)at->s.w64.smin);
}

int dynptr_slice(struct verifier *v, const struct reg *at, const struct reg *offset, uint64_t size, struct reg *r0)
{
	const struct reg dynptr = slot_of(v->cur->frame[at->frame], at->off + (int)at->s.w64.smin)->reg;
	uint8_t align = get_common_align(offset, dynptr.frame);

	if (size >= MAX_OFFSET)
		return refuse(v, GPUBPF_E_HELPER_ARG, "requests %llu bytes of dynptr_data; the limit is %d bytes",
			      (unsigned long long)size, MAX_OFFSET - 1);
	mark_reg(v, offset);
	reg_const(r0, 0);
	r0->type = R_MEM;
	r0->map = dynptr.map;
	r0->ref = dynptr.ref;
	r0->frame = align;
	r0->size = (uint32_t)size;
	r0->or_null = true;
	r0->id = new_id(v);
	return 0;
}
