/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks conditional jumps (RFC 9669 4.3): decides which successors are possible, and narrows the compared numbers on
 * the path to each successor.
 */
#include "verify.h"

struct sync {
	const struct reg *known;
	const struct reg *skip;
};

/*
 * Updates r, which differs by a constant from a number that a comparison narrowed. Among numbers linked by 4-byte sums,
 * none has more than 32 bits, and the difference wraps like the sum did. A 4-byte sum implies nothing about an 8-byte
 * sum.
 */
static void sync_one(struct verifier *v, struct reg *r, void *arg)
{
	const struct sync *s = arg;
	int64_t distance;
	struct scalar delta;

	if (r->type != R_SCALAR || r->id != s->known->id || r == s->skip ||
	    (r->linked && s->known->linked && r->linked != s->known->linked))
		return;
	distance = (int64_t)(r->linked ? r->off : 0) - (s->known->linked ? s->known->off : 0);
	r->s = s->known->s;
	if (distance) {
		scalar_const(&delta, (uint64_t)distance);
		scalar_alu(GPUBPF_ADD, &r->s, &delta, 8);
		if (r->linked == 4 || s->known->linked == 4)
			scalar_zext(&r->s, 4);
	}
	if (r->mark != s->known->mark)
		r->mark = mark_new(v, r->mark, s->known->mark);
}

static void sync_linked(struct verifier *v, struct state *st, struct reg *r)
{
	struct reg known = *r;
	struct sync s = { &known, r };

	if (r->type == R_SCALAR && r->id)
		state_each_reg(v, st, sync_one, &s);
}

/*
 * Narrows a number that is compared with itself. The Linux kernel treats this like any other comparison. If a range
 * becomes empty, it discards the range and keeps the known bits (reg_bounds_sanity_check() of kernel/bpf/verifier.c).
 */
static void narrow_equal(const struct gpubpf_insn *insn, bool holds, struct scalar *s)
{
	struct scalar was = *s;

	if (scalar_assume(insn->op, holds, s, s, insn->width, true))
		return;
	*s = was;
	bounds_full(&s->w64, 64);
	bounds_full(&s->w32, 32);
}

/* Narrows the compared numbers in a state, assuming that the comparison is true (`holds`) or false. */
static void narrow_edge(struct verifier *v, struct state *st, const struct gpubpf_insn *insn, bool holds)
{
	struct reg *regs = st->frame[st->nframes - 1]->regs, *a = &regs[insn->dst], imm, *b = &imm;
	bool same = insn->reg && insn->dst == insn->src;

	if (insn->reg)
		b = &regs[insn->src];
	else
		reg_const(&imm, (uint64_t)(int64_t)insn->imm);
	if (same && !v->opts.any_ctx)
		return;
	if (same)
		narrow_equal(insn, holds, &a->s);
	else
		scalar_assume(insn->op, holds, &a->s, &b->s, insn->width, v->opts.any_ctx);
	if (insn->reg && a->mark != b->mark) {
		uint32_t both = mark_new(v, a->mark, b->mark);

		a->mark = b->mark = both;
	}
	if (insn->reg)
		sync_linked(v, st, b);
	sync_linked(v, st, a);
}

static int take_edge(struct verifier *v, const struct gpubpf_insn *insn, bool taken)
{
	v->aux[v->pc].seen |= taken ? 2 : 1;
	if (taken)
		tally_jump(v, v->cur, v->pc);
	v->pc = taken ? insn->target : v->pc + 1;
	return 0;
}

struct null_check {
	uint32_t id;
	bool null;
};

static void resolve_null(struct verifier *v, struct reg *r, void *arg)
{
	const struct null_check *c = arg;

	if (!r->or_null || r->id != c->id)
		return;
	if (c->null) {
		reg_const(r, 0);
	} else {
		r->or_null = false;
		r->id = 0;
	}
}

static void narrow_null(struct verifier *v, struct state *st, const struct reg *p, bool null)
{
	struct null_check c = { p->id, null };
	uint32_t ref = p->ref;

	state_each_reg(v, st, resolve_null, &c);
	if (null && ref)
		ref_drop(st, ref);
}

/*
 * Queues a copy of the state for the jump's target, since both successors are possible. The result *other is the copy;
 * the walk continues with the next instruction.
 */
static int fork_paths(struct verifier *v, const struct gpubpf_insn *insn, struct state **other)
{
	*other = state_copy(v, v->cur);
	if (!*other)
		return -1;
	v->aux[v->pc].seen |= 3;
	tally_jump(v, *other, v->pc);
	return push_branch(v, *other, insn->target);
}

