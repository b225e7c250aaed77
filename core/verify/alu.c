/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks arithmetic (RFC 9669 4.1). core/verify/ranges/range.c computes with numbers. Arithmetic on pointers follows the rules of the
 * Linux kernel's Documentation/bpf/verifier.rst, "Register value tracking".
 */
#include <stdio.h>
#include <string.h>

#include "verify.h"

#define FORK_PART 4

const char *type_name(const struct reg *r)
{
	static const char *const names[] = {
		[R_UNINIT] = "nothing",           [R_SCALAR] = "a number",
		[R_CTX] = "the context",          [R_MAP] = "a map",
		[R_VALUE] = "a map value",        [R_STACK] = "the stack",
		[R_RECORD] = "a record",          [R_KEY] = "a map key",
		[R_MEM] = "the memory",           [R_FUNC] = "a function",
		[R_INT] = "an iterator's number", [R_ITER] = "an iterator",
		[R_DYNPTR] = "a dynptr",
	};

	return names[r->type];
}

static int refuse_unset(struct verifier *v, unsigned int r)
{
	if (cur_regs(v)[r].ref)
		return refuse(v, GPUBPF_E_RELEASED,
			      "reads r%u, which points into a record that was submitted or discarded, or to the number of "
			      "an iterator that was destroyed",
			      r);
	return refuse(v, GPUBPF_E_UNINIT_REG, "reads r%u before it is written", r);
}

int read_reg(struct verifier *v, unsigned int r)
{
	if (cur_regs(v)[r].type == R_UNINIT)
		return refuse_unset(v, r);
	return 0;
}

int write_reg(struct verifier *v, unsigned int r)
{
	return r == GPUBPF_R10 ? refuse(v, GPUBPF_E_READONLY_REG, "writes r10, the frame pointer") : 0;
}

/*
 * Refuses an operation by which a program could learn an address as a number. The Linux kernel allows such an operation
 * only to privileged programs.
 */
int leak(struct verifier *v, enum gpubpf_error code, const char *what, ...)
{
	char text[256];
	va_list ap;

	if (v->opts.allow_ptr_leaks)
		return 0;
	va_start(ap, what);
	vsnprintf(text, sizeof(text), what, ap);
	va_end(ap);
	return refuse(v, code, "%s", text);
}

static void unlink_scalar(struct reg *r)
{
	r->id = 0;
	r->linked = 0;
	if (r->type == R_SCALAR)
		r->off = 0;
}

/*
 * Gives a number an id before it is copied. All copies have this id, so a branch on one copy narrows all of them. For
 * verdicts on Linux kernel programs, a copy plus a constant loses its id when it is copied
 * (assign_scalar_id_before_mov() of kernel/bpf/verifier.c).
 */
void link_scalars(struct verifier *v, struct reg *r)
{
	if (r->type != R_SCALAR)
		return;
	if (v->opts.any_ctx && r->linked)
		unlink_scalar(r);
	if (!r->id && !scalar_is_const(&r->s))
		r->id = new_id(v);
}

/*
 * Returns true if a copy stays linked when a constant is added to it. For a 4-byte add, the sum must not lose a bit
 * (RFC 9669 4.1: it is zero-extended). Then the other copies equal the sum minus the constant, zero-extended.
 */
static bool link_sum(const struct gpubpf_insn *insn, const struct reg *dst, const struct reg *src, int32_t *off)
{
	int64_t n = insn->width == 4 ? (int32_t)src->s.var.value : src->s.w64.smin;

	if ((insn->op != GPUBPF_ADD && insn->op != GPUBPF_SUB) || !dst->id || dst->linked ||
	    (insn->reg && insn->src == insn->dst))
		return false;
	if (insn->width == 4 ? !scalar_is_const32(&src->s) || dst->s.w64.umax > UINT32_MAX : !scalar_is_const(&src->s))
		return false;
	n = insn->op == GPUBPF_SUB ? (int64_t)(0 - (uint64_t)n) : n;
	*off = (int32_t)n;
	return n >= INT32_MIN && n <= INT32_MAX;
}

/*
 * Applies the Linux kernel's rule for sign extension from a narrow width. The Linux kernel keeps the range only if all
 * numbers in it have equal upper bits, and drops all known bits.
 */
static void kernel_sext(struct scalar *s, unsigned int from, const struct bounds *w)
{
	unsigned int up = 64 - from * 8;
	int64_t lo = (int64_t)((uint64_t)w->smin << up) >> up, hi = (int64_t)((uint64_t)w->smax << up) >> up;
	bool narrow = w->smin >> (from * 8) == w->smax >> (from * 8) && (lo < 0) == (hi < 0);

	scalar_unknown(s);
	if (narrow) {
		s->w64.smin = lo < hi ? lo : hi;
		s->w64.smax = lo < hi ? hi : lo;
		scalar_sync(s);
	}
	scalar_sext(s, from);
}

