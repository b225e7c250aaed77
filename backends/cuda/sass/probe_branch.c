/* SPDX-License-Identifier: Apache-2.0 */
/* Branches and accesses that code at an exit, or of lanes alone, cannot have, as others that go the same ways and do the
 * same. */
#include "probe_work.h"

#include <errno.h>
#include <stdlib.h>

#include "code.h"

#define DIVERGENCE 3               /* instructions that a BRA.DIV becomes */
#define TABLES 2                   /* the constant bank */
#define MOST_ENTRIES 64
#define NEAR 4                     /* instructions between the read and the branch */

/* -- where a warp's lanes went different ways -- */

/* BRA.DIV asks whether the lanes that are here are those of a mask in a uniform register: VOTE, ISETP, BRA. */
static void put_divergence(const struct work *w, const struct line *from, struct line *to, uint8_t chosen)
{
	struct sass_insn differs = { 0xc0c | SASS_PT << 12 | (uint64_t)w->mask_at << 24 |
				     sass_field(from->insn, 24, 6) << 32, 0x0bf05070 };
	struct sass_insn branch = sass_bra(w->arch, 0);
	unsigned waits = sass_waits(from->insn);

	differs = sass_with(differs, 81, 3, chosen);
	branch = sass_with(branch, 12, 3, chosen);
	branch = sass_with(branch, SASS_STALL_AT, 4, sass_stall(from->insn));
	to[0].insn = sass_with(sass_vote(w->mask_at), SASS_WAIT_AT, 6, waits);
	to[1].insn = sass_with_control(differs, 0, SASS_PREDICATE_TIME);
	to[2].insn = branch;
	to[0].target = to[1].target = SASS_NONE;
	to[0].from = to[1].from = to[2].from = SASS_NONE;
	to[2].target = from->target;
}

/* -- computed branches: LDC of where to go from c[0x2], by an index, or a sum with the index of one of the branches that stand
 * behind it; BRX -- */

static uint32_t table_size(const struct work *w)
{
	return w->tables->data ? w->tables->size / 4 : 0;
}

uint32_t sass_work_entries(const struct work *w, uint32_t i)
{
	return w->lines[i].from != SASS_NONE ? table_size(w) : w->lines[i].run;
}

uint32_t sass_work_entry(const struct work *w, uint32_t i, uint32_t k)
{
	uint32_t at;

	if (w->lines[i].run)
		return w->lines[i + 1 + k].target;
	at = sass_get32(w->tables->data + 4 * k);
	return at % SASS_INSN || at / SASS_INSN >= w->n ? SASS_NONE : at / SASS_INSN;
}

static bool writes(struct sass_insn insn, uint32_t reg)
{
	const struct sass_form *form = sass_form_find(sass_opcode(insn));
	struct sass_operand result = { 0 };

	if (form)
		result = sass_operand(form, insn, 0);
	return !form || (result.n && !result.uniform && result.reg <= reg && reg < (uint32_t)result.reg + result.n);
}

/* The line that reads the table of the BRX at i, with nothing between that changes the index; SASS_NONE. */
static uint32_t find_table(const struct work *w, uint32_t i)
{
	uint32_t to = sass_field(w->lines[i].insn, 24, 8);

	for (uint32_t j = i; j-- && i - j <= NEAR && !w->lines[j + 1].entered;) {
		struct sass_insn insn = w->lines[j].insn;

		if (sass_opcode(insn) != SASS_OP_LDC || sass_field(insn, 16, 8) != to)
			continue;
		for (uint32_t k = j; k < i; k++)
			if (writes(w->lines[k].insn, sass_field(insn, 24, 8)))
				return SASS_NONE;
		return sass_constant_bank(insn) == TABLES && sass_field(insn, 12, 4) == SASS_PT ? j : SASS_NONE;
	}
	return SASS_NONE;
}

/* Branches that stand one behind the other from there on, each always taken. */
static uint32_t branches_from(const struct work *w, uint32_t i)
{
	uint32_t n = 0;

	while (i + n < w->n && n <= MOST_ENTRIES && sass_opcode(w->lines[i + n].insn) == SASS_OP_BRA &&
	       sass_is_plain(w->arch, w->lines[i + n].insn) && sass_unconditional(w->lines[i + n].insn))
		n++;
	return n;
}

int sass_work_find_jump(struct work *w, uint32_t i)
{
	struct line *line = &w->lines[i];
	int64_t off = sass_branch(w->arch, line->insn);

	if (off == -(int64_t)(i + 1) * SASS_INSN) { /* what was read counts from the start */
		line->from = find_table(w, i);
		if (line->from != SASS_NONE)
			w->lines[line->from].spare = true;
	} else if (!off) {
		line->run = branches_from(w, i + 1);
	}
	if (!sass_unconditional(line->insn) || !sass_work_entries(w, i) || sass_work_entries(w, i) > MOST_ENTRIES)
		return sass_work_refuse(w, "jumps to where a register says");
	for (uint32_t k = 0; k < sass_work_entries(w, i); k++) {
		if (sass_work_entry(w, i, k) == SASS_NONE)
			return sass_work_refuse(w, "has a table that leads out of it");
		w->lines[sass_work_entry(w, i, k)].entered = true;
	}
	w->jumps++;
	return 0;
}

