/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include "core/model/diag.h"
#include "backends/cuda/sass/isa/form.h"
#include "backends/cuda/sass/isa/scoreboard.h"

#define REG_GRANULE 8              /* the hardware allocates registers in multiples of this number */
#define FREE_REGS 32               /* 65,536 registers of a multiprocessor / 2,048 threads: up to this many registers
                                    * per thread cost no occupancy */
#define REGCOUNT_EXTRA 3           /* EIATTR_REGCOUNT is the number of the highest register plus this */

#define refuse(diag, ...) gpubpf_diag_refuse(diag, INJECT, __VA_ARGS__)

static uint32_t round_up(uint32_t n, uint32_t to)
{
	return (n + to - 1) / to * to;
}

struct gpubpf_live sass_live(const struct gpubpf_kernel_info *kernel, const struct gpubpf_place *place)
{
	bool begins = place->kind == GPUBPF_SITE_ENTRY || place->kind == GPUBPF_SITE_BLOCK_BEGIN;

	return (struct gpubpf_live){ .most = SASS_REGS_MAX, .to = begins ? 0 : kernel->regs };
}

static uint32_t count_free_regs(uint32_t regs)
{
	uint32_t rounded = round_up(regs, REG_GRANULE);

	return rounded > FREE_REGS ? rounded : FREE_REGS;
}

uint32_t sass_max_regs_above(const struct sass_code *code, uint32_t regs)
{
	uint32_t base = round_up(regs, 4), most = count_free_regs(regs);

	most = most > SASS_REGS_MAX ? SASS_REGS_MAX : most;
	return code->maxreg || base + REGCOUNT_EXTRA - 1 > most ? 0 : most - base - (REGCOUNT_EXTRA - 1);
}

int sass_alloc_reg_window(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_reg_window *room,
			  struct gpubpf_diag *diag)
{
	uint32_t base = round_up(regs, 4), above = base + need + REGCOUNT_EXTRA - 1, low = need + REGCOUNT_EXTRA - 1;

	room->above = !code->maxreg && above <= SASS_REGS_MAX && round_up(above, REG_GRANULE) <= count_free_regs(regs);
	room->base = room->above ? base : 0;
	room->regs = room->above ? above : low > regs ? low : regs;
	if (code->maxreg && (need > code->maxreg || room->regs > regs))
		return refuse(diag, "its probes need %u registers per thread, but USETMAXREG leaves a thread only %u",
			      need, code->maxreg);
	if (room->regs > SASS_REGS_MAX)
		return refuse(diag, "its probes need %u registers, more than a thread can have", need);
	return 0;
}

int sass_alloc_regs_above(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_reg_window *room,
			  struct gpubpf_diag *diag)
{
	uint32_t base = round_up(regs, 4), above = base + need + REGCOUNT_EXTRA - 1;

	*room = (struct sass_reg_window){ .above = true, .base = base, .regs = above };
	if (code->maxreg)
		return refuse(diag, "its warps release registers (USETMAXREG), and probes at instructions need %u more",
			      need);
	if (above > SASS_REGS_MAX)
		return refuse(diag,
			      "it has %u registers, and probes at instructions need %u more than that, more than a "
			      "thread can have",
			      regs, need);
	return 0;
}

unsigned sass_find_free_barrier(const struct sass_code *code)
{
	for (unsigned b = SASS_BARRIERS; b--;)
		if (!(code->barriers_used >> b & 1))
			return b;
	return SASS_BARRIERS;
}

/* An instruction names the predicates that it writes in the fields at bits 81 and 84; R2P may write all predicates.
 * A field with another meaning also counts as a predicate, which is safe. */
unsigned sass_predicates_used(const struct sass_code *code)
{
	const unsigned all = (1u << SASS_PT) - 1;
	unsigned used = 0;

	for (uint32_t i = code->begin; i < code->n; i++) {
		struct sass_insn insn = sass_code_at(code, i);

		if (sass_has(insn, SASS_WRITES_ALL_PREDICATES))
			return all;
		used |= 1u << insn.out | 1u << insn.second_out;
	}
	return code->calls || code->by_pointer ? all : used & all;
}

/* ATOMS.CAST with a destination register writes no predicate. */
bool sass_predicate_is_slow(struct sass_insn insn)
{
	if (sass_has(insn, SASS_SLOW_ANY_PREDICATE))
		return true;
	if (insn.opcode == SASS_OP_ATOMS_CAST)
		return false;
	return (sass_has(insn, SASS_SLOW_PREDICATE) && insn.out != SASS_PT) ||
	       (sass_has(insn, SASS_SLOW_SECOND_PREDICATE) && insn.second_out != SASS_PT);
}

/* Compilers omit the scoreboard of a dead predicate. The hardware still writes this predicate some time after issue,
 * when a stub or the exit probe may already use it. */
bool sass_predicate_lacks_board(const struct sass_arch *arch, struct sass_insn insn)
{
	bool timed = sass_is(insn, SASS_OPERATION_DSETP) && arch->timed_doubles;
	enum sass_class class = sass_op(insn)->class;

	return (class == SASS_SLOW || class == SASS_LOAD) && sass_write_board(insn) == SASS_NO_SCOREBOARD && !timed &&
	       sass_predicate_is_slow(insn);
}

struct sass_insn sass_with_predicate_board(struct sass_insn insn)
{
	return sass_with_write_board(insn, SASS_PROBE_SB);
}

bool sass_has_bar(const struct sass_code *code)
{
	for (uint32_t i = 0; i < code->n; i++)
		if (sass_is(sass_code_at(code, i), SASS_OPERATION_BAR))
			return true;
	return false;
}
