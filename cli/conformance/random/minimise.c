/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minimises a program whose results differ, by delta debugging (Zeller and Hildebrandt, Simplifying and Isolating
 * Failure-Inducing Input, 2002). The algorithm removes pieces of the program as long as the rest is proven and still
 * differs. If no piece can be removed, it halves the size of the pieces. A removed instruction first becomes a no-op, a
 * jump to the next instruction, so that the indices of the others do not change. The candidates of a round are compiled
 * as one module.
 */
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define LDDW 0x18 /* load of a 64-bit constant; takes two instructions (RFC 9669, 5.4) */
#define JA 0x05
#define JMP_CLASSES(code) (((code) & 7) == 5 || ((code) & 7) == 6)
#define CALL 0x85
#define EXIT 0x95
#define LOCAL_CALL 1 /* source register of a local call */
#define FUNCTION 4 /* source register of an LDDW that loads a function's address */

static bool is_nop(const struct gpubpf_raw_insn *insn)
{
	return insn->code == JA && !insn->off;
}

/*
 * Copy a program and replace the instructions begin to end - 1 by no-ops. Both halves of an LDDW are replaced together.
 * Returns false if all these instructions were no-ops already.
 */
static bool remove_insns(const struct random_program *from, uint32_t begin, uint32_t end, struct random_program *to)
{
	bool changed = false;

	*to = *from;
	for (uint32_t i = 0; i < from->n && i < end;) {
		uint32_t n = from->insns[i].code == LDDW ? 2 : 1;

		for (uint32_t k = 0; i >= begin && k < n; k++) {
			changed = changed || !is_nop(&from->insns[i + k]);
			to->insns[i + k] = (struct gpubpf_raw_insn){ .code = JA };
		}
		i += n;
	}
	return changed;
}

/*
 * Return the index of the instruction that instruction i refers to, or -1. Instructions that refer to another one are
 * jumps, local calls, and LDDWs of a function's address.
 */
static long target_of(const struct random_program *p, uint32_t i)
{
	const struct gpubpf_raw_insn *insn = &p->insns[i];

	if (insn->code == LDDW)
		return insn->regs >> 4 == FUNCTION ? (long)i + 1 + insn->imm : -1;
	if (insn->code == CALL)
		return insn->regs >> 4 == LOCAL_CALL ? (long)i + 1 + insn->imm : -1;
	return JMP_CLASSES(insn->code) && insn->code != EXIT ? (long)i + 1 + insn->off : -1;
}

/* Copy the program without its no-ops, and adjust the targets of jumps and calls. */
static void drop_nops(const struct random_program *from, struct random_program *to)
{
	uint32_t at[GEN_INSNS + 1] = { 0 };

	to->launch = from->launch;
	to->unoptimised = from->unoptimised;
	to->n = 0;
	for (uint32_t i = 0; i < from->n; i++) {
		at[i] = to->n;
		if (!is_nop(&from->insns[i]) || (i && from->insns[i - 1].code == LDDW))
			to->insns[to->n++] = from->insns[i];
	}
	at[from->n] = to->n;
	for (uint32_t i = 0; i < GEN_PARTS; i++)
		to->begin[i] = at[from->begin[i]];
	for (uint32_t i = 0; i < from->n; i++) {
		struct gpubpf_raw_insn *insn = &to->insns[at[i]];
		long target = target_of(from, i);

		if (target >= 0 && target <= (long)from->n && !is_nop(&from->insns[i])) {
			if (insn->code == CALL || insn->code == LDDW)
				insn->imm = (int32_t)at[target] - (int32_t)at[i] - 1;
			else
				insn->off = (int16_t)(at[target] - at[i] - 1);
		}
		if (from->insns[i].code == LDDW)
			i++; /* skip the second half of the LDDW */
	}
}

struct round {
	const struct conformance_device *d;
	struct random_program *candidates; /* [RANDOM_GROUP] programs that this round runs */
	const struct random_program *list[RANDOM_GROUP];
	struct random_outcome outcomes[RANDOM_GROUP];
	struct piece {
		uint32_t begin, end;
	} pieces[RANDOM_GROUP];
	uint32_t n;
};

/* Create candidates that each lack one piece of `size` instructions. Begin at *begin, and advance *begin. */
static void propose_pieces(struct round *r, const struct random_program *p, uint32_t size, uint32_t *begin)
{
	for (r->n = 0; *begin < p->n && r->n < RANDOM_GROUP; *begin += size) {
		struct random_program *candidate = &r->candidates[r->n];

		if (!remove_insns(p, *begin, *begin + size, candidate) || !random_is_proven(candidate))
			continue;
		r->pieces[r->n++] = (struct piece){ *begin, *begin + size };
	}
}

/*
 * Create candidates that lack the first k pieces, where k is the number of all pieces, half of it, and so on down to
 * one.
 */
static void propose_together(struct round *r, const struct random_program *p, const struct piece *pieces, uint32_t npieces)
{
	r->n = 0;
	for (uint32_t k = npieces; k; k /= 2) {
		struct random_program *candidate = &r->candidates[r->n];

		*candidate = *p;
		for (uint32_t i = 0; i < k; i++) {
			struct random_program before = *candidate;

			remove_insns(&before, pieces[i].begin, pieces[i].end, candidate);
		}
		r->n += random_is_proven(candidate);
	}
}

static bool run_candidates(struct round *r)
{
	struct gpubpf_reason why;

	for (uint32_t i = 0; i < r->n; i++)
		r->list[i] = &r->candidates[i];
	return r->n && random_run_group(r->d, r->list, r->n, r->outcomes, &why) == 0;
}

/* Remove pieces of `size` instructions as long as the program still differs. Returns true if a piece was removed. */
static bool remove_pieces(struct round *r, struct random_program *p, uint32_t size, struct random_outcome *outcome)
{
	uint32_t begin = 0;
	bool taken = false;

	while (begin < p->n) {
		struct piece differing[RANDOM_GROUP];
		uint32_t n = 0;

		propose_pieces(r, p, size, &begin);
		if (!run_candidates(r))
			continue;
		for (uint32_t i = 0; i < r->n; i++)
			if (r->outcomes[i].differs)
				differing[n++] = r->pieces[i];
		propose_together(r, p, differing, n);
		if (!run_candidates(r))
			continue;
		for (uint32_t i = 0; i < r->n; i++)
			if (r->outcomes[i].differs) {
				*p = r->candidates[i];
				*outcome = r->outcomes[i];
				p->launch = outcome->launch;
				taken = true;
				break;
			}
	}
	return taken;
}

void random_minimise(const struct conformance_device *d, struct random_program *program, struct random_outcome *outcome)
{
	struct round *r = calloc(1, sizeof(*r));
	uint32_t size = program->n / 2;

	if (r)
		*r = (struct round){ .d = d, .candidates = calloc(RANDOM_GROUP, sizeof(*r->candidates)) };
	while (r && r->candidates && size)
		size = remove_pieces(r, program, size, outcome) && size == 1 ? 1 : size / 2;
	if (r && r->candidates) {
		drop_nops(program, &r->candidates[0]);
		r->n = random_is_proven(&r->candidates[0]);
		if (run_candidates(r) && r->outcomes[0].differs) {
			*program = r->candidates[0];
			*outcome = r->outcomes[0];
			program->launch = outcome->launch;
		}
		free(r->candidates);
	}
	free(r);
}
