/* SPDX-License-Identifier: Apache-2.0 */
/* One element of a map, for other tools: what element.c (maps without keys) and element_keyed.c have in common. */
#ifndef GPUBPF_SESSION_ELEMENT_H
#define GPUBPF_SESSION_ELEMENT_H

#include "session.h"

struct json_object;

/* what a query does to a map: GPUBPF_QUERY_PEEK and those behind it */
struct gpubpf_element_verb {
	const char *name;
	enum gpubpf_op op;         /* that the map must have */
	bool changes;
};
const struct gpubpf_element_verb *gpubpf_element_verb(uint32_t what);
/* The map of that name, if it can do that; else -errno, told. */
int gpubpf_element_find(struct gpubpf_session *s, uint32_t what, const char *name, struct gpubpf_map **map);
/* Says that there is none of that name, and which may be meant: -ENOENT. */
int gpubpf_element_no_map(struct gpubpf_session *s, const char *name);
/* `what` ("key", "value") of that type by the words of a command line: 0, or -EINVAL, told. */
int gpubpf_element_read(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t verb, const char *what, uint32_t type,
			char *const *words, uint32_t n, void *data, size_t size);
/* A key or value of the map by its type (0: as bytes): in text, behind `label`, with no newline; and as JSON. */
void gpubpf_element_text(struct gpubpf_session *s, const struct gpubpf_map *map, const char *label, uint32_t type,
			 const void *data, size_t size, uint32_t flags, FILE *out);
struct json_object *gpubpf_element_json(struct gpubpf_session *s, const struct gpubpf_map *map, uint32_t type,
					const void *data, size_t size, uint32_t flags);

#endif
