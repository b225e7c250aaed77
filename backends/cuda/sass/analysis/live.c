/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include "core/model/diag.h"
#include "backends/cuda/sass/isa/form.h"
#include "backends/cuda/sass/isa/scoreboard.h"

#define REG_GRANULE 8              /* registers are allocated in multiples of this */
#define FREE_REGS 32               /* registers per thread with which 2,048 threads share the 65,536 of a
                                    * multiprocessor: up to here no occupancy is lost */
#define REGCOUNT_EXTRA 3           /* EIATTR_REGCOUNT exceeds the number of the highest register by this */

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

static uint32_t max_free_regs(uint32_t regs)
{
	uint32_t rounded = round_up(regs, REG_GRANULE);

	return rounded > FREE_REGS ? rounded : FREE_REGS;
}

uint32_t sass_max_regs_above(const struct sass_code *code, uint32_t regs)
{
	uint32_t base = round_up(regs, 4), most = max_free_regs(regs);

	most = most > SASS_REGS_MAX ? SASS_REGS_MAX : most;
	return code->maxreg || base + REGCOUNT_EXTRA - 1 > most ? 0 : most - base - (REGCOUNT_EXTRA - 1);
}

int sass_alloc_reg_window(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_reg_window *room,
			  struct gpubpf_diag *diag)
{
	uint32_t base = round_up(regs, 4), above = base + need + REGCOUNT_EXTRA - 1, low = need + REGCOUNT_EXTRA - 1;

	room->above = !code->maxreg && above <= SASS_REGS_MAX && round_up(above, REG_GRANULE) <= max_free_regs(regs);
	room->base = room->above ? base : 0;
	room->regs = room->above ? above : low > regs ? low : regs;
	if (code->maxreg && (need > code->maxreg || room->regs > regs))
		return refuse(diag,
			      "its probes need %u registers, but USETMAXREG leaves its warps only "
			      "%u",
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
		return refuse(diag,
			      "its warps release registers (USETMAXREG), and probes at instructions need %u "
			      "above them",
			      need);
	if (above > SASS_REGS_MAX)
		return refuse(diag,
			      "it has %u registers, and probes at instructions need %u above them, more than a "
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

/* Instructions name the predicates that they write in fields 81 and 84, except R2P, which may write all. A field
 * with another meaning counts as a predicate, which is safe. */
unsigned sass_predicates_used(const struct sass_code *code)
{
	const unsigned all = (1u << SASS_PT) - 1;
	unsigned used = 0;

	for (uint32_t i = code->begin; i < code->n; i++) {
		struct sass_insn insn = sass_code_at(code, i);

		if ((sass_opcode(insn) & 0x1ff) == 0x004)
			return all;
		used |= 1u << sass_field(insn, 81, 3) | 1u << sass_field(insn, 84, 3);
	}
	return code->calls || code->by_pointer ? all : used & all;
}

#define OP_DSETP 0x02a
#define OP_ATOMS_CAST 0x38d        /* a whole opcode; only the other forms of ATOMS.CAST write a predicate */

bool sass_predicate_is_slow(struct sass_insn insn)
{
	bool first = sass_field(insn, 81, 3) != SASS_PT;

	switch (sass_opcode(insn) & 0x1ff) {
	case OP_DSETP:
		return first || sass_field(insn, 84, 3) != SASS_PT;
	case 0x100:
	case 0x102:
	case 0x11c:
	case 0x189:
	case 0x1c2: /* FLO, FCHK, B2R, SHFL, R2UR */
	case 0x160:
	case 0x163:
	case 0x166:
	case 0x16c:
	case 0x181:
	case 0x199: /* TEX, TLD4, TLD, TXD, LDG, SULD */
	case 0x18a:
	case 0x18b:
	case 0x1a1:
	case 0x1a2:
	case 0x1a3:
	case 0x1a8:
	case 0x1a9: /* ATOM, MATCH, ATOMG */
		return first;
	case OP_ATOMS_CAST & 0x1ff:
		return first && sass_opcode(insn) != OP_ATOMS_CAST;
	case 0x1a7:
	case 0x1aa:
	case 0x1b2:
	case 0x1e3: /* SYNCS, QSPC, UTCATOMSWS */
		return true;
	default:
		return false;
	}
}

/* Compilers give a dead result no scoreboard, but the hardware still writes the predicate after issue, when a stub
 * or the exit probe may use it. */
bool sass_predicate_lacks_board(const struct sass_arch *arch, struct sass_insn insn)
{
	bool timed = (sass_opcode(insn) & 0x1ff) == OP_DSETP && arch->timed_doubles;
	enum sass_class class = sass_op_find(sass_opcode(insn))->class;

	return (class == SASS_SLOW || class == SASS_LOAD) && sass_write_board(insn) == SASS_NO_SCOREBOARD && !timed &&
	       sass_predicate_is_slow(insn);
}

struct sass_insn sass_with_predicate_board(struct sass_insn insn)
{
	return sass_with_field(insn, SASS_WRITE_AT, 3, SASS_PROBE_SB);
}

bool sass_has_bar(const struct sass_code *code)
{
	for (uint32_t i = 0; i < code->n; i++)
		if ((sass_opcode(sass_code_at(code, i)) & 0x1ff) == 0x11d)
			return true;
	return false;
}
