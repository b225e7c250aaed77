/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivery of records to loaders. The loaders' implementation sets session->loader_ops when the first loader can read
 * records; until then no map has a reader.
 */
#ifndef GPUBPF_SESSION_LOADER_OPS_H
#define GPUBPF_SESSION_LOADER_OPS_H

#include "core/session/session.h"

struct sys_object;

struct gpubpf_loader_ops {
	/* the loader's map object that receives the records of this map of the session, or NULL */
	struct sys_object *(*find_reader)(const struct gpubpf_session *s, uint32_t map);
	/* does the loader's ring have room for a record? */
	bool (*has_room)(struct gpubpf_session *s, struct sys_object *map);
	/* deliver a record; false: it has no room for more */
	bool (*deliver_record)(struct gpubpf_session *s, struct sys_object *map, uint32_t copy, const void *data,
			       uint32_t size);
	/* wake all loaders that have records to read */
	void (*wake_readers)(struct gpubpf_session *s);
};

static inline struct sys_object *gpubpf_loader_find_reader(const struct gpubpf_session *s, uint32_t map)
{
	return s->loader_ops ? s->loader_ops->find_reader(s, map) : NULL;
}

static inline void gpubpf_loaders_wake(struct gpubpf_session *s)
{
	if (s->loader_ops)
		s->loader_ops->wake_readers(s);
}

#endif
