/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and attaches the Linux kernel programs of the session's objects (core/load/linux_progs.h). The session loads
 * them before it lays out the maps, because arrays that they use are in the Linux kernel's memory. It attaches them
 * when it starts. If a program cannot be loaded or attached, the session reports a note, and the GPU programs run
 * without it.
 */

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>

#include "core/load/linux_progs.h"
#include "private.h"

#define MAX_NOTES 8 /* maximum number of programs of an object for which a note has the reason */

static void note_all(struct gpubpf_session *s, const struct gpubpf_loaded_object *object, const char *why)
{
	for (uint32_t i = 0; i < object->nhost && i < MAX_NOTES; i++)
		gpubpf_load_note(gpubpf_session_loaded(s), "program %s is not attached: %s", object->host[i], why);
	if (object->nhost > MAX_NOTES)
		gpubpf_load_note(gpubpf_session_loaded(s), "%u more programs are not attached for the same reason",
				 object->nhost - MAX_NOTES);
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
	struct gpubpf_loaded_object *object = &gpubpf_session_loaded(s)->objects[index];
	struct gpubpf_unit *unit = gpubpf_session_unit(s);
	char why[600];

	if (gpubpf_linux_load(object, unit, (int)index, &s->kernel_bpf->progs[index], why, sizeof(why)) < 0) {
		note_all(s, object, why);
		return;
	}
	for (uint32_t i = 0; i < unit->nmaps; i++)
		if (unit->maps[i].object == (int)index)
			share_array(s->kernel_bpf->progs[index], &unit->maps[i]);
}

void gpubpf_linux_progs_sync_maps(struct gpubpf_session *s)
{
	static const int consumers[] = { BPF_FUNC_map_pop_elem, BPF_FUNC_map_peek_elem };

	for (uint32_t i = 0; s->kernel_bpf && i < gpubpf_session_unit(s)->nmaps; i++) {
		const struct gpubpf_map *map = &gpubpf_session_unit(s)->maps[i];
		bool in_kernel = map->object >= 0 && (uint32_t)map->object < s->kernel_bpf->nprogs &&
				 s->kernel_bpf->progs[map->object];
		int fd = in_kernel && !map->kernel && !map->rdonly ?
				 gpubpf_linux_map(s->kernel_bpf->progs[map->object], map->name) :
				 -1;
		bool kernel_consumes = fd >= 0 &&
				       gpubpf_linux_calls(s->kernel_bpf->progs[map->object], map->name, consumers, 2);
		const char *why = fd < 0 ? NULL : gpubpf_linux_maps_add(s, i, fd, kernel_consumes);

		if (why)
			gpubpf_load_note(gpubpf_session_loaded(s), GPUBPF_LINUX_NOT_SHARED, map->name, why);
	}
}

int gpubpf_linux_progs_load(struct gpubpf_session *s)
{
	if (!gpubpf_kernel_bpf_get(s))
		return -ENOMEM;
	s->kernel_bpf->progs = calloc(gpubpf_session_loaded(s)->nobjects + 1, sizeof(*s->kernel_bpf->progs));
	if (!s->kernel_bpf->progs)
		return -ENOMEM;
	s->kernel_bpf->nprogs = gpubpf_session_loaded(s)->nobjects;
	for (uint32_t i = 0; i < s->kernel_bpf->nprogs; i++)
		if (gpubpf_session_loaded(s)->objects[i].nhost && s->opts.no_kernel)
			note_all(s, &gpubpf_session_loaded(s)->objects[i],
				 "this session loads nothing into the Linux kernel");
		else if (gpubpf_session_loaded(s)->objects[i].nhost)
			load_object(s, i);
	return 0;
}

static void attach_object(struct gpubpf_session *s, struct gpubpf_linux *kernel, const struct gpubpf_loaded_object *object)
{
	uint32_t failed = 0;
	char why[600];

	for (uint32_t p = 0; p < object->nhost; p++)
		if (gpubpf_linux_attach(kernel, object, p, gpubpf_session_attach_pattern(s, object->host[p]), why,
					sizeof(why)) < 0 &&
		    ++failed <= MAX_NOTES)
			gpubpf_session_note(s, "program %s is not attached: %s", object->host[p], why);
	if (failed > MAX_NOTES)
		gpubpf_session_note(s, "%u more programs are not attached, of %u in all", failed - MAX_NOTES,
				    object->nhost);
}

void gpubpf_linux_progs_attach(struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->kernel_bpf && i < s->kernel_bpf->nprogs; i++)
		if (s->kernel_bpf->progs[i])
			attach_object(s, s->kernel_bpf->progs[i], &gpubpf_session_loaded(s)->objects[i]);
}

void gpubpf_linux_progs_detach(struct gpubpf_session *s)
{
	for (uint32_t i = 0; s->kernel_bpf && i < s->kernel_bpf->nprogs; i++)
		gpubpf_linux_detach(s->kernel_bpf->progs[i]);
}

void gpubpf_linux_progs_close(struct gpubpf_session *s)
{
	for (uint32_t i = 0; i < s->kernel_bpf->nprogs; i++)
		gpubpf_linux_destroy(s->kernel_bpf->progs[i]);
	free(s->kernel_bpf->progs);
	s->kernel_bpf->nprogs = 0;
}

struct session_kernel_bpf *gpubpf_kernel_bpf_get(struct gpubpf_session *s)
{
	if (!s->kernel_bpf)
		s->kernel_bpf = calloc(1, sizeof(*s->kernel_bpf));
	return s->kernel_bpf;
}

void gpubpf_kernel_bpf_destroy(struct gpubpf_session *s)
{
	if (!s->kernel_bpf)
		return;
	gpubpf_linux_maps_close(s);
	gpubpf_linux_progs_close(s);
	free(s->kernel_bpf);
	s->kernel_bpf = NULL;
}
