/* SPDX-License-Identifier: Apache-2.0 */
/* What a map holds, entry by entry, and how it wants to be shown. */
#ifndef GPUBPF_SESSION_ENTRIES_H
#define GPUBPF_SESSION_ENTRIES_H

#include "session.h"

struct gpubpf_entry {
	const void *key, *value;
	size_t value_size;       /* bytes of all copies */
	size_t stride;           /* bytes from copy to copy */
	uint32_t copies;         /* 1 unless the map has a value a multiprocessor or thread */
	int arena;               /* index; -1: the only one, or all added up */
};

/* fn's non-zero return stops the walk and is returned. -ENOMEM. */
typedef int (*gpubpf_entry_fn)(void *arg, const struct gpubpf_entry *entry);
int gpubpf_entries_walk(const struct gpubpf_session *s, uint32_t map, gpubpf_entry_fn fn, void *arg);
bool gpubpf_entry_zero(const struct gpubpf_entry *entry);

/* The object's BTF that describes a map; NULL if it has none. */
const struct btf *gpubpf_map_btf(const struct gpubpf_session *s, uint32_t map);
/* event.c: the type of a ring's record: the map's value, if it has that size; else the only struct of that
 * size that a global variable points to (`const struct event *unused`); 0: not known. */
uint32_t gpubpf_event_type(const struct gpubpf_session *s, uint32_t map, uint32_t size);
/* Bytes and characters, up to the end of the line; more than 16 in lines of their own. */
void gpubpf_event_bytes(const void *data, uint32_t size, FILE *out);
/* The type behind typedefs and qualifiers; 0 stays 0. */
uint32_t gpubpf_btf_strip(const struct btf *btf, uint32_t type);
/* Is it an integer of at most 8 bytes, and signed? */
bool gpubpf_btf_int(const struct btf *btf, uint32_t type, size_t size, bool *is_signed);
/* Read such an integer, sign- or zero-extended. */
uint64_t gpubpf_int_read(const void *data, size_t size, bool is_signed);

enum gpubpf_hist_kind {
	GPUBPF_HIST_NONE,
	GPUBPF_HIST_ENTRIES,     /* the map's entries are the slots */
	GPUBPF_HIST_SLOTS,       /* each value is a struct with the slots in its member `slots` */
};
struct gpubpf_hist {
	enum gpubpf_hist_kind kind;
	uint32_t n;              /* slots, at most 64 */
	uint32_t width;          /* bytes of one, 4 or 8 */
	uint32_t offset;         /* SLOTS: of the first one in the value */
	bool zeros;              /* as of gpubpf_hist_print() */
};
/*
 * Does the map hold log2 histograms? The rule, as in gpubpf-map(8):
 *   - an array (ARRAY, PERCPU_ARRAY, 1503) of 2 to 64 unsigned 4- or 8-byte integers is one if their type
 *     is gpubpf_log2_slot of <gpubpf/probe.h>, or the array's name is `hist`, begins with `hist_` or ends
 *     in `_hist`, or its variable carries the BTF declaration tag "gpubpf:hist";
 *   - any map has one a key if its value is a struct with a member `slots`, an array of such integers (as
 *     libbpf-tools have it).
 * Slots of type gpubpf_log2_slot count as gpubpf_log2() does (`zeros`), others as libbpf-tools do.
 */
struct gpubpf_hist gpubpf_hist_of(const struct gpubpf_session *s, uint32_t map);
/* Is a global variable of that name and type one? By the same rule for arrays, but for the tag. */
struct gpubpf_hist gpubpf_hist_of_variable(const struct btf *btf, const char *name, uint32_t type);
/* Add an entry's slots up over its copies: ENTRIES to slot[key], SLOTS to slot[0..n). */
void gpubpf_hist_add(const struct gpubpf_hist *hist, const struct gpubpf_entry *entry, uint64_t slot[64]);

#endif
