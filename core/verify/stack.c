/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tracks stack slots of 8 bytes. A slot holds a spilled register, or the register's low bytes at the slot's first
 * address. The upper half of a slot may hold a second spill, the low bytes of a number; the Linux kernel does not track
 * these. All other bytes are unknown numbers, zeros, or not written. A write to a part of a spill makes the spill's
 * other bytes unknown. Pointers are spilled and filled only with all 8 bytes.
 */
#include <string.h>

#include "verify.h"

struct stack_slot *slot_of(const struct frame *f, int off)
{
	uint32_t i = (uint32_t)(-off - 1) / 8;

	return i < f->nslots ? &f->slots[i] : NULL;
}

static bool holds_spill(const struct stack_slot *s)
{
	return s->kind[0] == B_SPILL;
}

static bool has_ptr(const struct stack_slot *s)
{
	return holds_spill(s) && s->reg.type != R_SCALAR;
}

static unsigned int spill_size(const struct stack_slot *s)
{
	unsigned int n = 0;

	while (n < 8 && s->kind[n] == B_SPILL)
		n++;
	return n;
}

static unsigned int get_upper_size(const struct stack_slot *s)
{
	unsigned int n = 0;

	while (n < UPPER && s->kind[UPPER + n] == B_UPPER)
		n++;
	return n;
}

static int check_bounds(struct verifier *v, const struct reg *p, int64_t off, uint64_t size, int *lo, int *hi)
{
	int64_t from, to;

	*lo = *hi = 0;
	if (ptr_offset(p, off, &from, &to) < 0)
		return refuse(v, GPUBPF_E_STACK_BOUNDS, "accesses the stack at an offset without bounds");
	if (from < -GPUBPF_STACK_SIZE || to >= 0 || to + (int64_t)size > 0)
		return refuse(v, GPUBPF_E_STACK_BOUNDS, "accesses %llu bytes of stack at offset %lld to %lld",
			      (unsigned long long)size, (long long)from, (long long)to);
	*lo = (int)from;
	*hi = (int)to;
	return 0;
}

static struct frame *frame_of(struct verifier *v, const struct reg *p)
{
	return v->cur->frame[p->frame];
}

static int touch(struct verifier *v, const struct reg *p, int lo, int hi, uint64_t size, bool write,
		 struct gpubpf_access *a)
{
	struct func_info *fn = &v->funcs[frame_of(v, p)->func];

	if (fn->stack < (uint32_t)-lo)
		fn->stack = (uint32_t)-lo;
	*a = (struct gpubpf_access){ .spaces = GPUBPF_SPACE_STACK,
				     .align = a->align,
				     .frame = p->frame,
				     .write = write,
				     .map = GPUBPF_NO_MAP,
				     .off_min = lo,
				     .off_max = hi,
				     .size_min = (uint32_t)size,
				     .size_max = (uint32_t)size };
	return frame_reserve(v, frame_of(v, p), (uint32_t)(-lo + 7) / 8);
}

/*
 * Turns the remaining bytes of a partly overwritten spill into unknown numbers. If the spilled number is zero, its
 * bytes stay known zeros, and the number gets its precision mark. The Linux kernel drops zeros too
 * (scrub_spilled_slot() of kernel/bpf/verifier.c).
 */
static void scrub(struct verifier *v, struct stack_slot *s)
{
	unsigned int n = spill_size(s);
	bool zero = n && reg_is_zero(&s->reg) && !v->opts.any_ctx;

	for (unsigned int k = 0; k < n; k++)
		s->kind[k] = zero ? B_ZERO : B_MISC;
	if (zero)
		mark_reg(v, &s->reg);
}

static void scrub_upper(struct stack_slot *s)
{
	for (unsigned int k = UPPER; k < 8; k++)
		if (s->kind[k] == B_UPPER)
			s->kind[k] = B_MISC;
}

/* Returns the known state of one byte: 0 = zero, 1 = a number, -1 = not written. */
static int get_byte_state(const struct stack_slot *s, unsigned int k)
{
	switch (s ? s->kind[k] : B_INVALID) {
	case B_ZERO:
		return 0;
	case B_SPILL:
		return reg_is_zero(&s->reg) ? 0 : 1;
	case B_UPPER:
		return reg_is_zero(&s->upper) ? 0 : 1;
	case B_MISC:
		return 1;
	default:
		return -1;
	}
}

static int refuse_uninit(struct verifier *v, int off)
{
	return refuse(v, GPUBPF_E_UNINIT_STACK, "reads the stack at r10%+d, which was not written", off);
}