void sign_extend(const struct verifier *v, struct scalar *s, unsigned int from, unsigned int width)
{
	struct bounds w = width == 4 ? s->w32 : s->w64;

	if (v->opts.any_ctx && !scalar_is_const(s))
		kernel_sext(s, from, &w);
	else
		scalar_sext(s, from);
}

/*
 * Returns true if a move of only the low bits preserves the number. The removed bits must be zeros or copies of the
 * sign bit. The Linux kernel examines only the unsigned range, so it accepts only zeros.
 */
static bool preserves_number(const struct verifier *v, const struct gpubpf_insn *insn, const struct scalar *s)
{
	int64_t hi = insn->op == GPUBPF_MOVSX ? (int64_t)((1ull << (insn->ext - 1)) - 1) : UINT32_MAX;

	if (insn->op == GPUBPF_MOVSX && insn->width == 8 && !v->opts.any_ctx)
		return s->w64.smin >= -hi - 1 && s->w64.smax <= hi;
	return s->w64.umax <= (uint64_t)hi;
}

static int do_mov(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct reg *regs = cur_regs(v), *dst = &regs[insn->dst], *src = &regs[insn->src];
	unsigned int from = insn->op == GPUBPF_MOVSX ? insn->ext / 8u : 8;
	bool whole = insn->width == 8 && from == 8, same;

	if (!insn->reg) {
		reg_const(dst, insn->width == 4 ? (uint32_t)insn->imm : (uint64_t)(int64_t)insn->imm);
		return 0;
	}
	if (reg_is_ptr(src) && !whole) {
		int err = leak(v, GPUBPF_E_PTR_LEAK, "copies a part of r%u, a pointer to %s", insn->src, type_name(src));

		if (err < 0)
			return err;
		reg_unknown(dst);
		if (insn->width == 4)
			scalar_zext(&dst->s, 4);
		return 0;
	}
	same = whole || preserves_number(v, insn, &src->s);
	if (same)
		link_scalars(v, src);
	*dst = *src;
	if (!same)
		unlink_scalar(dst);
	if (insn->op == GPUBPF_MOVSX && (!same || v->opts.any_ctx))
		sign_extend(v, &dst->s, from, insn->width);
	if (insn->width == 4)
		scalar_zext(&dst->s, 4);
	return 0;
}

static int check_sane(struct verifier *v, const struct reg *p, const struct scalar *s, bool is_offset)
{
	if (scalar_is_const(s) && (s->w64.smin >= MAX_OFFSET || s->w64.smin <= -MAX_OFFSET))
		return refuse(v, GPUBPF_E_PTR_ARITH, "adds %lld to a pointer to %s; offsets must be below 2^29",
			      (long long)s->w64.smin, type_name(p));
	if (p->off >= MAX_OFFSET || p->off <= -MAX_OFFSET)
		return refuse(v, GPUBPF_E_PTR_ARITH, "a pointer to %s has offset %d; offsets must be below 2^29",
			      type_name(p), p->off);
	if (s->w64.smin == INT64_MIN)
		return refuse(v, GPUBPF_E_PTR_ARITH,
			      is_offset ? "the offset added to a pointer to %s has no lower bound" :
					  "the offset of a pointer to %s has no lower bound after the addition",
			      type_name(p));
	if (s->w64.smin >= MAX_OFFSET || s->w64.smin <= -MAX_OFFSET)
		return refuse(v, GPUBPF_E_PTR_ARITH,
			      "the offset of a pointer to %s begins at %lld; offsets must be below 2^29", type_name(p),
			      (long long)s->w64.smin);
	return 0;
}

/* Computes dst = ptr + off or ptr - off. */
static int ptr_arith(struct verifier *v, const struct gpubpf_insn *insn, struct reg *dst, const struct reg *ptr,
		     const struct reg *off)
{
	struct reg p = *ptr;
	int64_t known = off->s.w64.smin;
	int err;

	if (p.or_null)
		return refuse(v, GPUBPF_E_NULL_DEREF, "does arithmetic on a pointer to %s that may be NULL",
			      type_name(&p));
	if (p.type == R_MAP || p.type == R_FUNC) {
		if (insn->op == GPUBPF_ADD && reg_is_zero(off)) {
			*dst = p;
			return 0;
		}
		return refuse(v, GPUBPF_E_PTR_ARITH, "does arithmetic on a pointer to %s", type_name(&p));
	}
	if (insn->op == GPUBPF_SUB && p.type == R_STACK)
		return refuse(v, GPUBPF_E_PTR_ARITH, "subtracts from a stack pointer");
	err = check_sane(v, &p, &off->s, true);
	if (err < 0)
		return err;
	if (v->opts.any_ctx && off->linked && (off->off >= MAX_OFFSET || off->off <= -MAX_OFFSET))
		return refuse(v, GPUBPF_E_PTR_ARITH,
			      "adds to a pointer the sum of a number and %d, which is out of range", off->off);
	mark_reg(v, off);
	if (scalar_is_const(&off->s))
		p.off += insn->op == GPUBPF_ADD ? known : -known;
	else
		scalar_alu(insn->op, &p.s, &off->s, 8);
	err = check_sane(v, &p, &p.s, false);
	if (err < 0)
		return err;
	*dst = p;
	return 0;
}

