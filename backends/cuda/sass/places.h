/* SPDX-License-Identifier: Apache-2.0 */
/* The places of single instructions in a kernel's code. */
#ifndef GPUBPF_SASS_PLACES_H
#define GPUBPF_SASS_PLACES_H

#include "access.h"
#include "code.h"

struct sass_place {
	enum gpubpf_site kind;
	uint32_t id, at;           /* of its kind there; index of the instruction */
	struct sass_access access; /* of a place of memory's */
	uint32_t barrier;          /* of a barrier's: its number */
	const char *why;           /* what it gives cannot be told exactly; NULL: it can */
};

/* Of the kinds of that set, kind by kind, each in the order of the code: fn's non-zero return ends the walk and is
 * returned. */
int sass_places_each(const struct sass_code *code, uint32_t kinds, int (*fn)(void *arg, const struct sass_place *place),
		     void *arg);

#endif