static int branch_null(struct verifier *v, const struct gpubpf_insn *insn)
{
	struct reg p = cur_regs(v)[insn->dst];
	struct state *other;
	int err = fork_paths(v, insn, &other);

	if (err < 0)
		return err;
	narrow_null(v, other, &p, insn->op == GPUBPF_JEQ);
	narrow_null(v, v->cur, &p, insn->op == GPUBPF_JNE);
	v->pc++;
	return 0;
}

static int branch_scalar(struct verifier *v, const struct gpubpf_insn *insn, const struct reg *a, const struct reg *b)
{
	/* the Linux kernel decides a test of bits (BPF_JSET) only if one operand is known */
	bool known = insn->width == 4 ? scalar_is_const32(&a->s) || scalar_is_const32(&b->s) :
					scalar_is_const(&a->s) || scalar_is_const(&b->s);
	bool unsure = v->opts.any_ctx && insn->op == GPUBPF_JSET && !known;
	int taken = unsure ? -1 : scalar_taken(insn->op, &a->s, &b->s, insn->width), err;
	struct state *other;

	if (taken >= 0) {
		mark_reg(v, a);
		mark_reg(v, b);
		return take_edge(v, insn, taken);
	}
	err = fork_paths(v, insn, &other);
	if (err < 0)
		return err;
	narrow_edge(v, other, insn, true);
	narrow_edge(v, v->cur, insn, false);
	v->pc++;
	return 0;
}

static bool same_object(const struct reg *a, const struct reg *b)
{
	if (a->type != b->type || a->or_null || b->or_null)
		return false;
	return (a->type == R_STACK && a->frame == b->frame) || (a->type == R_RECORD && a->ref == b->ref);
}

/* Compares the offsets of two pointers into the same object. */
static int branch_offsets(struct verifier *v, const struct gpubpf_insn *insn, const struct reg *a, const struct reg *b)
{
	struct scalar x, y;
	struct state *other;
	int taken, err;

	scalar_const(&x, (uint64_t)(MAX_OFFSET + (int64_t)a->off));
	scalar_const(&y, (uint64_t)(MAX_OFFSET + (int64_t)b->off));
	scalar_alu(GPUBPF_ADD, &x, &a->s, 8);
	scalar_alu(GPUBPF_ADD, &y, &b->s, 8);
	taken = insn->op == GPUBPF_JSET ? -1 : scalar_taken(insn->op, &x, &y, 8);
	if (taken >= 0)
		return take_edge(v, insn, taken);
	err = fork_paths(v, insn, &other);
	if (err < 0)
		return err;
	v->pc++;
	return 0;
}

static int branch_pointer(struct verifier *v, const struct gpubpf_insn *insn, const struct reg *a, const struct reg *b)
{
	bool equality = insn->op == GPUBPF_JEQ || insn->op == GPUBPF_JNE;
	struct state *other;
	int err;

	if (insn->width == 8 && !insn->reg && !insn->imm && equality && reg_is_ptr(a)) {
		if (a->or_null)
			return branch_null(v, insn);
		/* the Linux kernel walks both successors */
		if ((a->type != R_STACK && a->type != R_CTX) || !v->opts.any_ctx)
			return take_edge(v, insn, insn->op == GPUBPF_JNE);
	}
	if (insn->width == 8 && !v->opts.any_ctx && same_object(a, b))
		return branch_offsets(v, insn, a, b);
	err = leak(v, GPUBPF_E_PTR_COMPARE, "compares %s with %s", type_name(a), type_name(b));
	if (err < 0 || (err = fork_paths(v, insn, &other)) < 0)
		return err;
	v->pc++;
	return 0;
}

/* Walks a conditional jump. Sets v->pc to the successor that is walked first; the other one is queued. */
int do_jcond(struct verifier *v, const struct gpubpf_insn *insn)
{
	const struct reg *a = &cur_regs(v)[insn->dst], *b;
	struct reg imm;
	int err;

	if (insn->op == GPUBPF_MAY_GOTO)
		return do_may_goto(v, insn);
	if ((err = read_reg(v, insn->dst)) < 0 || (insn->reg && (err = read_reg(v, insn->src)) < 0))
		return err;
	reg_const(&imm, (uint64_t)(int64_t)insn->imm);
	b = insn->reg ? &cur_regs(v)[insn->src] : &imm;
	v->jumps_since++;
	if (reg_is_ptr(a) || reg_is_ptr(b))
		return branch_pointer(v, insn, a, b);
	return branch_scalar(v, insn, a, b);
}
