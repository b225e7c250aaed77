/* SPDX-License-Identifier: Apache-2.0 */
/* Iterates over the entries of a map, and determines how reports show them. */
#ifndef GPUBPF_SESSION_ENTRIES_H
#define GPUBPF_SESSION_ENTRIES_H

#include "core/load/typed/hist.h"
#include "core/session/session.h"
#include "core/session/base/signature.h"

struct gpubpf_entry {
	const void *key, *value;
	size_t value_size; /* bytes of all copies of the value */
	size_t stride;     /* bytes from copy to copy */
	uint32_t copies;   /* 1, unless the map has one value per multiprocessor or per thread */
	int arena;         /* index of the arena; -1: the only arena, or the sum over all arenas */
};

/* Calls fn for each entry. A non-zero result of fn stops the walk and is returned. 0, that result, or -ENOMEM. */
typedef int (*gpubpf_entry_fn)(void *arg, const struct gpubpf_entry *entry);
int gpubpf_entries_walk(const struct gpubpf_session *s, uint32_t map, gpubpf_entry_fn fn, void *arg);
/* Can the map not be iterated? A ring's records disappear when they are read, and a bloom filter only tests values. */
bool gpubpf_map_is_not_iterable(const struct gpubpf_map *map);
/* Does a report omit the map's zero entries? It does for arrays, where all entries exist; a hash has only inserted
 * ones. */
bool gpubpf_map_omits_zeros(const struct gpubpf_map *map);
bool gpubpf_entry_is_zero(const struct gpubpf_entry *entry);

/* The name of an element in a map of maps or programs; NULL for other maps. */
const char *gpubpf_entry_object_name(const struct gpubpf_map *map, const void *value);

/* The BTF of the map's object; NULL: the object lacks BTF. */
const struct btf *gpubpf_map_btf(const struct gpubpf_session *s, uint32_t map);
/* event.c: the type of a ring's record. It is the map's value type if that has the size. Else it is the only struct of
 * that size that a global variable points to (`const struct event *unused`). 0: not known. */
uint32_t gpubpf_event_type(const struct gpubpf_session *s, uint32_t map, uint32_t size);
/* Print bytes and characters, up to the end of the line; more than 16 bytes on several lines. */
void gpubpf_event_bytes(const void *data, uint32_t size, FILE *out);
/* The BTF type without typedefs and qualifiers; returns 0 for 0. */
uint32_t gpubpf_btf_strip(const struct btf *btf, uint32_t type);
/* Is the type an integer of `size` bytes, at most 8? *is_signed: is it signed? */
bool gpubpf_btf_is_int(const struct btf *btf, uint32_t type, size_t size, bool *is_signed);
/* Read an integer of `size` bytes, sign- or zero-extended. */
uint64_t gpubpf_int_read(const void *data, size_t size, bool is_signed);

/* How a report formats kernel names and wide numbers. */
struct gpubpf_typed_names gpubpf_session_names(struct gpubpf_session *s, const struct gpubpf_report_opts *opts);
/* Is the type an integer with a special meaning, such as a kernel's id or an address? */
bool gpubpf_btf_has_meaning(const struct btf *btf, uint32_t type);

/* Is the map an array whose entries are the slots of one histogram? Its values are of type gpubpf_log2_slot, or the
 * map's variable has the declaration tag "gpubpf:hist". Other maps have histograms in their values
 * (gpubpf_hists_find()). */
bool gpubpf_hist_map(const struct gpubpf_session *s, uint32_t map, struct gpubpf_hist_shape *shape);
/* Add an entry's copies to slot[], at the index that is the entry's key. */
void gpubpf_hist_add_entry(const struct gpubpf_hist_shape *shape, const struct gpubpf_entry *entry, uint64_t *slot);
/* Add the histogram in an entry's value to slot[], for all copies. */
void gpubpf_hist_add_copies(const struct gpubpf_hist_shape *shape, const struct gpubpf_entry *entry, uint64_t *slot);
/* Find the histograms in the map's values; none for a map with one value per thread. */
void gpubpf_map_hists(const struct gpubpf_session *s, uint32_t map, struct gpubpf_hists *hists);

#endif
