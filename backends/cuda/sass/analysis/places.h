/* SPDX-License-Identifier: Apache-2.0 */
/* The places of single instructions in a kernel's code. */
#ifndef GPUBPF_SASS_PLACES_H
#define GPUBPF_SASS_PLACES_H

#include "backends/cuda/sass/isa/access.h"
#include "code.h"
#include "backends/cuda/sass/cubin/lines.h"

struct sass_place {
	enum gpubpf_site kind;
	uint32_t id, at;       /* id: number among the kernel's places of this kind. at: index of the
	                            * instruction. */
	uint8_t guard, second; /* predicates that must both hold for a lane to run the probe, plus 8 if negated;
	                            * SASS_PT: no condition */
	const char *file;      /* for a line place: the source file and the line number */
	uint32_t line;
	struct sass_access access; /* for a memory place: its access */
	uint32_t barrier;          /* for a barrier place: the number of the block barrier */
	const char *why;           /* the reason why the values of the place are not known exactly, a clause for
	                            * messages; NULL: they are */
};

/* Calls fn for the places of the kinds in the set, kind by kind, each kind in code order. text: index of the
 * kernel's section, for the line table. A nonzero result of fn ends the walk and is returned. May also return
 * -ENOMEM. */
int sass_places_each(const struct sass_code *code, uint32_t kinds, const struct gpubpf_lines *lines, uint32_t text,
		     int (*fn)(void *arg, const struct sass_place *place), void *arg);
/* Writes the name of a place whose kind has names, else "". The name of an instruction is the one of nvdisasm up to
 * the first dot. */
void sass_place_name(const struct sass_code *code, const struct sass_place *place, char *name, size_t size);

/* Does the instruction have the same effect at any address, if the distance to its target is adjusted? */
bool sass_is_relocatable(const struct sass_code *code, uint32_t at);
/* Returns the instruction of index `at` as a copy at index `to`: its target stays the same, and its reuse flags are
 * cleared. */
struct sass_insn sass_relocate_own_insn(const struct sass_arch *arch, struct sass_insn own, uint32_t at, uint32_t to);

#endif
