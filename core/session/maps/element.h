/* SPDX-License-Identifier: Apache-2.0 */
/* Queries of other tools for one element of a map: the common part of element.c (maps without keys) and
 * element_keyed.c. */
#ifndef GPUBPF_SESSION_ELEMENT_H
#define GPUBPF_SESSION_ELEMENT_H

#include "core/session/session.h"

struct json_object;

/* The operation of a query on a map: GPUBPF_QUERY_PEEK and later ones. */
struct gpubpf_element_verb {
	const char *name;
	enum gpubpf_op op; /* the operation that the map must support */
	bool changes;
};
const struct gpubpf_element_verb *gpubpf_element_verb(uint32_t what);
/* Finds the map of that name and checks that it supports the operation. 0, or -errno with the reason in s->error. */
int gpubpf_element_find(struct gpubpf_session *s, uint32_t what, const char *name, struct gpubpf_map **map);
/* Reports that no map has that name, and suggests a similar name: -ENOENT. */
int gpubpf_element_report_no_map(struct gpubpf_session *s, const char *name);
/* Read `what` ("key", "value") of that type from the words of a command line. 0, or -EINVAL with the reason in
 * s->error. */
int gpubpf_element_read(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t verb, const char *what,
			uint32_t type, char *const *words, uint32_t n, void *data, size_t size);
/* Format a key or value of the map by its type (0: as bytes). gpubpf_element_text() writes `label` and the text,
 * without a newline; gpubpf_element_json() returns JSON. */
void gpubpf_element_text(struct gpubpf_session *s, const struct gpubpf_map *map, const char *label, uint32_t type,
			 const void *data, size_t size, uint32_t flags, FILE *out);
struct json_object *gpubpf_element_json(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t type,
					const void *data, size_t size, uint32_t flags);

#endif
