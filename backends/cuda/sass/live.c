/* SPDX-License-Identifier: Apache-2.0 */
#include "live.h"

#include "core/diag.h"
#include "form.h"

#define GRANULE 8                  /* registers are given out by so many */
#define FREE_REGS 32               /* of 65,536 for 2,048 threads: up to here no occupancy is lost */
#define COUNT_ABOVE 3              /* EIATTR_REGCOUNT is the highest register and this */

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

static uint32_t most_regs(uint32_t regs)
{
	uint32_t kept = round_up(regs, GRANULE);

	return kept > FREE_REGS ? kept : FREE_REGS;
}

uint32_t sass_live_most(const struct sass_code *code, uint32_t regs)
{
	uint32_t base = round_up(regs, 4), most = most_regs(regs);

	most = most > SASS_REGS_MAX ? SASS_REGS_MAX : most;
	return code->maxreg || base + COUNT_ABOVE - 1 > most ? 0 : most - base - (COUNT_ABOVE - 1);
}

int sass_live_room(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_room *room, struct gpubpf_diag *diag)
{
	uint32_t base = round_up(regs, 4), above = base + need + COUNT_ABOVE - 1, low = need + COUNT_ABOVE - 1;

	room->above = !code->maxreg && above <= SASS_REGS_MAX && round_up(above, GRANULE) <= most_regs(regs);
	room->base = room->above ? base : 0;
	room->regs = room->above ? above : low > regs ? low : regs;
	if (code->maxreg && (need > code->maxreg || room->regs > regs))
		return refuse(diag, "its probes need %u registers, and warps of it have %u only", need, code->maxreg);
	if (room->regs > SASS_REGS_MAX)
		return refuse(diag, "its probes need %u registers, more than a thread can have", need);
	return 0;
}

int sass_live_above(const struct sass_code *code, uint32_t regs, uint32_t need, struct sass_room *room, struct gpubpf_diag *diag)
{
	uint32_t base = round_up(regs, 4), above = base + need + COUNT_ABOVE - 1;

	*room = (struct sass_room){ .above = true, .base = base, .regs = above };
	if (code->maxreg)
		return refuse(diag, "its warps give registers back, and what stands at single instructions needs %u above them", need);
	if (above > SASS_REGS_MAX)
		return refuse(diag, "it has %u registers, and what stands at single instructions needs %u above them", regs, need);
	return 0;
}

/* Four registers from each field on, since the widest access has so many; fields that hold something else count too. */
bool sass_may_meet(struct sass_insn insn, uint32_t n)
{
	for (unsigned i = 0; i < SASS_OPERANDS; i++) {
		uint32_t reg = sass_field(insn, sass_operand_at[i], 8);

		if (reg != SASS_RZ && reg < n)
			return true;
	}
	return false;
}

unsigned sass_barrier_free(const struct sass_code *code)
{
	for (unsigned b = SASS_BARRIERS; b--;)
		if (!(code->barriers_used >> b & 1))
			return b;
	return SASS_BARRIERS;
}

/* A predicate is named at 81 or 84 by whoever writes it, but for R2P, which writes several; fields that hold something else count too. */
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

bool sass_has_bar(const struct sass_code *code)
{
	for (uint32_t i = 0; i < code->n; i++)
		if ((sass_opcode(sass_code_at(code, i)) & 0x1ff) == 0x11d)
			return true;
	return false;
}
