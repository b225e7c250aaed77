/* SPDX-License-Identifier: Apache-2.0 */
/* Functions for the BPF objects that a session loads, objects that join it later, and links. */
#ifndef GPUBPF_SESSION_OBJECTS_H
#define GPUBPF_SESSION_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "core/load/load.h"
#include "core/model/diag.h"
#include "core/model/prog.h"
#include "core/wire/protocol.h"

struct gpubpf_session;

int gpubpf_objects_create(struct gpubpf_session *s); /* 0 or -ENOMEM */
void gpubpf_objects_destroy(struct gpubpf_session *s);

/* Implemented in load.c. Free the strings and data of an initial value. */
void gpubpf_load_value_finish(struct gpubpf_load_value *value);

/* Implemented in load.c. Put a loaded unit into a new session, which then owns it. */
int gpubpf_session_adopt_unit(struct gpubpf_session *s, struct gpubpf_loaded *loaded, struct gpubpf_diag *diag);
/* Verify all programs of the unit from index `first` on. If one fails, the caller must not run any of them. */
int gpubpf_session_verify(struct gpubpf_session *s, struct gpubpf_unit *unit, uint32_t first, struct gpubpf_diag *diag);

/*
 * The first function returns the arguments of the i-th gpubpf_session__attach(), or NULL after the last. The second
 * returns the pattern of the first such call for that program, or NULL.
 */
const struct gpubpf_attach *gpubpf_session_attach_at(const struct gpubpf_session *s, uint32_t i);
const char *gpubpf_session_attach_pattern(const struct gpubpf_session *s, const char *prog);

/*
 * Implemented in join.c. Add an object to a loaded session. Returns the object's index, or the index of an earlier
 * object with the same bytes, or -errno with the reason in gpubpf_session__error().
 */
int gpubpf_session_join_object(struct gpubpf_session *s, const char *path);
/* Add an object whose bytes are in `image`. `name` names it in lists and reports. */
int gpubpf_session_join_image(struct gpubpf_session *s, const char *name, const struct gpubpf_load_image *image);
/*
 * Join `more`, which is one loaded object. at[i] is the index of the session's map that the object's map i uses. If
 * at[i] is -1, map i becomes a new map of the session, and the function stores its index in at[i].
 *
 * use[i] is the enum gpubpf_map_use of map i by programs outside the object. On success the function frees `more`.
 */
int gpubpf_session_join_loaded(struct gpubpf_session *s, struct gpubpf_loaded *more, int32_t *at, const uint32_t *use,
			       struct gpubpf_diag *diag);

/* attach.c: links */
/* Publish the attached links to the agents, which use them from the next launch of each kernel on. */
void gpubpf_links_publish(struct gpubpf_session *s);
/*
 * List, attach or detach links for other command-line processes. Return 0, or -errno with the reason in
 * gpubpf_session__error(). If `pattern` is "", the pattern of the program's section is used.
 */
void gpubpf_links_list(const struct gpubpf_session *s, bool json, FILE *out);
/*
 * `object` is the index of the object that has the program. If it is -1, the first object with a program of that name
 * is used.
 */
int gpubpf_links_attach(struct gpubpf_session *s, int object, const char *prog, const char *pattern, uint64_t cookie,
			uint32_t *id);
/*
 * Set selected[] for the links that the words select: the number of a link, a program's name or glob, or PROG=PATTERN.
 * Without words it selects all attached links. `consequence` ends the message if a word selects no link. Returns 0 or
 * -ENOENT.
 */
int gpubpf_links_select(struct gpubpf_session *s, char *const *words, uint32_t n, const char *consequence,
			bool selected[GPUBPF_PLAN_LINKS]);
/* Detach the links that the words select. If a word selects no link, the function detaches none. */
int gpubpf_links_detach(struct gpubpf_session *s, char *const *words, uint32_t n);

#endif
