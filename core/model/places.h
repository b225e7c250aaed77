/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/model/places.def as data: the places, which are the points in a GPU kernel's code at which BPF programs can run.
 * A place's kind is the enum gpubpf_site of the programs that run there.
 */
#ifndef GPUBPF_CORE_PLACES_H
#define GPUBPF_CORE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpubpf/ctx.h"

/* operands of places.def as bits: GPUBPF_GIVES_ARG and so on */
enum {
#define GPUBPF_OPERAND(NAME, field, meaning) GPUBPF_OPERAND_##NAME,
#include "places.def"
	GPUBPF_NOPERANDS,
};
enum gpubpf_gives {
#define GPUBPF_OPERAND(NAME, field, meaning) GPUBPF_GIVES_##NAME = 1 << GPUBPF_OPERAND_##NAME,
#include "places.def"
	GPUBPF_GIVES_NOTHING = 1 << 30, /* a kind of place that does not exist; gpubpf refuses programs for it */
};
_Static_assert(GPUBPF_NOPERANDS < 30, "GPUBPF_GIVES_NOTHING must not be the bit of an operand");

enum {
	GPUBPF_NSITES = 1
#define GPUBPF_PLACE(NAME, number, name, where, names, operands, meaning) + 1
#define GPUBPF_HOST_PLACE(NAME, number, name, operands, meaning) + 1
#include "places.def"
};

enum gpubpf_where {
	GPUBPF_WHERE_NONE,
	GPUBPF_WHERE_KERNEL,
	GPUBPF_WHERE_FUNCTION,
	GPUBPF_WHERE_INSN,
	GPUBPF_WHERE_HOST, /* not in a kernel: a call of the GPU runtime, on the CPU */
};
enum gpubpf_names {
	GPUBPF_NAMES_NONE,
	GPUBPF_NAMES_KERNEL,
	GPUBPF_NAMES_FUNCTION,
	GPUBPF_NAMES_OPCODE, /* names of this and the next two kinds belong to single places, not to kernels */
	GPUBPF_NAMES_MARK,
	GPUBPF_NAMES_LINE,
};

/* sets of memory spaces; texture and surface memory has no addresses */
#define GPUBPF_IN(space) (1u << GPUBPF_##space)
#define GPUBPF_IN_TEXTURE (1u << 5)
#define GPUBPF_IN_ANY (GPUBPF_IN(GLOBAL) | GPUBPF_IN(SHARED) | GPUBPF_IN(LOCAL) | GPUBPF_IN(CONSTANT))
#define GPUBPF_IN_ALL (GPUBPF_IN_ANY | GPUBPF_IN_TEXTURE)

/* sets of kinds of access (enum gpubpf_mem_access) */
#define GPUBPF_DOES(access) (1u << GPUBPF_##access)
#define GPUBPF_DOES_ANY UINT32_MAX

enum gpubpf_when { GPUBPF_WHEN_BEFORE, GPUBPF_WHEN_AFTER };

struct gpubpf_place_kind {
	const char *name;        /* "entry" */
	enum gpubpf_where where; /* where in a kernel places of this kind are */
	enum gpubpf_names names; /* the kind of name that a program's pattern must match */
	uint32_t operands;       /* the operands that places of this kind provide: set of enum gpubpf_gives */
	const char *meaning;
	uint32_t spaces;       /* for a memory access: its memory spaces, a set of GPUBPF_IN; else 0 */
	uint32_t accesses;     /* for a memory access: its kinds of access, a set of GPUBPF_DOES; else 0 */
	enum gpubpf_when when; /* whether the program runs before or after the instruction */
};

/* One place in a kernel's code. */
struct gpubpf_place {
	enum gpubpf_site kind;
	const char *function; /* name of the called function that contains the place; "": the kernel itself */
	/* index among the places of this kind in the kernel or function, from 0 in code order; constant for an image */
	uint32_t id;
	uint32_t line;     /* source line; 0 if the image has no line information */
	const char *name;  /* opcode, mark or FILE:LINE, at most 255 bytes; "" for kinds of places without names */
	uint32_t operands; /* enum gpubpf_gives */
	/*
	 * for machine code: number of registers per thread that the kernel does not use at this place. A probe may use
	 * them at no cost.
	 */
	uint32_t free;
};

/*
 * Returns a place of this kind with the kind's operands. Its `function` is NULL, which means the kernel or function
 * that lists the place.
 */
struct gpubpf_place gpubpf_place_of(enum gpubpf_site kind, uint32_t id, uint32_t line);

/*
 * gpubpf_place_has_name() returns true if places of this kind have names, such as an opcode or FILE:LINE. These names
 * come from the GPU kernel's code. The function gpubpf_place_matches() returns true if the pattern (core/wire/match.h)
 * matches the place's name. For a line, the pattern may omit the folders of the file's path.
 */
bool gpubpf_place_has_name(enum gpubpf_site kind);
/* Returns true if the pattern can match a name of that kind. The name of a line ends with a number. */
bool gpubpf_place_can_match(enum gpubpf_site kind, const char *pattern);
bool gpubpf_place_matches(const struct gpubpf_place *place, const char *pattern);
#define GPUBPF_PLACE_NAME 256 /* size of a buffer for a name, including the terminating zero */
/* Writes FILE:LINE as the name of a line. If the path is too long, writes only its end. */
void gpubpf_place_line_name(const char *file, uint32_t line, char *name, size_t size);

/* Returns the row of a kind of place below GPUBPF_NSITES. The row of GPUBPF_SITE_NONE has the name "-". */
const struct gpubpf_place_kind *gpubpf_place_kind(enum gpubpf_site site);
/* Returns true if programs of this kind of place run on the CPU. */
bool gpubpf_place_is_host(enum gpubpf_site site);

/* A row of core/model/host_events.def. */
struct gpubpf_host_event_kind {
	const char *name; /* "launch" */
	enum gpubpf_names names;
	const char *meaning;
};
#define GPUBPF_HOST_EVENTS 10 /* 1 + number of rows */
/* Returns the row of an event from 1 to GPUBPF_HOST_EVENTS - 1. */
const struct gpubpf_host_event_kind *gpubpf_host_event_kind(enum gpubpf_host_event event);
/* Returns true if programs at this event have the field of the context at this offset, apart from `host` and `done`. */
bool gpubpf_host_provides(enum gpubpf_host_event event, uint32_t offset);
/*
 * Parses a section host/EVENT, host/EVENT_exit, or one of these with /PATTERN. *pattern is "*" if there is none. Returns
 * false if the section is not of this form.
 */
bool gpubpf_host_section_parse(const char *name, enum gpubpf_host_event *event, enum gpubpf_site *site,
			       const char **pattern);

/*
 * Corrects a misspelled place in a probe's name. For example, gpu/enter/scale, gpu:enter:scale and enter/scale become
 * gpu/entry/scale. Returns false if no place is similar; buf is then unchanged.
 */
bool gpubpf_place_suggest(const char *name, char *buf, size_t size);
/* Returns the name of operand i, which is below GPUBPF_NOPERANDS. The name is a member of the context. */
const char *gpubpf_operand_name(uint32_t i);
/* Returns the index of the operand that contains a field of the context, for example MEM for "mem.addr". */
uint32_t gpubpf_operand_of(const char *field);

/* Returns the kinds of places with this `where`, as a set of GPUBPF_SITE_BIT. */
uint32_t gpubpf_places_of(enum gpubpf_where where);

/* sets of kinds of places */
#define GPUBPF_SITE_BIT(site) (1u << GPUBPF_SITE_##site)

#endif
