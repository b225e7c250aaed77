/* SPDX-License-Identifier: Apache-2.0 */
/* Implements the functions of synced.h, which call session->maps->synced_ops. */
#include "synced.h"
#include "private.h"

#include <errno.h>

#include "loader_ops.h"

bool gpubpf_linux_maps_is_synced(const struct gpubpf_session *s, uint32_t map)
{
	return s->maps->synced_ops ? s->maps->synced_ops->maps_is_synced(s, map) : false;
}

int gpubpf_linux_queue_next(const struct gpubpf_session *s, uint32_t map, bool take, void *value)
{
	return s->maps->synced_ops ? s->maps->synced_ops->queue_next(s, map, take, value) : -EOPNOTSUPP;
}

size_t gpubpf_linux_cpus_size(const struct gpubpf_session *s, uint32_t map)
{
	return s->maps->synced_ops ? s->maps->synced_ops->cpus_size(s, map) : 0;
}

int gpubpf_linux_cpus_lookup(const struct gpubpf_session *s, uint32_t map, const void *key, void *values)
{
	return s->maps->synced_ops ? s->maps->synced_ops->cpus_lookup(s, map, key, values) : 0;
}

int gpubpf_linux_cpus_update(const struct gpubpf_session *s, uint32_t map, const void *key, const void *values)
{
	return s->maps->synced_ops ? s->maps->synced_ops->cpus_update(s, map, key, values) : 0;
}

int gpubpf_linux_cpus_delete(const struct gpubpf_session *s, uint32_t map, const void *key)
{
	return s->maps->synced_ops ? s->maps->synced_ops->cpus_delete(s, map, key) : 0;
}

bool gpubpf_linux_rings_queue(struct gpubpf_session *s, uint32_t map, int arena, uint32_t copy, const void *data,
			      uint32_t size)
{
	return s->maps->synced_ops ? s->maps->synced_ops->rings_queue(s, map, arena, copy, data, size) : false;
}

uint64_t gpubpf_linux_rings_deliver(struct gpubpf_session *s, bool all)
{
	return s->maps->synced_ops ? s->maps->synced_ops->rings_deliver(s, all) : 0;
}

bool gpubpf_linux_rings_has_room(const struct gpubpf_session *s, uint32_t map)
{
	return s->maps->synced_ops ? s->maps->synced_ops->rings_has_room(s, map) : true;
}

uint64_t gpubpf_linux_rings_lost(const struct gpubpf_session *s, uint32_t map)
{
	return s->maps->synced_ops ? s->maps->synced_ops->rings_lost(s, map) : 0;
}

struct sys_object *gpubpf_loader_find_reader(const struct gpubpf_session *s, uint32_t map)
{
	return s->maps->loader_ops ? s->maps->loader_ops->find_reader(s, map) : NULL;
}

bool gpubpf_loader_has_room(struct gpubpf_session *s, struct sys_object *map)
{
	return s->maps->loader_ops->has_room(s, map);
}

bool gpubpf_loader_deliver(struct gpubpf_session *s, struct sys_object *map, uint32_t copy, const void *data, uint32_t size)
{
	return s->maps->loader_ops->deliver_record(s, map, copy, data, size);
}

void gpubpf_loaders_wake(struct gpubpf_session *s)
{
	if (s->maps->loader_ops)
		s->maps->loader_ops->wake_readers(s);
}
