/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/sass/analysis/callees.h"
#include "core/model/diag.h"
#include "core/target.h"
#include "core/wire/name.h"
#include "backends/cuda/sass/rewrite/count.h"
#include "backends/cuda/sass/isa/form.h"
#include "backends/cuda/sass/rewrite/patch.h"
#include "backends/cuda/sass/analysis/live.h"
#include "backends/cuda/sass/probe/probe.h"

#define PAD 8
#define ALL_BOARDS 0x3f
#define MAX_FIXED_CYCLES 45        /* cycles after which every fixed-latency result is ready */
#define REGCOUNT_EXTRA 3
#define MIN_BRANCH_CYCLES 5        /* minimum number of cycles from a branch to its target */

int sass_check_fail(struct checked *c, uint32_t at, const char *what)
{
	return gpubpf_diag_set(c->diag, GPUBPF_E_INJECT, GPUBPF_NOPC, "the twin is not what it should be at 0x%x: %s",
			       at * SASS_INSN, what);
}

/* The target of a branch, which may be anywhere. */
int64_t sass_check_target(const struct checked *c, uint32_t i)
{
	int64_t off = sass_branch(c->code->arch, insn_at(c, i));

	return off % SASS_INSN ? -1 : (int64_t)i + 1 + off / SASS_INSN;
}

/* -- pass: the kernel's instructions are unchanged, except exits, the entry, and added scoreboards -- */

/* The instruction as a branch to `to`, with the same predicates and control bits. */
static struct sass_insn to_branch(const struct checked *c, uint32_t i, uint32_t to)
{
	struct sass_insn insn = sass_with_field(sass_code_at(c->code, i), 0, 12, SASS_OP_BRA);

	return sass_with_branch(c->code->arch, insn, ((int64_t)to - i - 1) * SASS_INSN);
}

static bool has_added_board(struct sass_insn was, struct sass_insn is)
{
	return sass_lacks_board(was) && same(is, sass_with_board(was, SASS_PROBE_SB));
}

static bool has_added_predicate_board(const struct checked *c, struct sass_insn was, struct sass_insn is)
{
	return sass_predicate_lacks_board(c->code->arch, was) && same(is, sass_with_predicate_board(was));
}

/* Is it unchanged, or does it only have an added scoreboard? */
static bool is_unchanged(const struct checked *c, struct sass_insn was, struct sass_insn is)
{
	return same(was, is) || has_added_board(was, is) || has_added_predicate_board(c, was, is);
}

/* Is it a branch of all lanes, with no other bits set? */
static bool is_bare_branch(const struct checked *c, uint32_t i)
{
	return same(insn_at(c, i), sass_bra(c->code->arch, (sass_check_target(c, i) - i - 1) * SASS_INSN));
}

static int check_kernel_insns(struct checked *c)
{
	for (uint32_t i = 0; i < c->code->n && i < c->stubs; i++) {
		struct sass_insn was = sass_code_at(c->code, i), is = insn_at(c, i);

		if (i == c->at && c->entry != SASS_NONE) {
			if (!same(is, sass_bra(c->code->arch, ((int64_t)c->entry - i - 1) * SASS_INSN)))
				return sass_check_fail(c, i, "the entry does not branch to its probe");
		} else if (c->placed[i]) {
			if (!is_bare_branch(c, i))
				return sass_check_fail(c, i, "an instruction does not branch to its stub");
		} else if (sass_opcode(was) == SASS_OP_EXIT && c->exit != SASS_NONE) {
			if (!same(is, to_branch(c, i, c->exit)))
				return sass_check_fail(c, i, "an exit does not branch to its probe");
		} else if (!is_unchanged(c, was, is)) {
			return sass_check_fail(c, i, "an instruction of the kernel was changed");
		}
	}
	return 0;
}

/* -- pass: added instructions are known, and change nothing that belongs to the whole warp -- */

bool sass_check_is_moved(const struct checked *c, uint32_t i)
{
	return i < c->n ? c->entry != SASS_NONE && i == c->moved : c->met[i - c->n] & SASS_IN_STUB_OWN;
}

