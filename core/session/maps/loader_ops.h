/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Delivers records to loaders (libbpf applications). core/session/loaders installs its functions with
 * gpubpf_maps_set_loader_ops() for the first loader that can read records. Before that, no map has a reader.
 */
#ifndef GPUBPF_SESSION_LOADER_OPS_H
#define GPUBPF_SESSION_LOADER_OPS_H

#include "core/session/session.h"

struct sys_object;

struct gpubpf_loader_ops {
	/* returns the loader's map object that receives the records of this map of the session, or NULL */
	struct sys_object *(*find_reader)(const struct gpubpf_session *s, uint32_t map);
	/* returns true if the loader's ring has space for a record */
	bool (*has_room)(struct gpubpf_session *s, struct sys_object *map);
	/* delivers a record; returns false if the ring cannot take further records */
	bool (*deliver_record)(struct gpubpf_session *s, struct sys_object *map, uint32_t copy, const void *data,
			       uint32_t size);
	/* wake all loaders that have records to read */
	void (*wake_readers)(struct gpubpf_session *s);
};

struct sys_object *gpubpf_loader_find_reader(const struct gpubpf_session *s, uint32_t map);
/* Call them only for an object that gpubpf_loader_find_reader() returned. */
bool gpubpf_loader_has_room(struct gpubpf_session *s, struct sys_object *map);
bool gpubpf_loader_deliver(struct gpubpf_session *s, struct sys_object *map, uint32_t copy, const void *data,
			   uint32_t size);
void gpubpf_loaders_wake(struct gpubpf_session *s);

#endif