/*
 * Checks that all bytes of [lo, end) hold numbers. *zero is true if all bytes are zero. The Linux kernel notices this
 * only if either all bytes were spilled or none (check_stack_read_fixed_off() of kernel/bpf/verifier.c).
 */
static int load_bytes(struct verifier *v, struct frame *f, int lo, int end, bool *zero)
{
	int spilled = 0;

	*zero = true;
	for (int b = lo; b < end; b++) {
		struct stack_slot *s = slot_of(f, b);
		int state = get_byte_state(s, b & 7);

		if (s && s->kind[b & 7] == B_ITER)
			return refuse(v, GPUBPF_E_ITERATOR, "reads the iterator at r10%+d", b & ~7);
		if (s && s->kind[b & 7] == B_DYNPTR)
			return refuse(v, GPUBPF_E_DYNPTR, "reads the bytes of the dynptr at r10%+d", b & ~7);
		if (state < 0)
			return refuse_uninit(v, b);
		if (has_ptr(s) && !v->reads_texts) {
			int err = leak(v, GPUBPF_E_PTR_LEAK, "reads a part of the pointer spilled at r10%+d", b & ~7);

			if (err < 0)
				return err;
			state = 1;
		}
		mark_precise(v, s->read);
		if (state == 0 && s->kind[b & 7] == B_UPPER)
			mark_reg(v, &s->upper);
		spilled += s->kind[b & 7] == B_SPILL;
		*zero &= state == 0;
	}
	if (v->opts.any_ctx && spilled && spilled < end - lo)
		*zero = false;
	return 0;
}

/* Reads the low `size` bytes of a spilled number into *dst. The spill has at least `size` bytes. */
static void fill(const struct reg *spilled, unsigned int size, struct reg *dst)
{
	*dst = *spilled;
	if (size < 8 && dst->s.w64.umax >> (8 * size)) {
		dst->id = 0;
		scalar_zext(&dst->s, size);
	}
}

static int load_fixed(struct verifier *v, struct frame *f, int off, unsigned int size, struct reg *dst)
{
	struct stack_slot *s = slot_of(f, off);
	unsigned int n = s ? spill_size(s) : 0;
	bool zero;
	int err;

	if (n && has_ptr(s)) {
		if (size != 8 || n != 8)
			return refuse(v, GPUBPF_E_PTR_LEAK, "reads %u bytes of the pointer spilled at r10%+d", size,
				      off & ~7);
		mark_precise(v, s->read);
		*dst = s->reg;
		return 0;
	}
	if ((n && off % 8 == 0 && size <= n) || (s && (off & 7) == UPPER && size <= get_upper_size(s))) {
		mark_precise(v, s->read);
		fill(off % 8 ? &s->upper : &s->reg, size, dst);
		return 0;
	}
	err = load_bytes(v, f, off, off + (int)size, &zero);
	if (err < 0)
		return err;
	reg_unknown(dst);
	if (zero) {
		reg_const(dst, 0);
		dst->mark = n ? s->reg.mark : 0;
	}
	return 0;
}

int stack_load(struct verifier *v, const struct reg *p, int off, unsigned int size, bool sext, struct reg *dst,
	       struct gpubpf_access *a)
{
	struct frame *f = frame_of(v, p);
	bool zero;
	int lo, hi, err = check_bounds(v, p, off, size, &lo, &hi);

	if (err < 0 || (err = touch(v, p, lo, hi, size, false, a)) < 0)
		return err;
	if (lo == hi)
		return load_fixed(v, f, lo, size, dst);
	err = load_bytes(v, f, lo, hi + (int)size, &zero);
	if (err < 0)
		return err;
	reg_unknown(dst);
	return 0;
}

static int store_spill(struct verifier *v, struct stack_slot *s, unsigned int size, const struct reg *src)
{
	if (spill_size(s) > size)
		scrub(v, s);
	for (unsigned int k = 0; k < size; k++)
		s->kind[k] = B_SPILL;
	fill(src, size, &s->reg);
	if (size == 8)
		s->read = 0;
	return 0;
}

/*
 * Returns true if a store to the upper half is tracked: the lower half was not written when the upper half was first
 * stored. Such slots hold variables whose address was taken. In arrays, tracked numbers would make most states differ.
 */
static bool tracks_upper(const struct verifier *v, const struct stack_slot *s)
{
	return !v->opts.any_ctx && (holds_upper(s) || !memcmp(s->kind, (uint8_t[UPPER]){ B_INVALID }, UPPER));
}

static void store_upper(struct verifier *v, struct stack_slot *s, unsigned int size, const struct reg *src)
{
	if (spill_size(s) > UPPER)
		scrub(v, s);
	scrub_upper(s);
	memset(s->kind + UPPER, B_UPPER, size);
	fill(src, size, &s->upper);
}

