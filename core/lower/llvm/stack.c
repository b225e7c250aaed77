/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lowers the stack. The frames of a program form one sequence of bytes: first frame 0, last the frames that hold map
 * keys for callbacks. All bytes that one access may touch, at any of its offsets, belong to one segment. Each segment
 * becomes an array, so that LLVM can promote it separately. For example, a key that a helper reads from memory does not
 * force a spilled register into memory. If an access may be to any frame, the bytes of all frames at its offsets belong
 * to one segment. This needs facts.
 */
#include <errno.h>
#include <stdio.h>

#include "low.h"

#define NONE UINT16_MAX

struct cut {
	struct low_prog *p;
	uint32_t bytes;    /* number of bytes of all frames together */
	bool *used, *tied; /* used[i]: some access touches byte i. tied[i]: bytes i and i + 1 are in one segment. */
	int err;
};

static void refuse_outside(struct cut *cut, uint32_t pc, const struct gpubpf_access *a)
{
	cut->err = gpubpf_diag_set(cut->p->l->diag, GPUBPF_E_STACK_BOUNDS, pc,
				   "the facts place an access at offsets %d to %d, of %u bytes, outside of its stack frame",
				   a->off_min, a->off_max, a->size_max);
}

static void tie(struct cut *cut, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		cut->used[i] = true;
		if (i + 1 < end)
			cut->tied[i] = true;
	}
}

static void note_access(struct cut *cut, uint32_t pc, const struct gpubpf_access *a, bool own)
{
	int64_t first = (int64_t)a->off_min + GPUBPF_STACK_SIZE,
		end = (int64_t)a->off_max + GPUBPF_STACK_SIZE + a->size_max;
	bool mixed = a->spaces & ~(GPUBPF_SPACE_STACK | GPUBPF_SPACE_NULL);
	uint32_t frames = cut->p->stack.frames, called = frames - cut->p->prog->facts->keys;

	if (!(a->spaces & GPUBPF_SPACE_STACK) || a->size_max == 0)
		return;
	/* the access may also be to other memory, to which the offsets beyond the frame belong */
	if (mixed && end > GPUBPF_STACK_SIZE)
		end = GPUBPF_STACK_SIZE;
	if (a->off_max < a->off_min || first < 0 || end > GPUBPF_STACK_SIZE ||
	    (a->frame != GPUBPF_ANY_FRAME && a->frame >= frames)) {
		refuse_outside(cut, pc, a);
		return;
	}
	if (a->frame != GPUBPF_ANY_FRAME)
		tie(cut, a->frame * GPUBPF_STACK_SIZE + first, a->frame * GPUBPF_STACK_SIZE + end);
	else if (own)
		for (uint32_t i = 0; i < called; i++)
			tie(cut, i * GPUBPF_STACK_SIZE + first, i * GPUBPF_STACK_SIZE + end);
	else
		tie(cut, first, (frames - 1) * GPUBPF_STACK_SIZE + end);
}

static void note_insn(struct cut *cut, uint32_t pc)
{
	const struct gpubpf_insn *insn = &cut->p->prog->insns[pc];
	const struct gpubpf_insn_facts *f = &cut->p->prog->facts->insn[pc];
	uint8_t base = insn->kind == GPUBPF_INSN_LOAD ? insn->src : insn->dst;

	if (!(f->flags & GPUBPF_FACT_REACHED))
		return;
	note_access(cut, pc, &f->mem, base == GPUBPF_R10);
	for (int i = 0; f->call && i < 5; i++)
		note_access(cut, pc, &f->call->arg[i], false);
	if (f->call)
		note_access(cut, pc, &f->call->key, false);
}

/*
 * Creates an array for each sequence of tied bytes. Each array begins at a multiple of 8 in the frame, so that
 * alignment relative to r10 also holds in the array.
 */
static void cut_segments(struct cut *cut)
{
	struct low_stack *s = &cut->p->stack;
	struct low *l = cut->p->l;

	for (uint32_t i = 0; i < cut->bytes;) {
		struct low_segment *seg = &s->segs[s->nsegs];
		uint32_t first = i;

		if (!cut->used[i]) {
			s->seg_of[i++] = NONE;
			continue;
		}
		while (cut->tied[i])
			s->seg_of[i++] = s->nsegs;
		s->seg_of[i++] = s->nsegs++;
		seg->start = first & ~7u;
		seg->end = i;
		seg->array = low_alloca(cut->p, LLVMArrayType2(l->i8, seg->end - seg->start), 8, "stack");
	}
}

int low_stack_cut(struct low_prog *p)
{
	uint32_t frames = (p->prog->facts->frames ? p->prog->facts->frames : 1) + p->prog->facts->keys;
	struct cut cut = { .p = p, .bytes = frames * GPUBPF_STACK_SIZE };
	struct low *l = p->l;

	p->stack = (struct low_stack){ .frames = frames };
	cut.used = gpubpf_pool_alloc(l->pool, cut.bytes, sizeof(bool));
	cut.tied = gpubpf_pool_alloc(l->pool, cut.bytes, sizeof(bool));
	p->stack.segs = gpubpf_pool_alloc(l->pool, cut.bytes, sizeof(*p->stack.segs));
	p->stack.seg_of = gpubpf_pool_alloc(l->pool, cut.bytes, sizeof(*p->stack.seg_of));
	if (l->pool->failed)
		return -ENOMEM;
	for (uint32_t pc = 0; pc < p->prog->ninsns && !cut.err; pc++)
		note_insn(&cut, pc);
	if (!cut.err)
		cut_segments(&cut);
	return cut.err;
}

/* Returns the index of the lowest byte that an access may touch, counted in the sequence of all frames. */
static uint32_t get_lowest_offset(const struct gpubpf_access *a, uint32_t frame)
{
	return frame * GPUBPF_STACK_SIZE + GPUBPF_STACK_SIZE + a->off_min;
}

static LLVMValueRef emit_frame_ptr(struct low_prog *p, const struct gpubpf_access *a, uint32_t frame, LLVMValueRef ptr)
{
	struct low *l = p->l;
	uint32_t at = get_lowest_offset(a, frame);
	const struct low_segment *seg;
	LLVMValueRef index;

	/* an access of 0 bytes belongs to no segment */
	if (at >= p->stack.frames * GPUBPF_STACK_SIZE || p->stack.seg_of[at] == NONE)
		return LLVMConstNull(l->private);
	seg = &p->stack.segs[p->stack.seg_of[at]];
	if (a->off_min == a->off_max && !ptr)
		index = low_const(l, at - seg->start);
	else
		index = LLVMBuildSub(l->b, ptr, low_const(l, GPUBPF_PTR_STACK + seg->start), "");
	return low_byte_ptr(l, seg->array, index);
}

LLVMValueRef low_stack_ptr(struct low_prog *p, const struct gpubpf_access *a, LLVMValueRef ptr)
{
	bool fixed = a->frame != GPUBPF_ANY_FRAME && a->off_min == a->off_max;

	return emit_frame_ptr(p, a, a->frame == GPUBPF_ANY_FRAME ? 0 : a->frame, fixed ? NULL : ptr);
}

LLVMValueRef low_stack_ptr_current(struct low_frame *f, const struct gpubpf_access *a, int reg, LLVMValueRef ptr)
{
	if (reg == GPUBPF_R10 && a->frame == GPUBPF_ANY_FRAME && a->off_min == a->off_max)
		return emit_frame_ptr(f->p, a, f->depth, NULL);
	return low_stack_ptr(f->p, a, ptr);
}
