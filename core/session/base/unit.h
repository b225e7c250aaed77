/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loaded BPF objects of a session. The unit holds all programs and maps. This file also has the links of the
 * programs, and how the programs use each map. core/session/objects fills the unit.
 *
 * Builder threads read the unit while objects join the session. So the tables of the unit never move.
 */
#ifndef GPUBPF_SESSION_UNIT_H
#define GPUBPF_SESSION_UNIT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/load/load.h"
#include "core/model/facts.h"
#include "core/model/prog.h"

struct gpubpf_link;
struct gpubpf_session;

/*
 * How the conformance tool runs the programs; all other sessions have NONE. Each program runs in one thread. The map
 * with the program's index holds its memory and the result in r0 (struct gpubpf_run). PROVEN: the programs are
 * verified. CHECKED: the programs are not verified, so each access is checked at run time.
 */
enum gpubpf_session_raw { GPUBPF_RAW_NONE, GPUBPF_RAW_PROVEN, GPUBPF_RAW_CHECKED };

int gpubpf_unit_create(struct gpubpf_session *s); /* 0 or -ENOMEM */
void gpubpf_unit_destroy(struct gpubpf_session *s);

/* Call it before the session is loaded. */
void gpubpf_session_set_raw(struct gpubpf_session *s, enum gpubpf_session_raw raw);
enum gpubpf_session_raw gpubpf_session_raw(const struct gpubpf_session *s);

/* Pass the loaded objects to the session, which then owns them. */
void gpubpf_unit_set_loaded(struct gpubpf_session *s, struct gpubpf_loaded *loaded);
/*
 * Move programs and maps of the loaded objects into tables of the maximum size, and create a link per program. Returns
 * 0 or -ENOMEM.
 */
int gpubpf_unit_open_links(struct gpubpf_session *s);
/* Collect how the verified programs use each map. Returns 0 or -ENOMEM. */
int gpubpf_unit_collect_use(struct gpubpf_session *s);
/* A BPF object that joins a loaded session. */
struct gpubpf_unit_addition {
	const struct gpubpf_unit *unit;      /* the session's unit with the object appended */
	struct gpubpf_loaded_object *object; /* the session takes ownership of its content */
	const uint32_t *use;                 /* [unit->nmaps] the use of all maps, including the object's programs */
	/* prints: the object's programs print. allocations: they read allocations */
	bool prints, allocations;
};
/*
 * Add the object; its programs become links that are not attached. The caller has made room for one more element in
 * loaded->objects. Returns the object's index.
 */
int gpubpf_unit_extend(struct gpubpf_session *s, const struct gpubpf_unit_addition *more);

/* Both return NULL before the session has loaded objects. */
struct gpubpf_loaded *gpubpf_session_loaded(const struct gpubpf_session *s);
struct gpubpf_unit *gpubpf_session_unit(const struct gpubpf_session *s);
/* Returns the link with that id, which is the index of its program. Returns NULL if the session has no links yet. */
struct gpubpf_link *gpubpf_session_link(const struct gpubpf_session *s, uint32_t id);
/*
 * Add another link of the program, for kernels that match the pattern. Returns NULL if the session has
 * GPUBPF_PLAN_LINKS links, with the reason in errno and gpubpf_session__error().
 */
struct gpubpf_link *gpubpf_unit_add_link(struct gpubpf_session *s, const struct gpubpf_prog *prog, const char *pattern,
					 uint64_t cookie);
struct gpubpf_session *gpubpf_link_session(const struct gpubpf_link *link);
bool gpubpf_link_is_attached(const struct gpubpf_link *link);
bool gpubpf_link_was_attached(const struct gpubpf_link *link); /* is or was the link attached? */
bool gpubpf_link_is_borrowed(const struct gpubpf_link *link);  /* is the data of its program owned by another link? */
/* Attach or detach the link. Agents see the change after gpubpf_links_publish(). */
void gpubpf_link_set_attached(struct gpubpf_link *link, bool attached);
/* Returns an array of enum gpubpf_map_use per map, the union over all programs. */
const uint32_t *gpubpf_session_map_use(const struct gpubpf_session *s);
bool gpubpf_session_has_rings(const struct gpubpf_session *s); /* is a map a ring, or does a program print? */
bool gpubpf_session_has_prints(const struct gpubpf_session *s);
/*
 * Returns true if a program reads the application's device allocations, or a map receives them (GPUBPF_F_ALLOCATIONS).
 */
bool gpubpf_session_has_allocations(const struct gpubpf_session *s);
bool gpubpf_maps_need_allocations(const struct gpubpf_unit *unit); /* does a map of the unit receive allocations? */
uint32_t gpubpf_map_index(const struct gpubpf_map *map);

/*
 * Implemented in programs.c. Make a copy of the unit in which only the programs of these links match kernels. The copy
 * has all programs, so that their indexes stay valid. Returns 0 or -ENOMEM. The caller frees out->progs, but not the
 * data that it points to.
 */
int gpubpf_links_make_unit(const struct gpubpf_session *s, const uint32_t *links, uint32_t n, struct gpubpf_unit *out);

#endif