/*
 * Returns true if an | is an addition, because it touches no set bit of the address. clang emits such an | for `array[i
 * & 7]` on the stack. Frames lie at multiples of 8 in every target (core/model/facts.h). The Linux kernel refuses this
 * operation.
 */
static bool or_adds(const struct verifier *v, const struct gpubpf_insn *insn, const struct reg *ptr,
		    const struct reg *number)
{
	struct tnum at = tnum_add(ptr->s.var, tnum_const((uint64_t)ptr->off));

	return insn->op == GPUBPF_OR && ptr->type == R_STACK && !v->opts.any_ctx && number->s.w64.umax < 8 &&
	       tnum_is_aligned(at, number->s.w64.umax < 4 ? 4 : 8);
}

static int ptr_alu(struct verifier *v, const struct gpubpf_insn *insn, struct reg *dst, const struct reg *src)
{
	bool dptr = reg_is_ptr(dst), sptr = reg_is_ptr(src);
	const struct reg *ptr = dptr ? dst : src;
	struct gpubpf_insn add = *insn;
	int err;

	if (insn->width != 8 || (dptr && sptr) || insn->op == GPUBPF_NEG || insn->op == GPUBPF_END) {
		bool number = insn->op == GPUBPF_SUB || insn->op == GPUBPF_NEG || insn->op == GPUBPF_END;

		if (!number || !v->opts.allow_ptr_leaks)
			return refuse(v, GPUBPF_E_PTR_ARITH, "does %s arithmetic on a pointer to %s",
				      insn->width == 8 ? "two-pointer" : "32-bit", type_name(ptr));
		err = leak(v, GPUBPF_E_PTR_LEAK, "turns a pointer into a number");
		reg_unknown(dst);
		if (insn->width == 4)
			scalar_zext(&dst->s, 4);
		return err;
	}
	if (insn->op == GPUBPF_SUB && !dptr)
		return refuse(v, GPUBPF_E_PTR_ARITH, "subtracts a pointer from a number");
	if (or_adds(v, insn, ptr, dptr ? src : dst))
		add.op = GPUBPF_ADD;
	if (add.op != GPUBPF_ADD && add.op != GPUBPF_SUB)
		return refuse(v, GPUBPF_E_PTR_ARITH, "only + and - make sense on a pointer to %s", type_name(ptr));
	return ptr_arith(v, &add, dst, ptr, dptr ? src : dst);
}

/*
 * Returns true if the Linux kernel treats the result as unknown: a quotient, a remainder, or a shift by an unknown
 * count. Verdicts on Linux kernel programs do the same.
 */
static bool kernel_unknown(const struct verifier *v, const struct gpubpf_insn *insn, const struct reg *src)
{
	if (!v->opts.any_ctx)
		return false;
	switch (insn->op) {
	case GPUBPF_DIV:
	case GPUBPF_MOD:
	case GPUBPF_SDIV:
	case GPUBPF_SMOD:
		return true;
	case GPUBPF_LSH:
	case GPUBPF_RSH:
	case GPUBPF_ARSH:
		return !scalar_is_const(&src->s) || src->s.w64.umax >= insn->width * 8u;
	default:
		return false;
	}
}

static void scalar_op(struct verifier *v, const struct gpubpf_insn *insn, struct reg *dst, const struct reg *src)
{
	int32_t off;
	bool linked = link_sum(insn, dst, src, &off);

	if (src->mark && src->mark != dst->mark)
		dst->mark = dst->mark ? mark_new(v, dst->mark, src->mark) : src->mark;
	if (kernel_unknown(v, insn, src)) {
		scalar_unknown(&dst->s);
	} else {
		if (v->opts.any_ctx)
			scalar_lose_precision(insn->op, &dst->s, &src->s);
		scalar_alu(insn->op, &dst->s, &src->s, insn->width);
	}
	if (!linked) {
		unlink_scalar(dst);
		return;
	}
	dst->linked = insn->width;
	dst->off = off;
}

