/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the places at single instructions of a kernel. */
#ifndef GPUBPF_SASS_PLACES_H
#define GPUBPF_SASS_PLACES_H

#include "backends/cuda/sass/isa/access.h"
#include "code.h"
#include "backends/cuda/sass/cubin/lines.h"

struct sass_place {
	enum gpubpf_site kind;
	uint32_t id, at; /* id: number among the kernel's places of this kind. at: index of the
	                            * instruction. */
	/* numbers of two predicates, plus 8 if negated. Both conditions must hold for a lane to run the probe. SASS_PT:
	 * no condition. */
	uint8_t guard, second;
	const char *file; /* for a line place: the source file and the line number */
	uint32_t line;
	struct sass_access access; /* for a memory place: its access */
	uint32_t barrier;          /* for a barrier place: the number of the block barrier */
	const char *why;           /* a clause for messages that says why the values of the place are not known
	                            * exactly; NULL: they are known */
};

/* Calls fn for each place whose kind is in the set `kinds`, kind by kind. Places of a kind come in code order.
 * `text` is the index of the kernel's section, for the line table. A nonzero result of fn ends the walk and is
 * returned. May also return -ENOMEM. */
int sass_places_each(const struct sass_code *code, uint32_t kinds, const struct gpubpf_lines *lines, uint32_t text,
		     int (*fn)(void *arg, const struct sass_place *place), void *arg);
/* Writes the name of the place to `name`; "" if places of this kind have no names. The name of an instruction is the
 * name that nvdisasm prints, up to the first dot. */
void sass_place_name(const struct sass_code *code, const struct sass_place *place, char *name, size_t size);

/* Does the instruction have the same effect at any address, provided that the distance to its target is adjusted? */
bool sass_is_relocatable(const struct sass_code *code, uint32_t at);
/* Returns a copy of instruction `own` that can execute at index `to` instead of index `at`: it has the same target. The
 * copy has no reuse flags. */
struct sass_insn sass_relocate_own_insn(const struct sass_arch *arch, struct sass_insn own, uint32_t at, uint32_t to);

#endif
