/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs of the session's objects for the Linux kernel (core/load/linux_progs.h). The session loads them before it
 * lays out the maps, since arrays that they use are in the kernel's memory, and attaches them when it starts. If one
 * cannot be loaded or attached, it reports a note, and the GPU programs run without it.
 */
#include "core/session/session.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/linux_progs.h"
#include "kernel_maps.h"

static void note_all(struct gpubpf_session *s, const struct gpubpf_loaded_object *object, const char *why)
{
	for (uint32_t i = 0; i < object->nhost; i++)
		gpubpf_load_note(s->loaded, "program %s is not attached: %s", object->host[i], why);
}

static void share_array(struct gpubpf_linux *kernel, struct gpubpf_map *map)
{
	int fd = gpubpf_linux_map(kernel, map->name);

	if (fd < 0 || map->rdonly)
		return;
	if (gpubpf_linux_mappable(kernel, map->name) && map->type->flags & GPUBPF_MAP_U32KEY)
		map->kernel = fd + 1;
}

static void load_object(struct gpubpf_session *s, uint32_t index)
{
	struct gpubpf_loaded_object *object = &s->loaded->objects[index];
	struct gpubpf_unit *unit = &s->loaded->unit;
	char why[600];

	if (gpubpf_linux_load(object, unit, (int)index, &s->linux_progs[index], why, sizeof(why)) < 0) {
		note_all(s, object, why);
		return;
	}
	for (uint32_t i = 0; i < unit->nmaps; i++)
		if (unit->maps[i].object == (int)index)
			share_array(s->linux_progs[index], &unit->maps[i]);
}

void gpubpf_linux_progs_sync_maps(struct gpubpf_session *s)
{
	static const int consumers[] = { BPF_FUNC_map_pop_elem, BPF_FUNC_map_peek_elem };

	for (uint32_t i = 0; i < s->loaded->unit.nmaps; i++) {
		const struct gpubpf_map *map = &s->loaded->unit.maps[i];
		bool in_kernel = map->object >= 0 && (uint32_t)map->object < s->nlinux_progs &&
				 s->linux_progs[map->object];
		int fd = in_kernel && !map->kernel && !map->rdonly ?
				 gpubpf_linux_map(s->linux_progs[map->object], map->name) :
				 -1;
		bool kernel_consumes = fd >= 0 && gpubpf_linux_calls(s->linux_progs[map->object], map->name, consumers, 2);
		const char *why = fd < 0 ? NULL : gpubpf_linux_maps_add(s, i, fd, kernel_consumes);

		if (why)
			gpubpf_load_note(s->loaded, GPUBPF_LINUX_NOT_SHARED, map->name, why);
	}
}

int gpubpf_linux_progs_load(struct gpubpf_session *s)
{
	s->nlinux_progs = s->loaded->nobjects;
	s->linux_progs = calloc(s->nlinux_progs + 1, sizeof(*s->linux_progs));
	if (!s->linux_progs)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->nlinux_progs; i++)
		if (s->loaded->objects[i].nhost && s->opts.no_kernel)
			note_all(s, &s->loaded->objects[i], "this session loads nothing into the Linux kernel");
		else if (s->loaded->objects[i].nhost)
			load_object(s, i);
	return 0;
}

static const char *target_of(const struct gpubpf_session *s, const char *prog)
{
	for (uint32_t i = 0; i < s->nattach; i++)
		if (!strcmp(s->attach[i].prog, prog))
			return s->attach[i].pattern;
	return NULL;
}

void gpubpf_linux_progs_attach(struct gpubpf_session *s)
{
	char why[600];

	for (uint32_t i = 0; i < s->nlinux_progs; i++) {
		const struct gpubpf_loaded_object *object = &s->loaded->objects[i];

		for (uint32_t p = 0; s->linux_progs[i] && p < object->nhost; p++)
			if (gpubpf_linux_attach(s->linux_progs[i], object, p, target_of(s, object->host[p]), why,
						sizeof(why)) < 0)
				gpubpf_session_note(s, "program %s is not attached: %s", object->host[p], why);
	}
}

void gpubpf_linux_progs_detach(struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->nlinux_progs; i++)
		gpubpf_linux_detach(s->linux_progs[i]);
}

void gpubpf_linux_progs_close(struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->nlinux_progs; i++)
		gpubpf_linux_destroy(s->linux_progs[i]);
	free(s->linux_progs);
	s->nlinux_progs = 0;
}
