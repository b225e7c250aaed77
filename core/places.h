/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places, core/places.def as data: where in a kernel's code programs can run. A place's kind is the enum gpubpf_site of
 * the programs that run there.
 */
#ifndef GPUBPF_CORE_PLACES_H
#define GPUBPF_CORE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpubpf/ctx.h"

/* the operands as bits, GPUBPF_GIVES_ARG and so on */
enum {
#define GPUBPF_OPERAND(NAME, field, meaning) GPUBPF_OPERAND_##NAME,
#include "places.def"
	GPUBPF_NOPERANDS,
};
enum gpubpf_gives {
#define GPUBPF_OPERAND(NAME, field, meaning) GPUBPF_GIVES_##NAME = 1 << GPUBPF_OPERAND_##NAME,
#include "places.def"
	GPUBPF_GIVES_NOTHING = 1 << 30, /* of a place that cannot be had: programs that would stand there are refused */
};
_Static_assert(GPUBPF_NOPERANDS < 30, "GPUBPF_GIVES_NOTHING is none of them");

enum {
	GPUBPF_NSITES = 1
#define GPUBPF_PLACE(NAME, number, name, where, names, operands, meaning) + 1
#include "places.def"
};

enum gpubpf_where { GPUBPF_WHERE_NONE, GPUBPF_WHERE_KERNEL, GPUBPF_WHERE_FUNCTION, GPUBPF_WHERE_INSN };
enum gpubpf_names {
	GPUBPF_NAMES_NONE,
	GPUBPF_NAMES_KERNEL,
	GPUBPF_NAMES_FUNCTION,
	GPUBPF_NAMES_OPCODE,       /* these three: places have names of their own */
	GPUBPF_NAMES_MARK,
	GPUBPF_NAMES_LINE,
};

/* sets of spaces of memory; texture and surface memory has no addresses */
#define GPUBPF_IN(space) (1u << GPUBPF_##space)
#define GPUBPF_IN_TEXTURE (1u << 5)
#define GPUBPF_IN_ANY (GPUBPF_IN(GLOBAL) | GPUBPF_IN(SHARED) | GPUBPF_IN(LOCAL) | GPUBPF_IN(CONSTANT))
#define GPUBPF_IN_ALL (GPUBPF_IN_ANY | GPUBPF_IN_TEXTURE)

/* sets of what an access does */
#define GPUBPF_DOES(access) (1u << GPUBPF_##access)
#define GPUBPF_DOES_ANY UINT32_MAX

enum gpubpf_when { GPUBPF_WHEN_BEFORE, GPUBPF_WHEN_AFTER };

struct gpubpf_place_kind {
	const char *name;          /* "entry" */
	enum gpubpf_where where;   /* how many of them a kernel has */
	enum gpubpf_names names;   /* what the pattern of such a program is matched with */
	uint32_t operands;         /* enum gpubpf_gives */
	const char *meaning;
	uint32_t spaces;           /* of an access of memory: GPUBPF_IN; else 0 */
	uint32_t accesses;         /* likewise: GPUBPF_DOES */
	enum gpubpf_when when;     /* of an instruction */
};

/* one place of a kernel */
struct gpubpf_place {
	enum gpubpf_site kind;
	const char *function;      /* whose code it is in, of those that the kernel calls; "": in the kernel's own */
	uint32_t id;               /* of its kind there, from 0 in the order of the code: the same while the image is */
	uint32_t line;             /* of the source; 0: the image does not say */
	const char *name;          /* of places with names: its opcode, its mark, FILE:LINE, as far as 255 bytes go; else "" */
	uint32_t operands;         /* enum gpubpf_gives */
	uint32_t free;             /* of machine code: registers of a thread that hold nothing of the kernel's there, and of which
				    * a probe can so use as many at no cost; else 0 */
};

/* With the operands of its kind, in the code of whom it is listed for. */
struct gpubpf_place gpubpf_place_of(enum gpubpf_site kind, uint32_t id, uint32_t line);

/* Have such places names of their own, which only the code tells? And does the pattern (core/wire/match.h) name this one?
 * Of a file's path it may leave out the folders. */
bool gpubpf_place_has_name(enum gpubpf_site kind);
/* Can it name any place of that kind? A line's has a number. */
bool gpubpf_place_can_match(enum gpubpf_site kind, const char *pattern);
bool gpubpf_place_matches(const struct gpubpf_place *place, const char *pattern);
#define GPUBPF_PLACE_NAME 256 /* bytes of a name at most */
/* FILE:LINE as such a name; of a long path its end. */
void gpubpf_place_line_name(const char *file, uint32_t line, char *name, size_t size);

/* Of a site below GPUBPF_NSITES; NONE is called "-". */
const struct gpubpf_place_kind *gpubpf_place_kind(enum gpubpf_site site);
/* For who wrote a probe's name that is none: with the place that is nearest, gpu/entry/scale for gpu/enter/scale, gpu:entry:scale
 * or entry/scale. False if none is near, and buf stays. */
bool gpubpf_place_near(const char *name, char *buf, size_t size);
/* Name of operand i, below GPUBPF_NOPERANDS: of the context's member. */
const char *gpubpf_operand_name(uint32_t i);
/* The operand that a field of the context belongs to: "mem.addr" to MEM. */
uint32_t gpubpf_operand_of(const char *field);

/* The places of which there are so many, as a set. */
uint32_t gpubpf_places_of(enum gpubpf_where where);

/* sets of places, by which a target says what it takes */
#define GPUBPF_TAKES(site) (1u << GPUBPF_SITE_##site)

#endif