static int check_uniform(struct checked *c)
{
	for (uint32_t i = c->stubs; i < c->n; i++) {
		struct sass_insn insn = insn_at(c, i);

		if (sass_check_is_moved(c, i))
			continue;
		if (!sass_is_probe_insn(c->code->arch, insn) && !sass_is_count_insn(insn))
			return sass_check_fail(c, i, "a probe has an unknown instruction");
		if (sass_is_uniform(insn))
			return sass_check_fail(c, i, "a probe uses the uniform datapath");
	}
	return 0;
}

/* Is it code of an exit's probe for a warp that is converged? */
static bool is_warp_code(const struct checked *c, uint32_t i)
{
	return c->apart != SASS_NONE && i >= c->exit && i < c->apart;
}

static bool is_lane_code(const struct checked *c, uint32_t i)
{
	return c->apart != SASS_NONE && i >= c->apart && (c->entry == SASS_NONE || i < c->entry);
}

/* Barriers of the kernel at which no lane waits after the entry's probe, as bits. All lanes reach its end, which breaks
 * these barriers. */
static unsigned broken_barriers(const struct checked *c)
{
	unsigned left = 0;

	for (uint32_t i = c->moved; c->entry != SASS_NONE && i-- > c->entry;) {
		uint32_t opcode = sass_opcode(insn_at(c, i));

		if (!sass_is_unconditional(insn_at(c, i)) || (opcode != SASS_OP_BREAK && opcode != SASS_OP_WARPSYNC_ALL))
			break;
		left |= opcode == SASS_OP_BREAK ? 1u << sass_field(insn_at(c, i), 16, 4) : 0;
	}
	return left;
}

static int check_barriers(struct checked *c)
{
	unsigned used = c->code->barriers_used & ~broken_barriers(c);

	for (uint32_t i = c->stubs; i < c->n; i++) {
		uint32_t opcode = sass_opcode(insn_at(c, i));
		unsigned field = sass_barrier_at(insn_at(c, i));

		if (is_lane_code(c, i) && (opcode == SASS_OP_VOTE || opcode == SASS_OP_MATCH || opcode == SASS_OP_WARPSYNC_ALL))
			return sass_check_fail(c, i, "code for single lanes at an exit votes or reconverges");
		if (!field)
			continue;
		if (is_warp_code(c, i))
			continue;
		if (c->entry == SASS_NONE || i < c->entry)
			return sass_check_fail(c, i, "lanes that reach an exit separately use a convergence barrier");
		if (used >> sass_field(insn_at(c, i), field, 4) & 1)
			return sass_check_fail(c, i, "a probe uses a convergence barrier of the kernel");
	}
	return 0;
}

/* -- pass: branches stay in the added code, each in the code of its probe, except the way back -- */

static bool falls_through_to(const struct checked *c, uint32_t at)
{
	uint32_t opcode = sass_opcode(insn_at(c, at - 1));

	return !sass_is_unconditional(insn_at(c, at - 1)) || (opcode != SASS_OP_BRA && opcode != SASS_OP_EXIT);
}

static int check_branches(struct checked *c)
{
	bool back = c->entry == SASS_NONE, both = c->entry != SASS_NONE && c->exit != SASS_NONE;

	if (both && (c->entry <= c->exit || falls_through_to(c, c->entry)))
		return sass_check_fail(c, c->entry, "the exit's probe falls through to the entry's");
	if (c->apart != SASS_NONE && falls_through_to(c, c->apart))
		return sass_check_fail(c, c->apart, "code for the whole warp falls through to code for single lanes");

	for (uint32_t i = c->stubs; i < c->n; i++) {
		int64_t to;

		if (sass_check_is_moved(c, i) || !sass_has_target(insn_at(c, i)))
			continue;
		to = sass_check_target(c, i);
		if (i && sass_check_is_moved(c, i - 1) && to == (int64_t)c->at + 1)
			back = sass_is_unconditional(insn_at(c, i));
		else if (to < c->stubs || to >= c->n || (both && (i < c->entry) != (to < c->entry)))
			return sass_check_fail(c, i, "a probe branches out of its code");
		else if (is_warp_code(c, i) != is_warp_code(c, to) && i != c->asks)
			return sass_check_fail(c, i, "a branch mixes code for the whole warp and code for single "
						      "lanes");
	}
	return back ? 0 : sass_check_fail(c, c->entry, "the entry's probe does not branch back to the kernel");
}

