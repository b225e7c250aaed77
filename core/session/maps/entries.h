/* SPDX-License-Identifier: Apache-2.0 */
/* Iterates over the entries of a map, and decides how reports show them. */
#ifndef GPUBPF_SESSION_ENTRIES_H
#define GPUBPF_SESSION_ENTRIES_H

#include "core/load/typed/hist.h"
#include "core/session/session.h"
#include "core/session/base/signature.h"

struct gpubpf_entry {
	const void *key, *value;
	size_t value_size; /* bytes of all values of the key: one, or one per multiprocessor or thread */
	size_t stride;     /* bytes from one of these values to the next */
	uint32_t copies;   /* number of these values; 1 unless there is one per multiprocessor or thread */
	int arena;         /* index of the arena; -1: the only arena, or the sum over all arenas */
};

/*
 * Calls fn for each entry. If fn returns a value other than 0, the iteration stops. Returns that value, 0, or -ENOMEM.
 */
typedef int (*gpubpf_entry_fn)(void *arg, const struct gpubpf_entry *entry);
int gpubpf_entries_walk(const struct gpubpf_session *s, uint32_t map, gpubpf_entry_fn fn, void *arg);
/*
 * Returns the number of used entries, in the arena with the most; for an array, the number of entries that are not zero.
 * Returns -EOPNOTSUPP if the map's entries cannot be listed, or -ENOMEM.
 */
int64_t gpubpf_entries_count(const struct gpubpf_session *s, uint32_t map);
/*
 * Returns true if the map's entries cannot be listed. A ring's records disappear when they are read. A bloom filter only
 * tests values, and a HOST_CALL map stores none.
 */
bool gpubpf_map_is_not_iterable(const struct gpubpf_map *map);
/*
 * Returns true if reports omit entries of this map that are zero. They do so for arrays, whose entries all exist. A
 * hash has only inserted entries.
 */
bool gpubpf_map_omits_zeros(const struct gpubpf_map *map);
bool gpubpf_entry_is_zero(const struct gpubpf_entry *entry);

/*
 * Returns the name of the map or program that is an element of a map of maps or a program array. Returns NULL for a map
 * of another type.
 */
const char *gpubpf_entry_object_name(const struct gpubpf_map *map, const void *value);

/* Returns the BTF of the object that defines the map, or NULL if the object lacks BTF. */
const struct btf *gpubpf_map_btf(const struct gpubpf_session *s, uint32_t map);
/*
 * Implemented in event.c. Returns the BTF type of a ring's record of `size` bytes, or 0 if it is not known. The map's
 * value type is used if it has that size. Else the type is the only struct of that size to which a global variable
 * points, as in `const struct event *unused`.
 */
uint32_t gpubpf_event_type(const struct gpubpf_session *s, uint32_t map, uint32_t size);
/* Print the data as bytes and as characters, and end the line. More than 16 bytes are printed on several lines. */
void gpubpf_event_bytes(const void *data, uint32_t size, FILE *out);
/* Returns the BTF type without typedefs and qualifiers; 0 for type 0. */
uint32_t gpubpf_btf_strip(const struct btf *btf, uint32_t type);
/* Returns true if the type is an integer of `size` bytes, at most 8. Then sets *is_signed. */
bool gpubpf_btf_is_int(const struct btf *btf, uint32_t type, size_t size, bool *is_signed);
/* Read an integer of `size` bytes, sign- or zero-extended. */
uint64_t gpubpf_int_read(const void *data, size_t size, bool is_signed);

/* Returns how a report formats kernel names and 64-bit numbers. */
struct gpubpf_typed_names gpubpf_session_names(struct gpubpf_session *s, const struct gpubpf_report_opts *opts);
/* Returns true if the type is an integer with a special meaning, such as the id of a kernel or an address. */
bool gpubpf_btf_has_meaning(const struct btf *btf, uint32_t type);

/*
 * Returns true if the map is an array whose entries are the slots of one histogram. Its values have the type
 * gpubpf_log2_slot, or the map's variable has the declaration tag "gpubpf:hist". Other maps may have a histogram in
 * each value (gpubpf_hists_find()).
 */
bool gpubpf_hist_map(const struct gpubpf_session *s, uint32_t map, struct gpubpf_hist_shape *shape);
/* Add the entry's values for all multiprocessors to slot[]. The entry's key is the index in slot[]. */
void gpubpf_hist_add_entry(const struct gpubpf_hist_shape *shape, const struct gpubpf_entry *entry, uint64_t *slot);
/* Add the histogram in the entry's value to slot[], for all multiprocessors. */
void gpubpf_hist_add_copies(const struct gpubpf_hist_shape *shape, const struct gpubpf_entry *entry, uint64_t *slot);
/* Find the histograms in the map's values. A map with one value per thread has no histograms. */
void gpubpf_map_hists(const struct gpubpf_session *s, uint32_t map, struct gpubpf_hists *hists);

#endif
