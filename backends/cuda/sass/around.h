/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes around single instructions. The instruction becomes a branch, which all lanes take that come to it, to a stub
 * behind the code: what the place gives goes into registers above the kernel's, the instruction is carried out there as it
 * stood, before or behind the bodies, and the stub goes back. Bodies write registers above the kernel's alone; predicates
 * are kept; nothing of the warp's own is written. Where a body has branches lanes that came together wait for each other behind it.
 */
#ifndef GPUBPF_SASS_AROUND_H
#define GPUBPF_SASS_AROUND_H

#include "body.h"
#include "places.h"

struct gpubpf_diag;
struct sass_grafted;

/* a body at a place */
struct sass_around {
	struct sass_place place;
	uint32_t line;
	const struct sass_body *body;
};

struct sass_arounds {
	struct sass_around *list;  /* malloc'd by who made it: by instruction, then by kind */
	uint32_t n;
};

/* Is the place not for all lanes that come to it? */
static inline bool sass_around_is_guarded(const struct sass_place *place)
{
	return place->guard != SASS_PT || place->second != SASS_PT;
}

/* The instruction that stood at `at`, to be carried out at `to`: it goes where it went, and keeps no operand for the one that was
 * behind it. */
struct sass_insn sass_around_own(const struct sass_arch *arch, struct sass_insn own, uint32_t at, uint32_t to);
/* Registers that the bodies need above the kernel's, none if there are no bodies. */
uint32_t sass_around_regs(const struct sass_arounds *around, const struct sass_code *code);
/* Scoreboards by which what bodies leave in flight tells that it is done. */
unsigned sass_around_left(const struct sass_arounds *around);
/* Instructions that stubs are at most. */
size_t sass_around_room(const struct sass_arounds *around);
/* The stubs, behind what was grafted; before each, what these scoreboards say is waited for. -EINVAL and the reason. */
int sass_around_put(const struct sass_arounds *around, const struct sass_code *code, unsigned left, struct sass_grafted *out,
		    struct gpubpf_diag *diag);

#endif