/*
 * Forks the walk at an & or | of a constant and a number that is -1 or 0. Compilers emit such a mask for a select, as
 * s>>= 63 or 0 - (x & 1). The values -1 and 0 are walked separately, so that both results stay known
 * (maybe_fork_scalars() of kernel/bpf/verifier.c).
 *
 * Paths merge after a fork, as after a branch. The fork itself relies on no number. On each path, -1 or 0 keeps the
 * precision mark of the mask, so a path that relies on this number also relies on the mask. Forking stops after 1 /
 * FORK_PART of the walk's limit. Otherwise a program that computes a checksum would be walked for every value of the
 * checksum.
 */
static int fork_mask(struct verifier *v, const struct gpubpf_insn *insn, struct reg *dst, const struct reg *src)
{
	const struct bounds *b = insn->width == 4 ? &dst->s.w32 : &dst->s.w64;
	struct state *other;
	struct reg *zero;

	if ((insn->op != GPUBPF_AND && insn->op != GPUBPF_OR) || b->smin != -1 || b->smax != 0 ||
	    !scalar_is_const(&src->s) || v->walked > v->opts.max_states / FORK_PART)
		return 0;
	other = state_copy(v, v->cur);
	if (!other)
		return -1;
	zero = &other->frame[other->nframes - 1]->regs[insn->dst];
	scalar_const(&zero->s, 0);
	scalar_const(&dst->s, insn->width == 4 ? UINT32_MAX : UINT64_MAX);
	unlink_scalar(zero);
	unlink_scalar(dst);
	v->aux[v->pc + 1].prune = true;
	v->jumps_since++;
	return push_branch(v, other, v->pc);
}

static int check_operand(struct verifier *v, const struct gpubpf_insn *insn)
{
	bool shift = insn->op == GPUBPF_LSH || insn->op == GPUBPF_RSH || insn->op == GPUBPF_ARSH;
	bool divide = insn->op == GPUBPF_DIV || insn->op == GPUBPF_MOD || insn->op == GPUBPF_SDIV ||
		      insn->op == GPUBPF_SMOD;

	if (insn->reg)
		return 0;
	if (shift && (insn->imm < 0 || insn->imm >= insn->width * 8))
		return refuse(v, GPUBPF_E_BAD_INSN, "shifts %d bits by %d", insn->width * 8, insn->imm);
	if (divide && !insn->imm)
		return refuse(v, GPUBPF_E_BAD_INSN, "divides by the constant 0");
	return 0;
}

int do_alu(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct reg *dst = &cur_regs(v)[insn->dst], imm, *src = &imm;
	bool unary = insn->op == GPUBPF_NEG || insn->op == GPUBPF_END;
	bool mov = insn->op == GPUBPF_MOV || insn->op == GPUBPF_MOVSX;
	int err = check_operand(v, insn);

	if (err < 0 || (err = write_reg(v, insn->dst)) < 0 || (insn->reg && (err = read_reg(v, insn->src)) < 0) ||
	    (!mov && (err = read_reg(v, insn->dst)) < 0))
		return err;
	if (mov)
		return do_mov(v, insn);
	if (insn->reg)
		src = &cur_regs(v)[insn->src];
	else
		reg_const(&imm, (uint64_t)(int64_t)(unary ? 0 : insn->imm));
	if (reg_is_ptr(dst) || reg_is_ptr(src))
		return ptr_alu(v, insn, dst, src);
	if (insn->op == GPUBPF_END) {
		if (v->opts.any_ctx && dst->s.w64.umin >> (insn->width * 4) >> (insn->width * 4) !=
					       dst->s.w64.umax >> (insn->width * 4) >> (insn->width * 4))
			bounds_full(&dst->s.w32, 32); /* the Linux kernel truncates only the 64-bit range */
		scalar_byteswap(&dst->s, insn->width, insn->ext);
		unlink_scalar(dst);
		return 0;
	}
	if (src == dst)
		imm = *src, src = &imm;
	err = fork_mask(v, insn, dst, src);
	if (err < 0)
		return err;
	scalar_op(v, insn, dst, src);
	return 0;
}

int do_imm64(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct reg *dst = &cur_regs(v)[insn->dst];
	int err = write_reg(v, insn->dst);

	if (err < 0)
		return err;
	reg_const(dst, 0);
	switch ((enum gpubpf_imm_kind)insn->op) {
	case GPUBPF_IMM_CONST:
		reg_const(dst, (uint64_t)insn->imm64);
		return 0;
	case GPUBPF_IMM_FUNC:
		dst->type = R_FUNC;
		dst->size = insn->target;
		return 0;
	case GPUBPF_IMM_STACK:
		dst->type = R_STACK;
		return 0;
	default:
		break;
	}
	dst->map = (int16_t)insn->imm;
	dst->type = insn->op == GPUBPF_IMM_MAP ? R_MAP : R_VALUE;
	dst->off = insn->op == GPUBPF_IMM_MAP ? 0 : (int32_t)insn->imm64;
	return 0;
}
