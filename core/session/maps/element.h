/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries for one element of a map, which other command-line processes send. This is the common part of element.c (maps
 * without keys) and element_keyed.c.
 */
#ifndef GPUBPF_SESSION_ELEMENT_H
#define GPUBPF_SESSION_ELEMENT_H

#include "core/session/session.h"

struct json_object;

/*
 * The operation of a query: its name on the command line, and what the map must support. Indexed from
 * GPUBPF_QUERY_PEEK.
 */
struct gpubpf_element_verb {
	const char *name;
	enum gpubpf_op op; /* operation that the map must support */
	bool changes;
};
const struct gpubpf_element_verb *gpubpf_element_verb(uint32_t what);
/*
 * Find the map of that name and check that it supports the operation. Returns 0, or -errno with the reason in
 * gpubpf_session__error().
 */
int gpubpf_element_find(struct gpubpf_session *s, uint32_t what, const char *name, struct gpubpf_map **map);
/* Report that no map has that name, and suggest a similar name. Returns -ENOENT. */
int gpubpf_element_report_no_map(struct gpubpf_session *s, const char *name);
/* Returns the functions by which words are read that name kernels of the session. */
struct gpubpf_typed_lookup gpubpf_element_lookup(struct gpubpf_session *s);
/*
 * Read a key or a value (`what` is "key" or "value") of that BTF type from words of a command line into `data`. Returns
 * 0, or -EINVAL with the reason in gpubpf_session__error().
 */
int gpubpf_element_read(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t verb, const char *what,
			uint32_t type, char *const *words, uint32_t n, void *data, size_t size);
/*
 * Format a key or value of the map by its BTF type (0: as bytes). The first function writes `label` and the text,
 * without a newline. The second returns JSON.
 */
void gpubpf_element_text(struct gpubpf_session *s, const struct gpubpf_map *map, const char *label, uint32_t type,
			 const void *data, size_t size, uint32_t flags, FILE *out);
struct json_object *gpubpf_element_json(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t type,
					const void *data, size_t size, uint32_t flags);

#endif