/* -- pass: registers -- */

/* The lowest register that the instructions use, and one above the highest. */
static void find_reg_span(const struct checked *c, uint32_t from, uint32_t to, uint32_t *low, uint32_t *top)
{
	*low = SASS_RZ;
	*top = 0;
	for (uint32_t i = from; i < to; i++) {
		const struct sass_form *form = sass_form_find(sass_opcode(insn_at(c, i)));

		for (unsigned o = 0; o < SASS_OPERANDS && !sass_check_is_moved(c, i); o++) {
			struct sass_operand x = sass_operand(form, insn_at(c, i), o);

			if (!x.n)
				continue;
			*low = x.reg < *low ? x.reg : *low;
			*top = (uint32_t)x.reg + x.n > *top ? (uint32_t)x.reg + x.n : *top;
		}
	}
}

static int check_registers(struct checked *c)
{
	uint32_t low, top;

	find_reg_span(c, c->stubs, c->n, &low, &top);
	if (top && top + REGCOUNT_EXTRA - 1 > c->new_regs)
		return sass_check_fail(c, c->stubs, "probes use more registers than the twin declares");
	if (c->new_regs < c->regs || c->new_regs > SASS_REGS_MAX)
		return sass_check_fail(c, 0, "the twin declares an impossible number of registers");
	if (c->code->maxreg && (top > c->code->maxreg || c->new_regs != c->regs))
		return sass_check_fail(c, c->stubs, "probes use more registers than USETMAXREG leaves");
	return 0;
}

/* -- pass: the entry's probe preserves the kernel's registers -- */

/* The instruction of an exit's probe that waits for the kernel's operations in flight. If the kernel falls through into
 * the probe, it is the second one: the first does not see yet a scoreboard that the kernel has just set. */
static uint32_t wait_index(const struct checked *c)
{
	return c->exit + (c->stubs == c->code->tail);
}

unsigned sass_check_exit_waits(const struct checked *c)
{
	return sass_wait_mask(insn_at(c, c->exit)) | sass_wait_mask(insn_at(c, wait_index(c)));
}

unsigned sass_check_entry_pending(const struct checked *c)
{
	unsigned left = 0;

	for (uint32_t i = c->entry; c->entry != SASS_NONE && i < c->moved; i++)
		left = sass_pending_boards(left, insn_at(c, i));
	return left;
}

/* Later probes use the same registers, so they wait for what the entry's probe leaves in flight. */
static int check_entry_pending(struct checked *c)
{
	for (uint32_t i = c->entry; i < c->moved; i++)
		if (sass_lacks_board(insn_at(c, i)))
			return sass_check_fail(c, i, "the entry's probe leaves work in flight without a scoreboard");
	if (c->exit != SASS_NONE && sass_check_entry_pending(c) & ~sass_check_exit_waits(c))
		return sass_check_fail(c, c->exit, "an exit's probe does not wait for the work of the entry's probe");
	return 0;
}

static int check_entry(struct checked *c)
{
	uint32_t low, top;

	if (c->entry == SASS_NONE)
		return 0;
	if (c->placed[c->at] ? !is_bare_branch(c, c->moved) :
			       !is_unchanged(c, sass_code_at(c->code, c->at), insn_at(c, c->moved)))
		return sass_check_fail(c, c->moved, "the instruction at the entry does not execute after the probe");
	for (uint32_t i = c->code->begin; i < c->at; i++)
		if (!sass_may_precede_entry(sass_code_at(c->code, i)) || c->code->entered[i + 1])
			return sass_check_fail(c, i, "the kernel does more than read before its entry's probe");
	find_reg_span(c, c->entry, c->n, &low, &top);
	if (c->at > c->code->begin && low < c->regs)
		return sass_check_fail(c, c->entry, "the entry's probe overwrites registers that the kernel has "
						     "loaded");
	return c->exit == SASS_NONE && !c->around->n ? 0 : check_entry_pending(c);
}