/* Returns true if a write to the byte range [lo, end) overwrites all bytes of the slot of byte b. */
static bool overwrites_slot(int b, int lo, int end)
{
	return (b & ~7) >= lo && (b & ~7) + 8 <= end;
}

/*
 * Writes content that is not tracked to the byte range. If `definite` is false, the bytes may or may not be written. A
 * pointer may be overwritten as a whole; the other bytes of a partly overwritten pointer would become numbers.
 */
static int write_unknown(struct verifier *v, struct frame *f, int lo, int end, bool zero, bool definite)
{
	for (int b = lo; b < end; b++) {
		struct stack_slot *s = slot_of(f, b);
		uint8_t *kind = &s->kind[b & 7];

		if (has_ptr(s) && !(definite && overwrites_slot(b, lo, end))) {
			int err = leak(v, GPUBPF_E_PTR_LEAK, "overwrites a part of the pointer spilled at r10%+d", b & ~7);

			if (err < 0)
				return err;
		}
		if (!definite && zero && spill_size(s) == 8 && reg_is_zero(&s->reg)) {
			/* the byte stays zero only because the spilled number is zero, so the number gets its mark */
			mark_reg(v, &s->reg);
			continue;
		}
		if (holds_spill(s))
			scrub(v, s);
		if (*kind == B_UPPER)
			scrub_upper(s);
		if (definite)
			*kind = zero ? B_ZERO : B_MISC;
		else if (*kind == B_ZERO && !zero)
			*kind = B_MISC;
	}
	return 0;
}

static int store_fixed(struct verifier *v, struct frame *f, int off, unsigned int size, const struct reg *src)
{
	struct stack_slot *s = slot_of(f, off);
	bool zero = reg_is_zero(src);

	if (size < 8 && has_ptr(s)) {
		int err = leak(v, GPUBPF_E_PTR_LEAK, "overwrites a part of the pointer spilled at r10%+d", off & ~7);

		if (err < 0)
			return err;
	}
	if (off % 8 == 0)
		return store_spill(v, s, size, src);
	if ((off & 7) == UPPER && tracks_upper(v, s)) {
		store_upper(v, s, size, src);
		return 0;
	}
	if (zero)
		mark_reg(v, src);
	return write_unknown(v, f, off, off + (int)size, zero, true);
}

/*
 * Prepares a write to the byte range: refuses to overwrite iterators and dynptrs of records, and ends other dynptrs.
 */
static int check_overwrite(struct verifier *v, struct frame *f, int lo, int end)
{
	for (int b = lo; b < end; b++)
		if (slot_of(f, b)->kind[b & 7] == B_ITER)
			return refuse(v, GPUBPF_E_ITERATOR, "overwrites the iterator at r10%+d, which is not destroyed",
				      b & ~7);
	return dynptr_overwrite(v, f, lo, end);
}

int stack_reach(struct verifier *v, const struct reg *p, uint64_t size, struct gpubpf_access *a)
{
	int lo, hi, err = check_bounds(v, p, 0, size, &lo, &hi);

	return err < 0 ? err : touch(v, p, lo, hi, size, true, a);
}

int stack_iterator(struct verifier *v, const struct reg *p, bool fresh, const char *who, struct gpubpf_access *a,
		   struct stack_slot **slot)
{
	int lo, hi, err;

	if (p->type != R_STACK || !scalar_is_const(&p->s))
		return refuse(v, GPUBPF_E_HELPER_ARG,
			      "passes %s to %s, which requires an iterator at a constant place of the "
			      "stack",
			      type_name(p), who);
	err = check_bounds(v, p, 0, 8, &lo, &hi);
	if (err < 0 || (err = touch(v, p, lo, hi, 8, true, a)) < 0)
		return err;
	if (lo % 8)
		return refuse(v, GPUBPF_E_MISALIGNED,
			      "passes an iterator at r10%+d to %s, which is not a multiple of 8", lo, who);
	*slot = slot_of(frame_of(v, p), lo);
	if (fresh) {
		err = check_overwrite(v, frame_of(v, p), lo, lo + 8);
		return err < 0 ? err : write_unknown(v, frame_of(v, p), lo, lo + 8, false, true);
	}
	return (*slot)->kind[0] == B_ITER ?
		       0 :
		       refuse(v, GPUBPF_E_ITERATOR, "passes r10%+d to %s, which is not an iterator", lo, who);
}

