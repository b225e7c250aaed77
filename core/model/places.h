/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places, core/model/places.def as data: the points in a kernel's code at which programs can run. A place's kind is the enum
 * gpubpf_site of the programs that run there.
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
	GPUBPF_GIVES_NOTHING = 1 << 30, /* of an unavailable place; programs for it are refused */
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
	GPUBPF_NAMES_OPCODE,       /* this kind and the next two: each place has a name */
	GPUBPF_NAMES_MARK,
	GPUBPF_NAMES_LINE,
};

/* sets of spaces of memory; texture and surface memory has no addresses */
#define GPUBPF_IN(space) (1u << GPUBPF_##space)
#define GPUBPF_IN_TEXTURE (1u << 5)
#define GPUBPF_IN_ANY (GPUBPF_IN(GLOBAL) | GPUBPF_IN(SHARED) | GPUBPF_IN(LOCAL) | GPUBPF_IN(CONSTANT))
#define GPUBPF_IN_ALL (GPUBPF_IN_ANY | GPUBPF_IN_TEXTURE)

/* sets of kinds of access */
#define GPUBPF_DOES(access) (1u << GPUBPF_##access)
#define GPUBPF_DOES_ANY UINT32_MAX

enum gpubpf_when { GPUBPF_WHEN_BEFORE, GPUBPF_WHEN_AFTER };

struct gpubpf_place_kind {
	const char *name;          /* "entry" */
	enum gpubpf_where where;   /* how many such places a kernel has */
	enum gpubpf_names names;   /* what a program's pattern is matched with */
	uint32_t operands;         /* enum gpubpf_gives */
	const char *meaning;
	uint32_t spaces;           /* of a memory access: a set of GPUBPF_IN; else 0 */
	uint32_t accesses;         /* likewise a set of GPUBPF_DOES */
	enum gpubpf_when when;     /* relative to the instruction */
};

/* one place of a kernel */
struct gpubpf_place {
	enum gpubpf_site kind;
	const char *function;      /* the called function that contains the place; "": the kernel itself */
	uint32_t id;               /* number among the places of its kind there, from 0 in code order; constant for an
				    * image */
	uint32_t line;             /* source line; 0: not in the image */
	const char *name;          /* of places with names: opcode, mark or FILE:LINE, at most 255 bytes; else "" */
	uint32_t operands;         /* enum gpubpf_gives */
	uint32_t free;             /* in machine code, the registers per thread that the kernel does not use there. A
				    * probe may use them at no cost. Else 0 */
};

/* Returns a place with its kind's operands, in the code of the kernel or function for which it is listed. */
struct gpubpf_place gpubpf_place_of(enum gpubpf_site kind, uint32_t id, uint32_t line);

/*
 * The first: do places of this kind have names, which only the code contains? The last: does the pattern
 * (core/wire/match.h) match this place's name? The pattern may omit the folders of a file's path.
 */
bool gpubpf_place_has_name(enum gpubpf_site kind);
/* Can it match a name of that kind? The name of a line ends with a number. */
bool gpubpf_place_can_match(enum gpubpf_site kind, const char *pattern);
bool gpubpf_place_matches(const struct gpubpf_place *place, const char *pattern);
#define GPUBPF_PLACE_NAME 256 /* size of a buffer for a name, with its NUL */
/* Formats FILE:LINE as such a name; of a long path only the end. */
void gpubpf_place_line_name(const char *file, uint32_t line, char *name, size_t size);

/* The site is below GPUBPF_NSITES. NONE has the name "-". */
const struct gpubpf_place_kind *gpubpf_place_kind(enum gpubpf_site site);
/*
 * Corrects a misspelled place in a probe's name. For gpu/enter/scale, gpu:enter:scale or enter/scale it writes
 * gpu/entry/scale. False if no place is similar; buf is then unchanged.
 */
bool gpubpf_place_suggest(const char *name, char *buf, size_t size);
/* Returns the name of operand i, below GPUBPF_NOPERANDS: a member of the context. */
const char *gpubpf_operand_name(uint32_t i);
/* Returns the operand that contains a field of the context: MEM for "mem.addr". */
uint32_t gpubpf_operand_of(const char *field);

/* Returns the set of places with that `where`. */
uint32_t gpubpf_places_of(enum gpubpf_where where);

/* sets of places that a target supports */
#define GPUBPF_SITE_BIT(site) (1u << GPUBPF_SITE_##site)

#endif