/* -- pass: operations of the kernel in flight at an exit -- */

/* The first instruction that writes a predicate that the kernel may write too; `to` if there is none. */
static uint32_t find_predicate_write(const struct checked *c, uint32_t from, uint32_t to)
{
	unsigned used = sass_predicates_used(c->code);

	while (from < to && !(sass_predicates_written(insn_at(c, from)) & used))
		from++;
	return from;
}

/* Cycles from the kernel's last instruction to instruction `at` of an exit's probe. */
static unsigned cycles_until(const struct checked *c, uint32_t at)
{
	unsigned time = c->stubs == c->code->tail ? 0 : MIN_BRANCH_CYCLES;

	for (uint32_t i = c->exit; i < at; i++)
		time += sass_min_cycles(insn_at(c, i));
	return time;
}

static bool stalls_for_results(const struct checked *c)
{
	unsigned time = 0;

	for (uint32_t i = c->exit; i < c->n && sass_opcode(insn_at(c, i)) == SASS_OP_NOP; i++)
		time += sass_stall(insn_at(c, i));
	return time >= MAX_FIXED_CYCLES;
}

static bool waits_for_all(const struct checked *c)
{
	struct sass_insn first = insn_at(c, c->exit), waits = insn_at(c, wait_index(c));

	if (wait_index(c) != c->exit && (sass_opcode(first) != SASS_OP_NOP || sass_stall(first) < SASS_SCOREBOARD_CYCLES))
		return false;
	return sass_wait_mask(waits) == ALL_BOARDS;
}

int sass_check_predicate_boards(struct checked *c)
{
	for (uint32_t i = 0; i < c->code->n && i < c->stubs; i++)
		if (!c->placed[i] && sass_predicate_lacks_board(c->code->arch, insn_at(c, i)))
			return sass_check_fail(c, i, "the kernel writes a predicate without a scoreboard");
	return 0;
}

static int check_in_flight(struct checked *c)
{
	uint32_t low, top, end = c->entry != SASS_NONE && c->entry > c->exit ? c->entry : c->n, writes;
	int err;

	if (c->exit == SASS_NONE)
		return 0;
	if (c->stubs == c->code->tail && sass_wait_mask(sass_code_at(c->code, c->stubs)) &
						 ~(sass_wait_mask(insn_at(c, c->exit)) | sass_wait_mask(insn_at(c, wait_index(c)))))
		return sass_check_fail(c, c->exit, "the last exit does not wait as it did in the kernel");
	find_reg_span(c, c->exit, end, &low, &top);
	if (low < c->regs && (!waits_for_all(c) || !stalls_for_results(c)))
		return sass_check_fail(c, c->exit, "an exit's probe does not wait for the kernel's operations in "
						    "flight");
	writes = find_predicate_write(c, c->exit, end);
	if (writes == end)
		return 0;
	err = sass_check_predicate_boards(c);
	if (err < 0)
		return err;
	if (low >= c->regs && c->code->slow_predicates && !waits_for_all(c))
		return sass_check_fail(c, c->exit, "the kernel may write a predicate after an exit's probe began");
	if (cycles_until(c, writes) < SASS_PREDICATE_CYCLES)
		return sass_check_fail(c, writes, "an exit's probe writes a predicate too soon after the kernel");
	return 0;
}

/* -- pass: an instruction waits for a scoreboard only when it sees that the scoreboard was set -- */

static int check_seen(struct checked *c)
{
	uint32_t set[SASS_SCOREBOARDS] = { 0 }, now = SASS_SCOREBOARD_CYCLES; /* set: the first cycle in which a wait sees it */

	for (uint32_t i = c->stubs; i < c->all; i++) {
		struct sass_insn insn = insn_at(c, i);

		for (unsigned b = 0; b < SASS_SCOREBOARDS; b++) {
			if (sass_wait_mask(insn) >> b & 1 && now < set[b])
				return sass_check_fail(c, i, "a probe waits for a scoreboard too soon after it was set");
			if (sass_boards_set(insn) >> b & 1)
				set[b] = now + SASS_SCOREBOARD_CYCLES;
		}
		now += sass_min_cycles(insn);
	}
	return 0;
}

