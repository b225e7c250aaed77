/* SPDX-License-Identifier: Apache-2.0 */
/* The places of single instructions in a kernel's code. */
#ifndef GPUBPF_SASS_PLACES_H
#define GPUBPF_SASS_PLACES_H

#include "access.h"
#include "code.h"
#include "lines.h"

struct sass_place {
	enum gpubpf_site kind;
	uint32_t id, at;           /* of its kind there; index of the instruction */
	uint8_t guard, second;     /* predicates, and 8 where one is negated, without which lanes do not count; SASS_PT */
	const char *file;          /* of the first instruction of a line: where that is, */
	uint32_t line;
	struct sass_access access; /* of a place of memory's */
	uint32_t barrier;          /* of a barrier's: its number */
	const char *why;           /* what it gives cannot be told exactly; NULL: it can */
};

/* Of the kinds of that set, kind by kind, each in the order of the code, which is the lines' section `text`: fn's non-zero return
 * ends the walk and is returned; -ENOMEM. */
int sass_places_each(const struct sass_code *code, uint32_t kinds, const struct gpubpf_lines *lines, uint32_t text,
		     int (*fn)(void *arg, const struct sass_place *place), void *arg);
/* Of a place with a name of its own, else "": of an instruction nvdisasm's up to the first dot. */
void sass_place_name(const struct sass_code *code, const struct sass_place *place, char *name, size_t size);

/* Is the instruction a relative branch that lanes take or not, by predicates of theirs or of the warp's? */
bool sass_is_choice(struct sass_insn insn);
/* Does it name another by its distance, in the field where branches have that? */
bool sass_is_by_distance(struct sass_insn insn);
/* Does it do the same wherever it stands, what it names by its distance being adjusted? */
bool sass_goes_anywhere(const struct sass_code *code, uint32_t at);

#endif
