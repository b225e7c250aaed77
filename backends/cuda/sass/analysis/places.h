/* SPDX-License-Identifier: Apache-2.0 */
/* The places of single instructions in a kernel's code. */
#ifndef GPUBPF_SASS_PLACES_H
#define GPUBPF_SASS_PLACES_H

#include "backends/cuda/sass/isa/access.h"
#include "code.h"
#include "backends/cuda/sass/cubin/lines.h"

struct sass_place {
	enum gpubpf_site kind;
	uint32_t id, at;           /* number among the kernel's places of its kind, and index of the instruction */
	uint8_t guard, second;     /* predicates that must hold for a lane to count, plus 8 if negated; SASS_PT: every
	                            * lane counts */
	const char *file;          /* of the first instruction of a line: its file and line number */
	uint32_t line;
	struct sass_access access; /* of a memory place */
	uint32_t barrier;          /* of a barrier place: the barrier's number */
	const char *why;           /* why the values of the place are not known exactly; NULL: they are */
};

/* Calls fn for the places of the kinds in the set, kind by kind, each kind in code order. `text` is the kernel's
 * section in the line table. fn's non-zero return ends the walk and is returned; -ENOMEM. */
int sass_places_each(const struct sass_code *code, uint32_t kinds, const struct gpubpf_lines *lines, uint32_t text,
		     int (*fn)(void *arg, const struct sass_place *place), void *arg);
/* The name of a place of a kind with names, else "". The name of an instruction is nvdisasm's up to the first dot. */
void sass_place_name(const struct sass_code *code, const struct sass_place *place, char *name, size_t size);

/* Does the instruction do the same at any address, if the distance to its target is adjusted? */
bool sass_is_relocatable(const struct sass_code *code, uint32_t at);
/* The instruction of index `at` as it must be at index `to`: its target stays, and it keeps no operand for the next
 * instruction. */
struct sass_insn sass_relocate_own_insn(const struct sass_arch *arch, struct sass_insn own, uint32_t at, uint32_t to);

#endif