/* -- pass: fixed latencies in probes -- */

/* Cycles until a predicate can guard, and until a result can be read: the fewest that compilers use anywhere. */
#define MIN_GUARD_CYCLES 12

#define MIN_RESULT_CYCLES 4
#define WIDE_HALF_CYCLES 2         /* IMAD.WIDE writes its low half by this many cycles earlier, and reads its high half
                                    * by this many later */

static unsigned wide_half_cycles(struct sass_insn insn)
{
	return (sass_opcode(insn) & 0x1ff) == 0x025 ? WIDE_HALF_CYCLES : 0;
}

static int check_times(struct checked *c)
{
	uint32_t reg[256] = { 0 }, predicate[8] = { 0 }, now = 0;

	for (uint32_t i = c->stubs; i < c->all; i++) {
		struct sass_insn insn = insn_at(c, i);
		const struct sass_form *form = sass_form_find(sass_opcode(insn));
		bool fixed = !sass_is_slow(insn);
		struct sass_operand result;
		unsigned written;

		if (sass_check_is_moved(c, i))
			continue;
		for (unsigned o = 1; o < SASS_OPERANDS; o++) {
			struct sass_operand x = sass_operand(form, insn, o);

			for (unsigned k = 0; k < x.n; k++)
				if (now + wide_half_cycles(insn) < reg[(x.reg + k) & 255])
					return sass_check_fail(c, i, "a probe reads a register before its result is ready");
		}
		if (now < predicate[sass_field(insn, 12, 3)])
			return sass_check_fail(c, i, "a probe reads a predicate before it is ready");
		result = sass_operand(form, insn, 0);
		for (unsigned k = 0; k < result.n; k++)
			reg[(result.reg + k) & 255] = fixed ? now + MIN_RESULT_CYCLES - wide_half_cycles(insn) : 0;
		written = fixed ? sass_predicates_written(insn) : 0;
		for (unsigned p = 0; p < SASS_PT; p++)
			if (written >> p & 1)
				predicate[p] = now + MIN_GUARD_CYCLES;
		now += sass_min_cycles(insn);
	}
	return 0;
}

/* -- set-up -- */

/* The instruction that branches to the entry's probe. With stubs the probes' registers are above the kernel's, so it is
 * the late entry. */
static uint32_t find_entry_branch(const struct checked *c)
{
	bool stubs = c->around->n || c->code->nconstants;

	return !stubs && sass_opcode(insn_at(c, c->code->begin)) == SASS_OP_BRA ? c->code->begin : c->code->entry_limit;
}

/* Finds the entry's probe, which follows the exit's. */
static void find_entry(struct checked *c)
{
	int64_t to = sass_check_target(c, c->at);

	c->entry = to >= c->stubs && to < c->n ? to : c->stubs;
	c->moved = c->n - 1;
	while (c->moved > c->entry && (sass_opcode(insn_at(c, c->moved)) != SASS_OP_BRA || sass_check_target(c, c->moved) != (int64_t)c->at + 1))
		c->moved--;
	c->moved -= c->moved > c->entry;
	c->stands[c->at] = c->moved;
}

/* After its waits an exit's probe may test whether the whole warp is converged. If it is not, the probe branches. */
static void find_lane_code(struct checked *c)
{
	uint32_t i = c->exit, reg;
	int64_t to;

	c->asks = c->apart = SASS_NONE;
	while (i < c->n && sass_opcode(insn_at(c, i)) == SASS_OP_NOP)
		i++;
	if (c->exit == SASS_NONE || i + 3 > c->n)
		return;
	reg = sass_field(insn_at(c, i), 16, 8);
	to = sass_check_target(c, i + 2);
	if (!same(insn_at(c, i), sass_vote(reg)) || !same(insn_at(c, i + 1), sass_isetp_imm(0, reg, UINT32_MAX, false)) ||
	    sass_opcode(insn_at(c, i + 2)) != SASS_OP_BRA || sass_field(insn_at(c, i + 2), 12, 4) || to <= i || to >= c->n)
		return;
	c->asks = i + 2;
	c->apart = to;
}