/* ISETP, BRA for each entry; the last needs no comparison. */
static void put_jump(const struct work *w, uint32_t i, struct line *to, uint8_t chosen)
{
	const struct line *from = &w->lines[i];
	struct sass_insn read = from->run ? from->insn : w->lines[from->from].insn;
	uint32_t off = from->run ? 0 : (uint32_t)(int16_t)sass_constant_offset(read), step = from->run ? SASS_INSN : 4;
	uint32_t n = sass_work_entries(w, i);

	for (uint32_t k = 0; k < n; k++, to += 2) {
		struct sass_insn branch = sass_bra(w->arch, 0);
		bool last = k + 1 == n;

		to[0].insn = sass_with(sass_is(chosen, sass_field(read, 24, 8), step * k - off, true), SASS_WAIT_AT, 6,
				       k ? 0 : sass_waits(from->insn));
		to[0].target = to[0].from = to[1].from = SASS_NONE;
		to[0].run = to[!last].run = 0;
		to[!last].insn = last ? branch : sass_with(branch, 12, 3, chosen);
		if (last && !k)
			to[0].insn = sass_with(branch, SASS_WAIT_AT, 6, sass_waits(from->insn));
		to[!last].target = sass_work_entry(w, i, k);
	}
}

/* -- accesses at the sum of a register and a uniform one -- */

#define OP_STL 0x987               /* at a uniform address, which stands in 64 */
#define OP_STL_ALONE 0x387
#define OP_LDL 0x983               /* likewise where bit 91 is set, in 32 */
#define SUM_TIME 8                 /* cycles until an access can read it */

bool sass_work_adds(struct sass_insn insn)
{
	bool uniform = sass_opcode(insn) == OP_STL || (sass_opcode(insn) == OP_LDL && sass_field(insn, 91, 1));

	return uniform && sass_field(insn, 24, 8) != SASS_RZ;
}

/* IADD3 of the two, when those before it have read theirs; the access there. */
static void put_sum(const struct work *w, const struct line *from, struct line *to)
{
	bool store = sass_opcode(from->insn) == OP_STL;
	unsigned at = store ? 64 : 32;
	struct sass_insn sum = { 0xc10 | SASS_PT << 12 | (uint64_t)w->sum_at << 16 | sass_field(from->insn, 24, 8) << 24 |
				 sass_field(from->insn, at, 6) << 32, 0x0fffe0ff };
	struct sass_insn access = sass_with(sass_with(from->insn, 24, 8, w->sum_at), at, 8, 0);

	if (sass_read_board(access) == SASS_NO_SCOREBOARD)
		access = sass_with(access, SASS_READ_AT, 3, w->board);
	access = sass_with(sass_with(access, 91, 1, 0), SASS_REUSE_AT, 4, 0);
	to[0].insn = sass_with_control(sum, sass_waits(from->insn) | w->sum_boards, SUM_TIME);
	to[1] = *from;
	to[1].insn = store ? sass_with(access, 0, 12, OP_STL_ALONE) : access;
	to[1].entered = false;
}

/* -- all of them -- */

#define SUM 2                      /* instructions that an access at a sum becomes */

/* Lines that the line becomes. */
static uint32_t lines_of(const struct work *w, uint32_t i)
{
	if (sass_is_divergence(w->lines[i].insn))
		return DIVERGENCE;
	if (sass_work_adds(w->lines[i].insn))
		return SUM;
	return sass_work_entries(w, i) ? 2 * sass_work_entries(w, i) - 1 : 1;
}

static int put_lines(struct work *w, uint32_t i, struct line *to)
{
	const struct line *from = &w->lines[i];
	int chosen = sass_work_free_predicate(w, i);

	*to = *from;
	if (sass_work_adds(from->insn))
		put_sum(w, from, to);
	if (sass_work_adds(from->insn) || (lines_of(w, i) == 1 && !sass_work_entries(w, i)))
		return 0;
	if (chosen < 0)
		return sass_work_refuse(w, "has no predicate left");
	if (sass_is_divergence(from->insn))
		put_divergence(w, from, to, chosen);
	else
		put_jump(w, i, to, chosen);
	return 0;
}

int sass_work_open_lines(struct work *w)
{
	uint32_t *index = calloc(w->n + 1, sizeof(*index)), n = 0, at = 0;
	struct line *lines;
	int err;

	for (uint32_t i = 0; i < w->n; i++)
		n += lines_of(w, i);
	lines = calloc(n + 1, sizeof(*lines));
	err = index && lines ? 0 : -ENOMEM;
	for (uint32_t i = 0; !err && i < w->n; i++) {
		index[i] = at;
		err = put_lines(w, i, &lines[at]);
		at += lines_of(w, i);
	}
	for (uint32_t i = 0; !err && i < at; i++)
		if (lines[i].target != SASS_NONE)
			lines[i].target = index[lines[i].target];
	free(index);
	if (err < 0) {
		free(lines);
		return err;
	}
	free(w->lines);
	w->lines = lines;
	w->n = at;
	return 0;
}