int stack_store(struct verifier *v, const struct reg *p, int off, unsigned int size, const struct reg *src,
		struct gpubpf_access *a)
{
	struct reg *live = src >= cur_regs(v) && src < cur_regs(v) + GPUBPF_NREGS ? &cur_regs(v)[src - cur_regs(v)] : NULL;
	int lo, hi, err = check_bounds(v, p, off, size, &lo, &hi);
	bool zero = reg_is_zero(src);

	if (err < 0 || (err = touch(v, p, lo, hi, size, true, a)) < 0)
		return err;
	if ((err = check_overwrite(v, frame_of(v, p), lo, hi + (int)size)) < 0)
		return err;
	if (reg_is_ptr(src) && size != 8)
		return refuse(v, GPUBPF_E_PTR_LEAK, "spills %u bytes of a pointer to %s", size, type_name(src));
	if (p->frame != v->cur->nframes - 1 && (src->type == R_STACK || (src->type == R_INT && src->frame > p->frame) ||
						(src->type == R_KEY && !v->opts.any_ctx)))
		return refuse(v, GPUBPF_E_PTR_LEAK,
			      "stores a pointer to %s, which ends before the caller does, into the caller's stack",
			      type_name(src));
	if (lo == hi) {
		if (live && (size == 8 || !(src->s.w64.umax >> (8 * size))))
			link_scalars(v, live);
		return store_fixed(v, frame_of(v, p), lo, size, src);
	}
	if (reg_is_ptr(src) && (err = leak(v, GPUBPF_E_PTR_LEAK, "stores a pointer at a stack offset that varies")) < 0)
		return err;
	if (zero)
		mark_reg(v, src);
	return write_unknown(v, frame_of(v, p), lo, hi + (int)size, zero, false);
}

/*
 * Checks memory that a helper reads, which must hold numbers, or memory that a helper fills. If the location or size of
 * the fill is not constant, the helper fills only a part of the memory. All of it must then be written already.
 */
int stack_helper(struct verifier *v, const struct reg *p, uint64_t size, bool write, const char *who,
		 struct gpubpf_access *a)
{
	struct frame *f = frame_of(v, p);
	bool exact = a->size_min == size, zero;
	int lo, hi, err = check_bounds(v, p, 0, size, &lo, &hi);
	uint32_t size_min = a->size_min;

	if (err < 0 || (err = touch(v, p, lo, hi, size, write, a)) < 0)
		return err;
	a->size_min = size_min;
	if (write && (err = check_overwrite(v, f, lo, hi + (int)size)) < 0)
		return err;
	if (!write || lo != hi || !exact) {
		err = load_bytes(v, f, lo, hi + (int)size, &zero);
		if (err < 0)
			return err;
	}
	if (!write)
		return 0;
	err = write_unknown(v, f, lo, hi + (int)size, false, lo == hi && exact);
	if (err < 0)
		return err;
	for (int b = lo; lo == hi && exact && b + 8 <= hi + (int)size; b++)
		if (b % 8 == 0)
			slot_of(f, b)->read = 0;
	return 0;
}

/*
 * Stores the byte at p + off in *value and returns true if the byte is known. Sets its precision mark, since the walk
 * relies on the byte.
 */
bool stack_byte(struct verifier *v, const struct reg *p, int off, uint64_t *value)
{
	struct stack_slot *s = off < 0 && off >= -GPUBPF_STACK_SIZE ? slot_of(frame_of(v, p), off) : NULL;
	const struct reg *spilled = s ? &s->reg : NULL;
	unsigned int k = off & 7;

	if (!s || s->kind[k] == B_INVALID)
		return false;
	mark_precise(v, s->read);
	if (s->kind[k] == B_ZERO) {
		*value = 0;
		return true;
	}
	if (s->kind[k] == B_UPPER) {
		spilled = &s->upper;
		k -= UPPER;
	} else if (s->kind[k] != B_SPILL || has_ptr(s)) {
		return false;
	}
	if (!scalar_is_const(&spilled->s))
		return false;
	*value = spilled->s.var.value >> (8 * k) & 0xff;
	mark_reg(v, spilled);
	return true;
}

/*
 * Stores the number at p in *value and returns true if the number is known. Sets its precision mark, since the walk
 * relies on the number.
 */
bool stack_known(struct verifier *v, const struct reg *p, unsigned int size, uint64_t *value)
{
	uint64_t byte, number = 0;
	int64_t lo, hi;

	if (p->type != R_STACK || ptr_offset(p, 0, &lo, &hi) < 0 || lo != hi)
		return false;
	for (unsigned int k = 0; k < size; k++) {
		if (!stack_byte(v, p, (int)lo + (int)k, &byte))
			return false;
		number |= byte << (8 * k);
	}
	*value = number;
	return true;
}