/* Is this the kernel's name with the prefix of twins? */
static bool is_twin_of(const char *twin, const char *kernel)
{
	char name[GPUBPF_NAME_SIZE];

	gpubpf_name_short(kernel, strlen(kernel), name);
	return !strncmp(twin, GPUBPF_TWIN_PREFIX, strlen(GPUBPF_TWIN_PREFIX)) && !strcmp(twin + strlen(GPUBPF_TWIN_PREFIX), name);
}

static void update_first_stub(struct checked *c, uint32_t from)
{
	int64_t to = sass_check_target(c, from);

	if (to >= c->stubs && to < c->n)
		c->n = to;
}

/* Finds the first stub of a single instruction; stubs follow all other code. */
static void find_first_stub(struct checked *c, bool entry)
{
	for (uint32_t k = 0; k < c->around->n + c->code->nconstants; k++) {
		uint32_t at = k < c->around->n ? c->around->list[k].place.at : c->code->constants[k - c->around->n];

		c->placed[at] = true;
		if (!entry || at != c->at)
			update_first_stub(c, at);
	}
}

static int open_twin(struct checked *c, const struct sass_kernel *kernel, const void *twin, size_t size, bool entry, bool exit)
{
	const char *name = c->app->symbols[kernel->symbol].name;
	const struct sass_kernel *k;
	int err = sass_cubin_open(twin, size, &c->twin, c->diag);

	if (err < 0)
		return err;
	k = c->twin.nkernels == 1 ? &c->twin.kernels[0] : NULL;
	if (!k || !is_twin_of(c->twin.symbols[k->symbol].name, name) || !k->info)
		return sass_check_fail(c, 0, "it does not consist of exactly this kernel");
	c->bytes = c->twin.sections[k->text].data;
	c->all = c->n = c->twin.sections[k->text].size / SASS_INSN;
	c->stubs = exit && c->code->tail != SASS_NONE ? c->code->tail : (c->code->n + PAD - 1) / PAD * PAD;
	c->new_regs = k->regs;
	if (c->n <= c->stubs || c->twin.symbols[k->symbol].head.st_size != c->n * SASS_INSN)
		return sass_check_fail(c, 0, "its symbol's size is not the size of its code");
	if (k->stack < kernel->stack || k->frame < kernel->frame)
		return sass_check_fail(c, 0, "it declares less stack than the kernel");
	c->met = calloc(c->all, 1);
	c->placed = calloc(c->code->n, sizeof(*c->placed));
	c->stands = calloc(c->code->n, sizeof(*c->stands));
	if (!c->met || !c->placed || !c->stands)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->code->n; i++)
		c->stands[i] = i;
	c->at = find_entry_branch(c);
	find_first_stub(c, entry);
	c->exit = exit ? c->stubs : SASS_NONE;
	c->entry = SASS_NONE;
	if (entry)
		find_entry(c);
	if (entry && c->placed[c->at])
		update_first_stub(c, c->moved);
	find_lane_code(c);
	return 0;
}

/* -- pass: relocations of code, and copied functions -- */

struct relocation_check {
	struct checked *c;
	const struct sass_cubin *app;
	const struct sass_kernel *kernel;
	uint32_t text;                     /* section of the twin */
	uint32_t n, expected;
	const struct sass_relocation *wanted;
	bool found;
};

/* Does the twin's symbol, of code or of the driver, match the application's? */
static bool is_same_symbol(const struct relocation_check *f, const struct sass_symbol *is,
			   const struct sass_symbol *was)
{
	if (was->section == f->kernel->text)
		return is->section == f->c->twin.kernels[0].text;
	if (!was->section || was->section == SASS_NONE)
		return is->section == was->section && !strcmp(is->name, was->name);
	return is->section && is->section != SASS_NONE &&
	       !strcmp(f->c->twin.sections[is->section].name, f->app->sections[was->section].name);
}

