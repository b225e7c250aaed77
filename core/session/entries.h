/* SPDX-License-Identifier: Apache-2.0 */
/* What a map holds, entry by entry, and how it wants to be shown. */
#ifndef GPUBPF_SESSION_ENTRIES_H
#define GPUBPF_SESSION_ENTRIES_H

#include "core/load/hist.h"
#include "session.h"
#include "signature.h"

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
/* Rings' records are gone when they are read, and a bloom filter is asked for a value: none of them to walk over. */
bool gpubpf_entries_none(const struct gpubpf_map *map);
/* Does a report leave out its entries that are zero? An array has them all; what is in a hash was put there. */
bool gpubpf_entries_sparse(const struct gpubpf_map *map);
bool gpubpf_entry_zero(const struct gpubpf_entry *entry);

/* The map or program that an element of a map of these is, by name; NULL: the map is none of these. */
const char *gpubpf_entry_named(const struct gpubpf_map *map, const void *value);

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

/* How kernels' names and wide numbers are written in a report. */
struct gpubpf_typed_names gpubpf_session_names(struct gpubpf_session *s, const struct gpubpf_report_opts *opts);
/* Is it an integer that is more than a number: a kernel's id, an address? */
bool gpubpf_btf_meaning(const struct btf *btf, uint32_t type);

/* An array whose entries are the slots of one histogram: its values are of type gpubpf_log2_slot, or its variable
 * carries the declaration tag "gpubpf:hist". Others have histograms in their values (gpubpf_hists_find()). */
bool gpubpf_hist_map(const struct gpubpf_session *s, uint32_t map, struct gpubpf_hist_shape *shape);
/* Add an entry's value up over its copies, to slot[its key]. */
void gpubpf_hist_add_entry(const struct gpubpf_hist_shape *shape, const struct gpubpf_entry *entry, uint64_t *slot);
/* The histogram of a value, added up over its copies. */
void gpubpf_hist_add_copies(const struct gpubpf_hist_shape *shape, const struct gpubpf_entry *entry, uint64_t *slot);
/* The histograms in a map's values; none of a map with a value a thread. */
void gpubpf_map_hists(const struct gpubpf_session *s, uint32_t map, struct gpubpf_hists *hists);

#endif