static int match_relocation(void *arg, const struct sass_relocation *r)
{
	struct relocation_check *f = arg;
	const struct sass_cubin *twin = &f->c->twin;
	const struct sass_symbol *s, *was = &f->app->symbols[f->wanted->symbol];

	if (r->symbol >= twin->nsymbols || r->off != f->wanted->off || r->type != f->wanted->type ||
	    r->addend != f->wanted->addend)
		return 0;
	s = &twin->symbols[r->symbol];
	f->found |= s->head.st_value == was->head.st_value && is_same_symbol(f, s, was);
	return 0;
}

static int count_relocation(void *arg, const struct sass_relocation *r)
{
	(void)r;
	((struct relocation_check *)arg)->n++;
	return 0;
}

/* An address of code must be in the twin. The agent fills in the addresses of variables. */
static int check_relocation(void *arg, const struct sass_relocation *r)
{
	struct relocation_check *f = arg;

	if (ELF64_ST_TYPE(f->app->symbols[r->symbol].head.st_info) == STT_OBJECT)
		return 0;
	f->wanted = r;
	f->found = false;
	f->expected++;
	sass_relocations_each(&f->c->twin, f->text, match_relocation, f);
	return f->found ? 0 : sass_check_fail(f->c, r->off / SASS_INSN, "a relocation does not refer to the twin's code");
}

static int check_text(struct checked *c, const struct sass_cubin *app, const struct sass_kernel *kernel, uint32_t section)
{
	bool own = section == kernel->text;
	uint32_t text = own ? c->twin.kernels[0].text : sass_section_find(&c->twin, app->sections[section].name);
	struct relocation_check f = { .c = c, .app = app, .kernel = kernel, .text = text };
	const struct sass_section *was = &app->sections[section], *is = &c->twin.sections[text];
	int err;

	if (!own && (!text || is->size != was->size || memcmp(is->data, was->data, was->size)))
		return sass_check_fail(c, 0, "a function that it calls was changed");
	err = sass_relocations_each(app, section, check_relocation, &f);
	sass_relocations_each(&c->twin, text, count_relocation, &f);
	return !err && f.n != f.expected ? sass_check_fail(c, 0, "it has relocations that the kernel does not have") : err;
}

static int check_texts(struct checked *c, const struct sass_cubin *app, const struct sass_kernel *kernel)
{
	struct sass_texts texts;
	int err = sass_texts_find(app, kernel, &texts, c->diag);

	if (err < 0)
		return err;
	for (uint32_t i = 0; !err && i < texts.n; i++)
		err = check_text(c, app, kernel, texts.section[i]);
	sass_texts_finish(&texts);
	return err;
}

int sass_check(const struct sass_cubin *app, const struct sass_kernel *kernel, const struct sass_code *code,
	       const struct sass_twin *twin, const struct sass_twin_contents *has, const struct sass_insn_probes *around, struct gpubpf_diag *diag)
{
	static int (*const passes[])(struct checked *c) = {
		check_kernel_insns, sass_check_insn_probes, sass_check_constant, sass_check_unclaimed, sass_check_counting, check_uniform, check_barriers, check_branches, check_registers, check_entry,
		check_in_flight, sass_check_flight, sass_check_reused_values, sass_check_pending, check_seen, check_times, sass_check_exit_list,
	};
	struct checked c = { .code = code, .regs = kernel->regs, .text = kernel->text, .info = kernel->info, .around = around, .app = app,
			     .bindings = twin->bindings, .nbindings = twin->nbindings, .counts = has->counts, .diag = diag };
	int err = open_twin(&c, kernel, twin->cubin.data, twin->cubin.size, has->entry, has->exit);

	for (size_t i = 0; !err && i < sizeof(passes) / sizeof(*passes); i++)
		err = passes[i](&c);
	if (!err)
		err = check_texts(&c, app, kernel);
	if (!err)
		err = sass_check_callee_sizes(&c, kernel);
	free(c.met);
	free(c.placed);
	free(c.stands);
	sass_cubin_finish(&c.twin);
	return err;
}
